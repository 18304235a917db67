/** What a person sees of `svc mem index` while it runs, on a real terminal, and what others do not see. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { IndexProgress } from "../../src/cli/index-progress.ts";
import { FAKE_GATE, svc } from "./support.ts";

const MAIN = join(import.meta.dir, "../../src/main.ts");
const WORK = [
  { phase: "looking", files: 0, filesFound: 64, bytes: 0, bytesFound: 1e6 },
  { phase: "reading", files: 10, filesFound: 4846, bytes: 1e6, bytesFound: 20e6 },
  { phase: "saving", files: 4846, filesFound: 4846, bytes: 20e6, bytesFound: 20e6 },
];
const RESULT = {
  ...{ status: "built", collection: "c", files_tracked: 1, files_changed: 1, files_removed: 0 },
  ...{ chunks_added: 1, chunks_deleted: 0, files_skipped: {} },
};
const FAKE = { FAKE_WORK: JSON.stringify(WORK), FAKE_INDEX_REPO: JSON.stringify(RESULT) };

/** What a terminal of so many columns gets. */
async function onTerminal(columns: number, words: string[], env: Record<string, string> = {}): Promise<string> {
  const decoder = new TextDecoder();
  let shown = "";
  const child = Bun.spawn([process.execPath, "--preload", FAKE_GATE, MAIN, "mem", "index", ...words], {
    env: { PATH: process.env.PATH, HOME: "/nowhere", SVC_HOME: "/nowhere/svc", TERM: "xterm", ...FAKE, ...env },
    terminal: {
      ...{ cols: columns, rows: 24 },
      data(_, bytes) {
        shown += decoder.decode(bytes, { stream: true });
      },
    },
  });
  expect(await child.exited).toBe(0);
  return shown;
}

const drawn = (shown: string) => shown.split("\r\u001b[2K").slice(1);

test.each([80, 40, 20])("one line that fits into %d columns, erased at the end, then the summary", async (columns) => {
  const shown = await onTerminal(columns, []);
  const lines = drawn(shown);
  const last = lines.pop()!;
  expect(lines.length).toBe(3);
  for (const line of lines) expect([line, line.length < columns]).toEqual([line, true]);
  expect(lines.map((line) => line.split(/[ :]/)[0])).toEqual(["looking", "reading", "saving"]);
  expect(last).toMatch(/^built c: .*\r\nread 4846 files, 20\.0 MB in \d+\.\d s \(\d+\.\d MB\/s\)\r\n$/s);
});

test("nothing is drawn in CI or on a dumb terminal, and no summary beside --json", async () => {
  for (const env of [{ CI: "1" }, { TERM: "dumb" }] as Record<string, string>[])
    expect(drawn(await onTerminal(80, [], env))).toEqual([]);
  expect(drawn(await onTerminal(80, ["--json"])).at(-1)).toBe(`${JSON.stringify(RESULT)}\r\n`);
});

test("a pipe gets the summary alone", async () => {
  const { stderr } = await svc(["mem", "index"], { env: FAKE, preload: [FAKE_GATE] });
  expect(stderr).toMatch(/^read 4846 files, 20\.0 MB in [^\n]*\n$/);
});

test("rate and time that is left, once they say something; the last parts go first", () => {
  const progress = new IndexProgress();
  const state = { phase: "reading" as const, files: 1000, filesFound: 4846, bytes: 10e6, bytesFound: 30e6 };
  expect([progress.line(80), progress.summary()]).toEqual(["", undefined]);
  const since = performance.now();
  progress.note(state);
  expect(progress.line(80, since + 100)).toBe("reading: 1000 of 4846 files");
  const later = since + 4000;
  expect(progress.line(80, later)).toMatch(/^reading: 1000 of 4846 files, 2\.5 MB\/s, 8 s left$/);
  expect(progress.line(40, later)).toMatch(/^reading 1000\/4846, 2\.5 MB\/s, 8 s left$/);
  expect(progress.line(30, later)).toMatch(/^reading 1000\/4846, 2\.5 MB\/s$/);
  expect(progress.line(10, later)).toBe("reading 1");
});
