/** What a person meets on the terminal, with the executable and a real memory. */
import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { SVC, signedIn, svc } from "./home.ts";

let env: Record<string, string>;
beforeAll(async () => {
  env = await signedIn();
});

/** The line on stderr of a command that fails. */
async function refused(...words: string[]): Promise<string> {
  const { code, out, err } = await svc(env, words);
  expect({ words, code, out }).toEqual({ words, code: 1, out: "" });
  return err;
}

test("a collection that does not exist: what makes one, then the name that was meant", async () => {
  const missing = "svc: collection 'notse' does not exist";
  expect(await refused("mem", "count", "notse")).toBe(
    `${missing}, and there are no collections yet: svc mem add notse "a first text" makes it\n`,
  );
  expect((await svc(env, ["mem", "add", "notes", "we deploy on Tuesdays", "--id", "deploy"])).code).toBe(0);
  for (const words of [
    ...[
      ["search", "notse", "q"],
      ["get", "notse", "deploy"],
      ["ids", "notse"],
      ["stats", "notse"],
      ["export", "notse"],
    ],
    ...[
      ["update", "notse", "x", "--id", "a"],
      ["delete", "notse", "a"],
      ["compact", "notse"],
      ["check", "notse"],
    ],
    ...[
      ["backup", join(env.HOME!, "backup"), "notse"],
      ["drop", "notse", "--yes"],
      ["rename", "notse", "docs"],
    ],
    ...[
      ["undo", "notse"],
      ["alter", "notse", "--lexical"],
      ["describe", "notse", "x"],
    ],
  ])
    expect([words, await refused("mem", ...words)]).toEqual([words, `${missing}, did you mean 'notes'?\n`]);
});

test("the memory may be named before the verb, and is the one whose names are proposed", async () => {
  const other = join(env.HOME!, "other");
  await svc(env, ["mem", "add", "docs", "text", "--path", other]);
  const { out } = await svc(env, ["--json", "mem", "--path", other, "ids", "docs"]);
  expect(JSON.parse(out).ids).toHaveLength(1);
  expect(await refused("--path", other, "mem", "count", "doc")).toContain("did you mean 'docs'?");
});

test("with --json the last line of stderr is the failure", async () => {
  const { error } = JSON.parse(await refused("--json", "mem", "count", "nots"));
  expect(error).toEqual({
    type: "ValueError",
    code: "ValueError.no_collection",
    message: "collection 'nots' does not exist, did you mean 'notes'?",
  });
  const usage = await svc(env, ["mem", "count", "--json", "--top-k"]);
  expect(usage.code).toBe(2);
  expect(JSON.parse(usage.err).error.code).toBe("ValueError.invalid_value");
  const exists = JSON.parse(await refused("mem", "add", "notes", "again", "--id", "deploy", "--json"));
  expect(exists.error).toMatchObject({ type: "KeyError", code: "KeyError.id_exists" });
});

test("a text of a megabyte goes whole through the pager, and whole into a pipe", async () => {
  const text = `${"a line of the text\n".repeat(60_000)}its end`;
  expect((await svc(env, ["mem", "add", "long", "--id", "a"], text)).code).toBe(0);
  const { out } = await svc(env, ["mem", "get", "long", "a", "--no-with-metadata"]);
  expect(out).toContain(text);
  let shown = "";
  const child = Bun.spawn([SVC, "mem", "get", "long", "a"], {
    env: { ...env, TERM: "xterm", PAGER: "tail -n 2 | sed s/^/paged:/" },
    terminal: { cols: 80, rows: 24, data: (_, bytes) => (shown += Buffer.from(bytes).toString()) },
  });
  expect(await child.exited).toBe(0);
  child.terminal!.close();
  expect(shown).toBe("paged:a line of the text\r\npaged:its end\r\n");
});

test("a search by word that is not possible yet names the command that makes it so", async () => {
  await svc(env, ["mem", "add", "plain", "text"]);
  const search = (name: string) => refused("mem", "search", name, "text", "--lexical");
  expect(await search("plain")).toContain("'svc mem alter plain --lexical' adds one");
  await svc(env, ["mem", "create", "words", "--lexical"]);
  expect(await search("words")).toContain("build it with svc_build_lexical or 'svc mem build-lexical words'");
  expect(await refused("mem", "create", "plain", "--lexical")).toContain("'svc mem alter' changes that");
});

test("a remark is broken between words on a terminal, a line of a log and a page are not, and a pipe gets it whole", async () => {
  const shown = await onTerminal(["mem", "count", "notes-that-were-never-made-and-have-a-long-name"], 60);
  expect(shown.length).toBeGreaterThan(1);
  expect(shown.join(" ")).toBe(
    (await refused("mem", "count", "notes-that-were-never-made-and-have-a-long-name")).trim(),
  );
  for (const line of shown) if (line.includes(" ")) expect([line, line.length <= 60]).toEqual([line, true]);
  const page = await onTerminal(["mem"], 60);
  expect(page).toContain(`  svc mem add notes "we deploy blue green" --metadata '{"scope":"ops"}'`);
  const deleted = await onTerminal(["mem", "delete", "notes", "deploy"], 60);
  expect(deleted).toEqual(["deleted 1 row from notes", "to put it back: svc mem undo notes"]);
});

/** The lines that a command shows on a terminal. */
async function onTerminal(words: string[], cols: number): Promise<string[]> {
  let shown = "";
  const child = Bun.spawn([SVC, ...words], {
    env: { ...env, TERM: "dumb" },
    terminal: { cols, rows: 60, data: (_, bytes) => (shown += new TextDecoder().decode(bytes)) },
  });
  await child.exited;
  // What was written last is still on its way.
  for (let length = -1; length !== shown.length; await Bun.sleep(20)) length = shown.length;
  child.terminal!.close();
  return shown.trimEnd().split("\r\n");
}
