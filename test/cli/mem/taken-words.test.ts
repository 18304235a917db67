/** A verb of `svc mem` that gets one word takes it for the collection: without a text the error says so, and what to type. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { FAKE_GATE, type RunOptions, svc, temporaryFolder } from "../support.ts";
import { Screen, svcCommand } from "../terminal.ts";

const fake = (words: string[], options: RunOptions = {}) =>
  svc(["mem", ...words], { ...options, preload: [FAKE_GATE] });

const CASES = [
  ["add", "hello world", "svc mem add NAME 'hello world'"],
  ["upsert", "hello world", "svc mem upsert NAME 'hello world'"],
  ["update", "hello world", "svc mem update NAME 'hello world'"],
  ["add", "notes", "svc mem add notes TEXT"],
  ["add", "long text ".repeat(20), "svc mem add NAME TEXT"],
] as const;
const taken = (word: string, command: string) =>
  `, and '${word.length > 80 ? `${word.slice(0, 77)}...` : word}' was taken for the collection: type ${command}, or give a text with --file or on stdin`;

test.each(CASES)("svc mem %s '%s', nothing on stdin", async (verb, word, command) => {
  for (const more of [[], ["--lines"]]) {
    for (const stdin of ["", "\n"]) {
      const { code, stderr } = await fake([verb, word, ...more], { stdin });
      expect([code, stderr]).toEqual([1, `svc: stdin is empty${taken(word, command)}\n`]);
    }
  }
  const ids = verb === "update" ? ["--id", "a"] : [];
  const { stdout } = await fake([verb, word, "--json", ...ids], { stdin: "a text\n" });
  expect(JSON.parse(stdout).args).toMatchObject({ collection: word, texts: ["a text"] });
});

test.each(CASES)("svc mem %s '%s' on a terminal, which is not read", async (verb, word, command) => {
  using screen = new Screen(svcCommand(["mem", verb, word], [FAKE_GATE]), { COLUMNS: "1000" });
  expect(await screen.ended).toBe(2);
  expect(screen.text).toContain(`svc: no text is given${taken(word, command)}; see 'svc mem ${verb}`);
});

test("svc mem import FILE on a terminal", async () => {
  using dir = temporaryFolder();
  const path = join(dir.path, "rows.jsonl");
  writeFileSync(path, "");
  for (const [word, command] of [
    [path, `svc mem import NAME ${path}`],
    ["notes", "svc mem import notes FILE"],
  ] as const) {
    using screen = new Screen(svcCommand(["mem", "import", word], [FAKE_GATE]), { COLUMNS: "1000" });
    expect(await screen.ended).toBe(2);
    expect(screen.text).toContain(`was taken for the collection: type ${command}, or pipe JSON lines in`);
  }
});
