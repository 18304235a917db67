/** Random repositories of git, and what git itself lists in them. */
import { spawnSync } from "node:child_process";
import { lstatSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Numbers from 0 below `bound`, the same ones for the same seed. */
export function randomFrom(seed: number): (bound: number) => number {
  let state = (seed * 2654435761) >>> 0 || 1;
  return (bound) => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % bound;
  };
}

// biome-ignore format: one line a kind
const PIECES = [
  "a", "b", "c", "A", "B", "foo", "FOO", "bar", "build", "*", "**", "***", "?", "/", "/", "/", "**/", "/**", "/**/",
  "\\", "\\*", "\\a", "\\A", "\\/", "[ab]", "[!a]", "[^b]", "[]a]", "[!]a]", "[a-c]", "[A-C]", "[A]", "[c-a]", "[a\\-c]",
  "[[:alpha:]]", "[[:upper:]]", "[[:space:]]", "[[:punct:]]", "[[:foo:]]", "[[:alpha]", "[[:", "[a", "[", "]", "-",
  "[a-]", "[-a]", "[a-b-c]", "[\\]]", "[/]", "[^/]", "é", "ü", "日", " ", "\\ ", "#", "!", "\r", "\t", "\v", ".", "*.c",
];
const NAMES = [
  "a",
  "b",
  "c",
  "A",
  "foo",
  "bar",
  "build",
  "x.c",
  "é",
  "日",
  " b",
  "#a",
  "!b",
  "[a]",
  "a-b",
  ".c",
  "a\tb",
];

/** Lines of an ignore file. */
export function randomRules(random: (bound: number) => number): string {
  let text = random(12) === 0 ? "\uFEFF" : "";
  for (let lines = 1 + random(4); lines > 0; lines--) {
    let line = random(6) === 0 ? "!" : random(20) === 0 ? "#" : "";
    if (random(6) === 0) line += "/";
    // A name by itself half of the time: few paths match a pattern of random pieces.
    if (random(2) === 0) line += NAMES[random(NAMES.length)]!;
    else for (let pieces = 1 + random(5); pieces > 0; pieces--) line += PIECES[random(PIECES.length)]!;
    if (random(5) === 0) line += "/";
    if (random(8) === 0) line += [" ", "  ", "\r", "\\", " \r", "\\ ", "\\  "][random(7)]!;
    text += line + (random(5) === 0 ? "\r\n" : "\n");
  }
  return random(4) === 0 ? text.slice(0, -1) : text;
}

