/** Every verb of `svc mem` on a terminal with colours, over a memory that has what a terminal obeys in every stored field. */
import { beforeAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import mem from "../../src/cli/mem/group.ts";
import { Screen } from "../cli/terminal.ts";
import { SVC, signedIn, svc } from "./home.ts";

/** A style and a link as svc makes them; then what colours, renames the window, moves the cursor, reverses, adds a line. */
const EVIL =
  "E\x1b[1mFORGED\x1b[22m\x1b]8;;file:///evil\x1b\\x\x1b]8;;\x1b\\\x1b[31m\x1b]0;owned\x07\x1b[1A\x9b1A\x7f\u202egnp\u2066\nFORGED line";
/** The part of it that names of collections and columns may have. */
const NAME = "n\x9b31m\u202egnp\x9d0;owned\x9c";
const COLUMN = "c\x9b1A\u2066";

/** What svc writes: styles, links to files, and the line of progress. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: this pattern looks for them
const OWN = /\x1b\[(?:1|2|22|3[23569])m|\x1b\]8;;(?:file:[!-~]*)?\x1b\\|\r\x1b\[2K/g;
/** What a terminal obeys, but for line breaks and tabs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: this pattern looks for them
const RAW = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;
/** A style or a link that is stored text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: this pattern looks for them
const FORGED = /\x1b\[1mFORGED|\x1b\]8;;file:\/\/\/evil/;
/** One of them as svc shows it. */
const SHOWN = /\\(?:x9b|x1b|u009b|u001b|u202e)/;

let env: Record<string, string>;
let path = "";
let folder = "";
let counter = 0;

/** A command line, and what is particular about it. */
interface Case {
  readonly words: readonly string[];
  /** The exit code (0). */
  readonly code?: number;
  /** What is typed, once the output has that. */
  readonly typed?: readonly [after: RegExp, keys: string];
  /** It shows texts, which have lines of their own. */
  readonly isText?: boolean;
  /** It shows nothing that is stored. */
  readonly isSilent?: boolean;
  /** What is done to the copy of the memory before. */
  readonly damage?: (memory: string) => void;
}

const manifestOf = (memory: string) => join(memory, NAME, "collection.json");
const noManifest = (memory: string) => writeFileSync(manifestOf(memory), JSON.stringify({ [EVIL]: EVIL }));
const strayFiles = (memory: string) => {
  writeFileSync(join(memory, NAME, "base-0000000000000099.slab"), "");
  writeFileSync(join(memory, NAME, EVIL.replaceAll("/", "")), "");
  mkdirSync(join(memory, EVIL.replaceAll("/", "")));
};
const damagedSlab = (memory: string) => {
  for (const file of new Bun.Glob("{base,delta}-*").scanSync({ cwd: join(memory, NAME), absolute: true })) {
    const bytes = readFileSync(file);
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(file, bytes);
  }
};

const repository = () => join(folder, EVIL.replaceAll("/", ""));
const file = (name: string) => join(folder, `${EVIL.replaceAll("/", "")}${name}`);

/** The verbs; the memory is a copy for each case. A verb without a case fails the test below. */
const CASES: Record<string, () => readonly Case[]> = {
  add: () => [
    { words: [NAME, EVIL] },
    { words: [NAME, "more", "--id", EVIL], code: 1 },
    { words: [NAME, "more", "--metadata", EVIL], code: 2 },
    { words: [`${NAME}2`, "more", "--partition-by", EVIL], code: 1 },
  ],
  upsert: () => [{ words: [NAME, EVIL, "more", "--ids", `${NAME},b`] }, { words: [NAME, EVIL] }],
  update: () => [{ words: [NAME, "new", "--id", EVIL] }, { words: [NAME, "new", "--id", `${EVIL}x`], code: 1 }],
  get: () => [{ words: [NAME, EVIL, `${EVIL}x`], isText: true }, { words: [NAME, EVIL, "--json"] }],
  search: () => [
    { words: [NAME, "forged line", "--with-times", "--with-score"] },
    { words: [NAME, "forged line", "--with-text"], isText: true },
    { words: [NAME, "forged", "--lexical", "--explain"] },
    { words: [NAME, "forged line", "--where", `${EVIL}=1`], code: 1 },
    { words: [NAME, EVIL, "--json"] },
  ],
  list: () => [
    { words: [] },
    { words: ["--json"] },
    { words: [], damage: noManifest },
    { words: [], damage: strayFiles },
    { words: [NAME] },
    { words: [NAME, "--json"] },
    { words: [NAME], damage: noManifest },
    { words: [EVIL], code: 1 },
  ],
  show: () => [
    { words: [NAME] },
    { words: [NAME, EVIL], isText: true },
    { words: [NAME, EVIL.slice(0, 9)], code: 1 },
    { words: [NAME, "--json"] },
    { words: [NAME, `${EVIL}x`], code: 1 },
  ],
  brief: () => [
    { words: [], isSilent: true },
    { words: ["--json"], isSilent: true },
  ],
  pin: () => [{ words: [NAME, EVIL] }, { words: [NAME, EVIL, "--json"] }, { words: [NAME], isSilent: true }],
  recent: () => [
    { words: [] },
    { words: ["--json"] },
    { words: [NAME, "--limit", "1"] },
    { words: [], damage: noManifest },
  ],
  edit: () => [
    { words: [NAME, EVIL] },
    { words: [NAME, "b"], isSilent: true },
    { words: [NAME, EVIL.slice(0, 9)], code: 1 },
  ],
  create: () => [
    { words: [`${NAME}2`, "--description", EVIL] },
    { words: [NAME, "--filter-column", `${COLUMN}2`], code: 1 },
  ],
  describe: () => [
    { words: [NAME], isText: true },
    { words: [NAME, "--json"] },
    { words: [NAME, "new"] },
    { words: [NAME, "--remove"] },
  ],
  alter: () => [{ words: [NAME, "--filter-column", `${COLUMN}2`] }, { words: [NAME, "--lexical"] }],
  rename: () => [{ words: [NAME, `${NAME}2`] }, { words: [NAME, EVIL], code: 1 }],
  drop: () => [
    { words: [NAME], typed: [/for good\?/, "n\n"], code: 1 },
    { words: [NAME, "--yes"] },
    { words: [NAME], typed: [/for good\?/, "y\n"], damage: noManifest },
  ],
  delete: () => [
    { words: [NAME, EVIL] },
    { words: [NAME, "--where", `scope=${EVIL}`], typed: [/deletes nothing/, "n\n"], code: 1 },
    { words: [NAME, "--older-than", EVIL], code: 2 },
  ],
  undo: () => [
    { words: [NAME, "--dry-run"] },
    { words: [NAME, "--dry-run", "--json"] },
    { words: [NAME], typed: [/undo this\?/, "y\n"] },
  ],
  history: () => [
    { words: [NAME], isSilent: true },
    { words: [NAME, "--json"], isSilent: true },
    { words: [NAME, "--save", "2"] },
    { words: [NAME, EVIL], isText: true },
    { words: [NAME, `${EVIL} never`], isSilent: true },
    { words: [`${NAME}2`], code: 1 },
  ],
  ids: () => [{ words: [NAME] }, { words: [NAME, "--limit", "1"] }, { words: [NAME, "--max-bytes", "1000"] }],
  count: () => [
    { words: [NAME], isSilent: true },
    { words: [`${NAME}2`], code: 1 },
  ],
  stats: () => [{ words: [NAME] }, { words: [NAME, "--json"] }],
  compact: () => [{ words: [NAME] }],
  "build-ivf": () => [{ words: [NAME], isSilent: true }, { words: [NAME, "--min-rows", "1"] }],
  "build-lexical": () => [{ words: [NAME] }],
  "build-meaning": () => [{ words: [NAME] }, { words: [NAME, "--json"] }],
  tune: () => [{ words: [NAME] }],
  index: () => [
    { words: [repository(), "--collection", `r${NAME}`] },
    { words: [repository(), "--dry-run", "--force"] },
    { words: [file("absent")], code: 1 },
  ],
  "repo-search": () => [
    ...["lines", "files", "grep", "windows"].map((form) => ({
      words: ["forged line", "--workspace", repository(), "--form", form],
    })),
    { words: ["forged line", "--workspace", repository(), "--path-hint", EVIL] },
  ],
  repos: () => [{ words: [] }, { words: ["--forget", repository()] }, { words: ["--forget", file("absent")], code: 1 }],
  export: () => [
    { words: [NAME] },
    { words: [NAME, "--schema"] },
    { words: [NAME, file("new.jsonl")] },
    { words: [NAME, "--markdown", file("new folder")] },
    { words: [NAME, "--markdown", file("folder")] },
  ],
  backup: () => [
    { words: [file("backup-1")] },
    { words: [file("backup-2")], damage: noManifest, code: 1 },
    { words: [file("backup"), NAME], code: 1 },
  ],
  copy: () => [
    { words: [NAME, "--to", file("absent")], code: 1 },
    { words: [NAME, "--from", EVIL], code: 2, isSilent: true },
  ],
  restore: () => [
    { words: [file("backup"), "--replace"] },
    { words: [file("backup")], code: 1 },
    { words: [file("damaged"), "--replace"], code: 1 },
  ],
  check: () => [
    { words: [] },
    { words: [NAME], damage: noManifest, code: 1 },
    { words: [NAME], damage: strayFiles },
    { words: [NAME], damage: damagedSlab, code: 1 },
    { words: [NAME, "--repair"], damage: damagedSlab, code: 1 },
  ],
  import: () => [
    { words: [`${NAME}2`, file(".jsonl")] },
    { words: [NAME, file("bad.jsonl"), "--on-error", "skip"], code: 1 },
    { words: [NAME, file("bad.jsonl")], code: 1 },
    { words: [NAME, file("absent")], code: 1 },
    { words: [`${NAME}3`, file("folder"), "--dry-run", "--on-error", "skip"], code: 1 },
    { words: [NAME, file("folder"), "--dry-run", "--on-error", "skip"], code: 1 },
    { words: [NAME, file("folder"), "--delete"], code: 1 },
    { words: [NAME, file("folder")], code: 1 },
    { words: [NAME, file("folder"), "--on-error", "skip"], code: 1 },
  ],
};

beforeAll(async () => {
  const { NO_COLOR, ...home } = await signedIn();
  env = { ...home, TERM: "xterm", SVC_PAGER: "", EDITOR: "sed -i s/now/then/" };
  folder = join(env.HOME!, "files");
  path = join(folder, "memory");
  mkdirSync(repository(), { recursive: true });
  writeFileSync(join(repository(), EVIL.replaceAll("/", "")), `def forged():\n  "${EVIL}"\n`);
  writeFileSync(join(repository(), "forged.py"), `def forged():\n  "${EVIL}"\n`);
  const done = async (...words: string[]) => {
    const { code, err } = await svc(env, ["mem", ...words, "--path", path]);
    if (code !== 0) throw new Error(`svc mem ${words[0]} ended with ${code}: ${err}`);
  };
  await done("create", NAME, "--description", EVIL, "--filter-column", COLUMN, "--lexical");
  const metadata = JSON.stringify({ [EVIL]: EVIL, [COLUMN]: EVIL, scope: EVIL });
  await done("add", NAME, EVIL, "forged line of another text", "--ids", `${NAME},b`, "--metadata", metadata);
  await done("add", NAME, EVIL, "--id", EVIL, "--metadata", metadata);
  await done("build-lexical", NAME);
  await done("upsert", NAME, `${EVIL} now`, "--id", EVIL, "--metadata", metadata);
  await done("add", NAME, "later", "--id", `${EVIL} later`);
  await done("index", repository());
  await done("export", NAME, file(".jsonl"), "--force");
  await done("export", NAME, "--markdown", file("folder"));
  await done("upsert", NAME, `${EVIL} later still`, "--id", `${EVIL} later`);
  for (const name of new Bun.Glob("**/*.md").scanSync({ cwd: file("folder"), absolute: true })) {
    writeFileSync(name, `${readFileSync(name, "utf8")}edited`);
  }
  writeFileSync(join(file("folder"), `${EVIL.replaceAll("/", "")}.md`), "---\nid: [\n---\n");
  writeFileSync(file("bad.jsonl"), `{"text":"a"}\n{"text":7,${JSON.stringify(EVIL)}:1}\n${EVIL}\n`);
  await done("backup", file("backup"));
  cpSync(file("backup"), file("damaged"), { recursive: true });
  noManifest(file("damaged"));
}, 60_000);

/** All that a terminal gets from `svc`, and the exit code. */
async function onTerminal(words: readonly string[], env: Record<string, string>, typed?: Case["typed"]) {
  const command = ["sh", "-c", '"$@"; printf "<%s>" "$?"', "sh", SVC, ...words];
  using screen = new Screen(command, env);
  if (typed) await screen.until(typed[0]);
  if (typed) screen.type(typed[1]);
  const [, ended] = await screen.until(/<(\d+)>$/);
  return { text: screen.text.replace(/\r\n/g, "\n"), ended: Number(ended) };
}

/** What the terminal obeys that svc has not written. */
function obeyed(text: string): string | undefined {
  return FORGED.exec(text)?.[0] ?? RAW.exec(text.replace(OWN, ""))?.[0];
}

test("every verb has a case", () => {
  expect(Object.keys(CASES).sort()).toEqual(Object.keys(mem.subCommands!).sort());
});

for (const [verb, casesOf] of Object.entries(CASES)) {
  test(`svc mem ${verb}`, async () => {
    for (const { words, code = 0, typed, isText, isSilent, damage } of casesOf()) {
      const memory = join(folder, `memory-${counter++}`);
      cpSync(path, memory, { recursive: true });
      damage?.(memory);
      const { text, ended } = await onTerminal(["mem", verb, ...words, "--path", memory], env, typed);
      const label = `svc mem ${verb} ${words.slice(1).join(" ")}\n${JSON.stringify(text)}\n`;
      expect([label, ended, obeyed(text)]).toEqual([label, code, undefined]);
      if (!isText) expect([label, /^FORGED line/m.test(text)]).toEqual([label, false]);
      if (!isSilent) expect([label, SHOWN.test(text)]).toEqual([label, true]);
    }
  }, 120_000);
}

test("a link of svc that a narrow terminal breaks is a link on each line", async () => {
  const dir = join(folder, "copy of everything that there is");
  const { text } = await onTerminal(["mem", "backup", dir, "--path", path], { ...env, COLUMNS: "40" });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the codes of a link
  const links = text.match(/\x1b\]8;;file:[^\x1b]*\x1b\\[^\x1b\n]+\x1b\]8;;\x1b\\/g)!;
  expect(links.length).toBeGreaterThan(1);
  expect(text).not.toContain("\\x1b");
});

test("the difference of a client's file that holds escape sequences", async () => {
  const settings = join(env.HOME!, ".config/zed/settings.json");
  mkdirSync(dirname(settings), { recursive: true });
  writeFileSync(settings, `{\n  // ${EVIL.split("\n")[0]}\n  "theme": "One"\n}\n`);
  const { text, ended } = await onTerminal(["mcp", "install", "--client", "zed", "--dry-run"], env);
  expect([text, ended, obeyed(text)]).toEqual([text, 0, undefined]);
  expect(text).toMatch(SHOWN);
});
