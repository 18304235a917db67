/** What a person sees of `svc mem index` while it runs, on a real terminal, and what others do not see. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { IndexProgress } from "../../../src/cli/mem/render/index-progress.ts";
import { FAKE_GATE, svc } from "../support.ts";

const MAIN = join(import.meta.dir, "../../../src/main.ts");
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

test.each([120, 60, 40, 20])(
  "one line that fits into %d columns, erased at the end, then the summary",
  async (columns) => {
    const shown = await onTerminal(columns, []);
    const lines = drawn(shown);
    const last = lines.pop()!;
    expect(lines.length).toBe(3);
    for (const line of lines) expect([line, line.length < columns]).toEqual([line, true]);
    for (const [i, phase] of ["looking", "reading", "saving"].entries()) expect(lines[i]).toContain(phase);
    const [built, ...summary] = last.trimEnd().split("\r\n");
    expect(built).toStartWith("built c: ");
    // A remark is broken between words.
    for (const line of summary) expect([line, line.length <= columns]).toEqual([line, true]);
    expect(summary.join(" ")).toMatch(/^(.* )?read 4846 files, 20\.0 MB in \d+\.\d s \(\d+\.\d MB\/s\)$/);
  },
);

test("nothing is drawn over in CI or on a dumb terminal, and no summary beside --json", async () => {
  for (const env of [{ CI: "1" }, { TERM: "dumb" }] as Record<string, string>[])
    expect(drawn(await onTerminal(80, [], env))).toEqual([]);
  expect(drawn(await onTerminal(80, ["--json"])).at(-1)).toBe(`${JSON.stringify(RESULT)}\r\n`);
});

test("a pipe gets the summary alone", async () => {
  const { stderr } = await svc(["mem", "index"], { env: FAKE, preload: [FAKE_GATE] });
  expect(stderr).toMatch(/^read 4846 files, 20\.0 MB in [^\n]*\n$/);
});

test("files, MB of them, and what it came to", () => {
  const progress = new IndexProgress();
  expect(progress.summary()).toBeUndefined();
  const since = performance.now();
  const looking = progress.note({ phase: "looking", files: 0, filesFound: 64, bytes: 0, bytesFound: 1e6 });
  expect(looking).toEqual({ label: "looking", done: 64, unit: "files" });
  const state = { phase: "reading" as const, files: 1000, filesFound: 4846, bytes: 10e6, bytesFound: 30e6 };
  const also = "1,000 of 4,846 files";
  expect(progress.note(state)).toEqual({ label: "reading", done: 10e6, total: 30e6, unit: "bytes", also });
  expect(progress.summary(since + 4000)).toMatch(/^read 1000 files, 10\.0 MB in 4\.0 s \(2\.5 MB\/s\)$/);
});
