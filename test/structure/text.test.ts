/** What the repository must not contain: addresses of package registries, keys, paths of a machine, unclear words. */
import { expect, test } from "bun:test";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");

/** Files that git tracks or would: what the next commit may hold. Undefined outside a checkout. */
function files(): string[] | undefined {
  const git = Bun.spawnSync(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: ROOT });
  if (!git.success) return undefined;
  return git.stdout.toString().split("\0").filter(Boolean);
}

async function matches(pattern: RegExp, only: (file: string) => boolean = () => true): Promise<string[]> {
  const found: string[] = [];
  for (const name of (files() ?? []).filter(only)) {
    const file = Bun.file(join(ROOT, name));
    if (!(await file.exists())) continue;
    const line = (await file.text()).split("\n").findIndex((text) => pattern.test(text));
    if (line >= 0) found.push(`${name}:${line + 1}`);
  }
  return found;
}

test.skipIf(files() === undefined)("no address of a package registry (needs a git checkout)", async () => {
  // Written apart so that this line does not find itself.
  const hosts = ["registry" + "\\.npmjs", "registry" + "\\.yarnpkg", "npm" + "\\.jsr", "deb" + "\\.debian\\.org"];
  expect(await matches(new RegExp(hosts.join("|")))).toEqual([]);
});

test.skipIf(files() === undefined)(
  "no address at all in lock and configuration files (needs a git checkout)",
  async () => {
    const locks = /(^|\/)(package-lock\.json|bun\.lock|\.npmrc|bunfig\.toml)$/;
    expect(await matches(/https?:\/\//, (file) => locks.test(file))).toEqual([]);
  },
);

test.skipIf(files() === undefined)("no private key (needs a git checkout)", async () => {
  expect(
    await matches(new RegExp("BEGIN ((RSA|EC|OPENSSH) )?" + "PRIVATE KEY"), (file) => !file.startsWith("test/")),
  ).toEqual([]);
});

test.skipIf(files() === undefined)("no path of a user's machine (needs a git checkout)", async () => {
  expect(await matches(new RegExp("/(home|Users)/[a-z]+/" + "|/wor" + "k/main"))).toEqual([]);
});

test.skipIf(files() === undefined)(
  "no test that is skipped or alone without a condition (needs a git checkout)",
  async () => {
    const tests = (file: string) => file.startsWith("test/") && file.endsWith(".test.ts");
    expect(await matches(new RegExp("\\b(test|it|describe)\\.(skip|only|todo)" + "\\("), tests)).toEqual([]);
  },
);

test.skipIf(files() === undefined)("no command or tool name in the native code (needs a git checkout)", async () => {
  // C returns a status, and src/store/failure.ts writes the sentence with the command: it knows the collection's name.
  expect(await matches(/"[^"]*\bsvc[ _][^"]*"/, (file) => /^ffi\/.*\.[ch]$/.test(file))).toEqual([]);
});

/** Metaphors and riddles that comments, messages and documents do without, each with the field's words for it. */
const BETTER: [RegExp, string][] = [
  [/\bstrangers?\b/i, "untrusted input, another file, another id"],
  [/\bwhoever\b/i, "the caller, the reader, the holder"],
  [/\bsomebody\b|(?<!["'])\bnobody\b/i, "another process, another user, no caller"],
  [/\blet(s|ting)? go\b/i, "release, close, unmap, evict"],
  [/\b(is|are|was|were|be|been) told\b(?! apart)/i, "is called with, gets an error"],
  [/\bwithout a word\b/i, "silently"],
  [/(?<!\bthere )\b(is|are|was|were) none\b(?! of)/, "is not one, is invalid, does not count"],
  [/(?<!\bthere )\b(is|are|was|were) no (?!longer|more|less|better|faster|slower|other|new|such|doubt)\w/i, "is not a"],
  [/\bas said\./i, "say it again, or link to it"],
  [/\banew\b/, "again"],
  [/(?<![\w.{$"'])besides\b/, "as well as, in addition to, also"],
  [/\b(comma|follows?|goes on|lies?|one|read|right|rows?|stands?|text) behind (it|that|the|this)\b/i, "after"],
  [/[.:] Of (a|all|an|each|every|more|such|the|these|those)\b[^.]{0,80},/, "the subject first: 'In a …', 'For each …'"],
  [/\bof before\b(?!\.| \(|\))/, "earlier, older"],
];

/** Word lists, data and generated files. */
const NO_PROSE =
  /^src\/build\/(corpus|tables|notices)\/|^test\/(data|mcp\/conformance\/schema)\/|\.jsonl$|\.gen\.json$|^test\/structure\/text\.test\.ts$/;

test.skipIf(files() === undefined)("plain words (needs a git checkout)", async () => {
  const isProse = (name: string) => /^(src|ffi|docs|test)\/|^[^/]+\.md$/.test(name) && !NO_PROSE.test(name);
  const found: string[] = [];
  for (const name of (files() ?? []).filter(isProse)) {
    const file = Bun.file(join(ROOT, name));
    if (!(await file.exists())) continue;
    // A phrase may be wrapped: lines are joined, without the signs that comments begin them with.
    const text = (await file.text()).replace(/\s*\n\s*(\*|\/\/|#)?\s*/g, " ");
    for (const [pattern, better] of BETTER) {
      const match = pattern.exec(text);
      if (match) found.push(`${name}: "${text.slice(Math.max(0, match.index - 30), match.index + 40)}": ${better}`);
    }
  }
  expect(found).toEqual([]);
});

/** Names that explain nothing on their own, as a whole identifier, file or folder: use the field's noun for what it holds. */
const UNCLEAR = [
  "asked",
  "belonging",
  "besides",
  "handed",
  "kept",
  "let_go",
  "passed",
  "remade",
  "said",
  "told",
  "unlooked",
  "witness",
];

test.skipIf(files() === undefined)("names that explain what they hold (needs a git checkout)", async () => {
  const code = (files() ?? []).filter(
    (name) => /^(src|test)\/.*\.(ts|c|h|py)$|^ffi\/.*\.ts$/.test(name) && !NO_PROSE.test(name),
  );
  const unclear = (name: string) => UNCLEAR.includes(name.toLowerCase().replaceAll("-", "_"));
  const declared =
    /^(?:export (?:async )?(?:function\*?|class|const|interface|type) |(?:typedef )?(?:enum|struct|union) (?:ty_|ame_)?|[\w ]+[ *](?:ty_|ame_)(?=\w+\())(\w+)/gm;
  const found: string[] = [];
  for (const name of code) {
    const parts = name.split("/").map((part) => part.split(".")[0]!);
    found.push(...parts.filter(unclear).map((part) => `${name}: the name '${part}'`));
    const file = Bun.file(join(ROOT, name));
    if (!(await file.exists())) continue;
    for (const [, declaredName] of (await file.text()).matchAll(declared)) {
      if (unclear(declaredName!)) found.push(`${name}: '${declaredName}'`);
    }
  }
  expect(found).toEqual([]);
});
