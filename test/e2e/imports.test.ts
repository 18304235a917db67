/** The samples of other memories, through the executable: imported, found, and not doubled by repeating. */
import { beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zipOf } from "../formats/zip-writer.ts";
import { ROOT, signedIn, svc } from "./home.ts";

const SAMPLES = "test/data/imports";

/** A sample and flags, how many rows it has, a question, and the text that answers it. */
const CASES: readonly (readonly [words: readonly string[], rows: number, question: string, answer: string])[] = [
  [["memory.jsonl"], 8, "who maintains billing", "Ada maintains billing service"],
  [["chroma-get.json"], 3, "when does the pager rotate", "The pager rotates on Wednesdays at ten."],
  [["chroma", "--chroma-collection", "notes"], 3, "cache jitter", "Expiry of the cache has a jitter of ten percent."],
  [["mem0.json"], 3, "vegetarian", "Likes window seats and vegetarian meals"],
  [
    ["chatgpt/conversations.json"],
    5,
    "sourdough starter",
    "user: My starter is called Gustav and it does not rise. Why?",
  ],
  [["claude/conversations.json"], 4, "change in Villach", "assistant: At 14:25, with a change in Villach."],
  [["claude"], 10, "which hotel takes bikes", "hotels.md\n\nHotel Tartini has a room for bikes."],
  [["chatgpt-2026"], 5, "what does the user not eat", "The user does not eat meat."],
  [["mem0"], 3, "meeting with Grace", "Has a meeting with Grace on Monday"],
  [["notes.csv"], 3, "soup", "Lunch is at noon.\nOn Thursdays it is soup."],
  [["notes.json"], 3, "quarter budget", "The budget is reviewed each quarter."],
  [
    ["agents"],
    17,
    "docker port of the database",
    "Orders service > Commands\n\nTo start the database:\n```sh\n# the port is 5433, not 5432\ndocker compose up -d db\n```",
  ],
  [["notes.txt"], 3, "where are the keys to the cellar", "Keys to the cellar hang behind the kitchen door."],
  [["vault", "--split", "headings"], 7, "Mythical Man-Month", "Reading list > Done\n\nThe Mythical Man-Month."],
];

let env: Record<string, string>;
beforeAll(async () => {
  env = await signedIn();
});

const run = (...args: string[]) => svc(env, ["mem", ...args], "", { cwd: ROOT });

for (const [i, [[sample, ...flags], rows, question, answer]] of CASES.entries()) {
  test(`${sample} ${flags.join(" ")}`, async () => {
    const words = ["import", `c${i}`, `${SAMPLES}/${sample}`, ...flags, "--json"];
    const first = await run(...words);
    expect(first.err.replace(/^\d+ left out, .*\n/gm, "")).toBe("");
    expect(JSON.parse(first.out)).toMatchObject({ imported: rows, inserted: rows, replaced: 0, unchanged: 0 });
    expect(JSON.parse((await run(...words)).out)).toMatchObject({ inserted: 0, replaced: 0, unchanged: rows });
    const { out } = await run("search", `c${i}`, question, "--top-k", "1", "--json", "--with-text");
    expect(JSON.parse(out).hits[0].text).toBe(answer);
  });
}

test("an account as it was downloaded, and one that is cut short", async () => {
  const dir = mkdtempSync(join(tmpdir(), "svc-imports-"));
  const archive = join(dir, "data.zip");
  const names = ["conversations.json", "memories.json", "projects.json", "users.json"];
  const whole = names.map((name) => ({ path: name, content: readFileSync(join(ROOT, SAMPLES, "claude", name)) }));
  writeFileSync(archive, zipOf(whole));
  expect(JSON.parse((await run("import", "account", archive, "--json")).out)).toMatchObject({ inserted: 10, bad: 0 });
  expect(JSON.parse((await run("import", "account", `${SAMPLES}/claude`, "--json")).out)).toMatchObject({
    unchanged: 10,
  });
  writeFileSync(archive, zipOf(whole).subarray(0, 2000));
  const { code, err } = await run("import", "account", archive);
  expect([code, err]).toEqual([
    1,
    expect.stringContaining("is a zip archive that is damaged: it has no directory at its end"),
  ]);
  const stdin = await svc(env, ["mem", "import", "account"], zipOf(whole));
  expect([stdin.code, stdin.err]).toEqual([1, expect.stringContaining("stdin is a zip archive")]);
  rmSync(dir, { recursive: true });
});

test("what cannot be imported is a sentence, and leaves no collection", async () => {
  const dir = mkdtempSync(join(tmpdir(), "svc-imports-"));
  const bad = join(dir, "bad.csv");
  writeFileSync(bad, "text,a\nx\n");
  for (const [words, message] of [
    [[join(SAMPLES, "chroma")], "holds 2 collections: name one with --chroma-collection ('notes', 'vectors')"],
    [[join(SAMPLES, "make.ts")], "is in none of the known formats: name it with --from"],
    [[bad], "line 2: 1 fields, where the first line has 2"],
    [[join(SAMPLES, "notes.csv"), "--split", "headings"], "--split is for markdown"],
  ] as const) {
    const { code, err } = await run("import", "none", ...words);
    expect(code).not.toBe(0);
    expect(err).toContain(message);
    expect(err.trim().split("\n")).toHaveLength(1);
  }
  expect((await run("count", "none")).code).not.toBe(0);
  rmSync(dir, { recursive: true });
});

test("what was left out is said, and a row that is bad can be", async () => {
  const { err } = await run("import", "captions", `${SAMPLES}/chroma`, "--chroma-collection", "vectors");
  expect(err).toContain("2 left out, without a document");
  const input = "text,a\nx,1\ny\nz,2\n";
  const skipped = await svc(env, ["mem", "import", "skipped", "--from", "csv", "--on-error", "skip"], input);
  expect({ code: skipped.code, err: skipped.err.includes("left out: stdin, line 3") }).toEqual({ code: 1, err: true });
  expect((await run("count", "skipped")).out.trim()).toBe("2");
});
