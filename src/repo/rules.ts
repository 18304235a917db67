/** The ignore rules of a directory, read from its files. */
import { IgnoreRules, NEVER_ENTERED } from "./ignore.ts";
import { readRepoFile } from "./read.ts";

/** Larger than any `.gitignore` written by hand; larger ones are not read. */
const IGNORE_FILE_BYTES_MAX = 1024 * 1024;

/** `info/exclude` first: the `.gitignore` beside it comes later and so wins. */
const IGNORE_FILES = [
  [".git", ".git/info/exclude"],
  [".gitignore", ".gitignore"],
] as const;

/**
 * The rules for what lies in `directory` (relative to `root`, `""` for the root).
 * @param outer the rules for the directory itself
 * @param has whether the directory has an entry of that name
 */
export function rulesIn(
  root: string,
  directory: string,
  outer: IgnoreRules,
  has: (name: string) => boolean = () => true,
): IgnoreRules {
  let rules = outer;
  for (const [name, file] of IGNORE_FILES) {
    if (!has(name)) continue;
    const read = readRepoFile(root, prefixed(directory, file), IGNORE_FILE_BYTES_MAX);
    if ("bytes" in read) rules = rules.within(directory, new TextDecoder().decode(read.bytes));
  }
  return rules;
}

/** The rules for a directory below `root`, which those of the folders above it may ignore. */
export function rulesFor(root: string, directory: string): { rules: IgnoreRules; isIgnored: boolean } {
  let rules = IgnoreRules.usual();
  let isIgnored = false;
  let at = "";
  for (const name of directory === "" ? [] : directory.split("/")) {
    rules = rulesIn(root, at, rules);
    at = prefixed(at, name);
    isIgnored ||= NEVER_ENTERED.has(name) || rules.ignores(at, true);
  }
  return { rules, isIgnored };
}

/** The path of `name` in `directory`. */
export function prefixed(directory: string, name: string): string {
  return directory === "" ? name : `${directory}/${name}`;
}