/** Runs git with the user's configuration below `home` only. */
export function gitAt(home: string, cwd: string, ...words: string[]): string {
  const env = { PATH: process.env.PATH!, HOME: home, GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C" };
  const settings = ["user.name=t", "user.email=t@example.invalid", "protocol.file.allow=always", "core.fsync=none"];
  const child = spawnSync("git", [...settings.flatMap((setting) => ["-c", setting]), ...words], { cwd, env });
  if (child.status !== 0) throw new Error(`git ${words.join(" ")} in ${cwd}: ${child.stderr}`);
  return child.stdout.toString();
}

/** Makes a random repository at `root`, and a configuration of its user at `home`. Both are empty folders. */
export function makeRandomRepository(root: string, home: string, random: (bound: number) => number): void {
  const git = (...words: string[]) => gitAt(home, root, ...words);
  const pick = <T>(from: readonly T[]): T => from[random(from.length)]!;
  git("init", "-q", "--template=", ...(random(6) === 0 ? ["--object-format=sha256"] : []));
  mkdirSync(join(root, ".git/info"));
  const ignoresCase = random(4) === 0;
  if (ignoresCase) git("config", "core.ignorecase", "true");
  // Where case does not count, no two names may differ in it alone: git would list one of them only.
  const names = ignoresCase ? NAMES.filter((name) => name !== "A") : NAMES;
  const folders = [""];
  const inside = (folder: string, name: string) => (folder === "" ? name : `${folder}/${name}`);
  const attempt = (make: () => void) => {
    try {
      make();
      return true;
    } catch {
      return false;
    }
  };
  for (let i = 0; i < 10; i++) {
    const folder = inside(pick(folders), pick(names));
    if (attempt(() => mkdirSync(join(root, folder)))) folders.push(folder);
  }
  for (const folder of folders) {
    if (random(3) === 0) writeFileSync(join(root, folder, ".gitignore"), randomRules(random));
  }
  if (random(10) === 0) attempt(() => symlinkSync("a", join(root, pick(folders), ".gitignore")));
  if (random(2) === 0) writeFileSync(join(root, ".git/info/exclude"), randomRules(random));
  if (random(2) === 0) makeUserExcludes(home, random, git);
  const files: string[] = [];
  for (let i = 0; i < 40; i++) {
    const path = inside(pick(folders), pick(names) + (random(3) === 0 ? pick(names) : ""));
    const isLink = random(10) === 0;
    const make = () =>
      isLink ? symlinkSync(pick(names), join(root, path)) : writeFileSync(join(root, path), "x", { flag: "wx" });
    if (attempt(make)) files.push(path);
  }
  const added = files.filter(() => random(3) === 0);
  // Literally, whatever is in the names.
  if (added.length > 0) git("--literal-pathspecs", "add", "-f", "--", ...added);
  for (let i = 0; i < 2; i++)
    if (random(3) === 0) attempt(() => nest(root, home, inside(pick(folders), `nest${i}`), random));
  if (random(3) === 0) git("commit", "-q", "--allow-empty", "-m", "one");
  if (random(3) === 0) git("update-index", "--index-version", pick(["2", "3", "4"]));
  if (random(6) === 0) git("update-index", "--split-index");
  if (random(6) === 0) git("config", "index.skipHash", "true");
  // Changes of the work tree and of the index after all that.
  for (const path of added.filter(() => random(8) === 0)) {
    attempt(() =>
      random(2) === 0 ? rmSync(join(root, path)) : renameSync(join(root, path), join(root, `${path}.moved`)),
    );
  }
  for (const path of added.filter(() => random(10) === 0)) {
    attempt(() => git("--literal-pathspecs", "rm", "-q", "--cached", "-f", "--", path));
  }
  const more = files.filter((path) => !added.includes(path) && random(6) === 0);
  const flags = random(4) === 0 ? ["-N"] : [];
  if (more.length > 0) attempt(() => git("--literal-pathspecs", "add", "-f", ...flags, "--", ...more));
  for (const path of added.filter(() => random(10) === 0)) {
    attempt(() => git("update-index", random(2) === 0 ? "--skip-worktree" : "--assume-unchanged", "--", path));
  }
}

function makeUserExcludes(home: string, random: (bound: number) => number, git: (...words: string[]) => string): void {
  if (random(2) === 0) {
    mkdirSync(join(home, ".config/git"), { recursive: true });
    writeFileSync(join(home, ".config/git/ignore"), randomRules(random));
  }
  if (random(2) === 0) return;
  writeFileSync(join(home, "excludes"), randomRules(random));
  if (random(3) === 0) git("config", "core.excludesFile", join(home, "excludes"));
  else if (random(2) === 0)
    writeFileSync(join(home, ".gitconfig"), "[Core] # words\n\texcludesfile = ~/exc\\\nludes ; more\n");
  else {
    writeFileSync(join(home, ".gitconfig"), '[include]\n\tpath = "more"\n');
    writeFileSync(join(home, "more"), '[core]excludesFile="~/excludes"\n');
  }
}

/** A clone inside: left alone, added as an entry of its own, or a submodule. */
function nest(root: string, home: string, path: string, random: (bound: number) => number): void {
  const full = join(root, path);
  mkdirSync(full);
  gitAt(home, full, "init", "-q", "--template=");
  writeFileSync(join(full, ".gitignore"), randomRules(random));
  for (const name of NAMES.slice(0, 6)) writeFileSync(join(full, name), name);
  mkdirSync(join(full, "deep"));
  writeFileSync(join(full, "deep/build"), "x");
  gitAt(home, full, "add", "-f", "a", "b", "deep");
  gitAt(home, full, "commit", "-q", "-m", "one");
  const kind = random(5);
  if (kind === 1) gitAt(home, root, "add", "-f", "--", path);
  if (kind === 2) gitAt(home, root, "submodule", "--quiet", "add", "-f", "--", `./${path}`, path);
  if (kind === 2 && random(2) === 0) gitAt(home, root, "submodule", "--quiet", "absorbgitdirs");
  if (kind === 3) {
    gitAt(home, root, "add", "-f", "--", path);
    rmSync(join(full, ".git"), { recursive: true });
  }
  if (kind === 4) writeFileSync(join(full, ".git/HEAD"), "no head");
}

/** What git lists, in string order: tracked files that are there, untracked ones, and those of submodules. */
export function listedByGit(root: string, home: string): string[] {
  const found = new Set<string>();
  const out = gitAt(home, root, "ls-files", "-z", "--cached", "--others", "--exclude-standard");
  for (const path of out.split("\0").slice(0, -1)) {
    if (path.endsWith("/")) continue;
    const stat = plainStat(root, path);
    if (!stat) continue;
    if (!stat.isDirectory()) found.add(path);
    else if (isOwnTop(home, join(root, path))) {
      for (const inner of listedByGit(join(root, path), home)) found.add(`${path}/${inner}`);
    }
  }
  return [...found].sort();
}

/** Of an entry whose folders are not links. */
function plainStat(root: string, path: string) {
  const names = path.split("/");
  for (let count = 1; count < names.length; count++) {
    const folder = lstatSync(join(root, ...names.slice(0, count)), { throwIfNoEntry: false });
    if (!folder?.isDirectory()) return undefined;
  }
  return lstatSync(join(root, path), { throwIfNoEntry: false });
}

function isOwnTop(home: string, directory: string): boolean {
  try {
    return gitAt(home, directory, "rev-parse", "--show-prefix").trim() === "";
  } catch {
    return false;
  }
}
