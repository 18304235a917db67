/**
 * Records the first three minutes as `docs/first-minutes.svg`: `bun src/build/docs/record.ts`, after a build. Everything
 * that is shown is what the executable prints on a terminal; the typing is not.
 */
import { join } from "node:path";
import { Scratch } from "./scratch.ts";
import { type Picture, Screen } from "./screen.ts";
import { type Frame, film } from "./svg.ts";

const DOCS = join(import.meta.dir, "../../../docs");
const [COLUMNS, ROWS] = [92, 27];
const PROMPT = "\x1b[32m$\x1b[39m ";

/** What is typed. */
export const LINES: readonly string[] = [
  "svc login --yes",
  "svc mem add notes 'We deploy blue-green and switch after five green minutes.' --id deploy",
  "svc mem add notes 'Green tea is brewed at seventy to eighty degrees.' --id tea",
  "svc mem search notes 'how do we deploy a new version'",
  "svc mem search notes 'brew green tae' --top-k 1",
  "svc mcp install --client claude-code",
];

/** The frames, from an empty home to the end. @throws where a command fails */
export async function record(): Promise<Frame[]> {
  using scratch = new Scratch();
  const screen = new Screen(COLUMNS, ROWS);
  const frames: { picture: Picture; ms: number }[] = [];
  const keep = (ms: number) => frames.push({ picture: screen.picture(), ms });
  for (const line of LINES) {
    await screen.write(PROMPT);
    keep(700);
    for (let i = 0; i < line.length; i += 3) {
      await screen.write(line.slice(i, i + 3));
      keep(75);
    }
    await screen.write("\r\n");
    const from = performance.now();
    let last = from;
    // A frame that stays for less than the eye takes is left out by the next one.
    const seen = () => {
      const now = performance.now();
      if (now - last < 40) frames.pop();
      last = now;
      keep(120);
    };
    const where = { env: scratch.env, cwd: scratch.home };
    const code = await screen.run(["sh", "-c", line], where, { shown: (text) => scratch.shown(text), seen });
    if (code !== 0) throw new Error(`${line} ended with ${code}`);
    keep(1600);
  }
  await screen.write(PROMPT);
  keep(4000);
  return frames;
}

/** What the last frame shows, as text. */
export function textOf(picture: Picture): string {
  return picture.map((line) => line.map(({ text }) => text).join(" ")).join("\n");
}

if (import.meta.main) {
  const title = "svc on a terminal: a login, two notes, and a search that finds each of them";
  await Bun.write(join(DOCS, "first-minutes.svg"), film(title, await record(), COLUMNS, ROWS));
}
