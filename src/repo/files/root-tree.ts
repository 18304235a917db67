/** The tree that a root begins with: its own work tree, one around it, or a folder without git. */
import { dirname, join } from "node:path";
import { GIT_RULES, INTERNAL, type Tree } from "./directory-rules.ts";
import { type ConfigEnv, readConfig } from "./git/config.ts";
import { layoutOf } from "./git/layout.ts";
import { excludesOf, IGNORE_FILE_BYTES_MAX, Repository } from "./git/repository.ts";
import { isRegular, readBinary, stampOf } from "./git/text.ts";
import { bytesOf } from "./ignore/pattern.ts";
import { IgnoreFile, type Rules, verdictOf, within } from "./ignore/rules.ts";
import { USUAL_FOLDERS } from "./ignore/usual.ts";

/** Why a root with a `.git` is taken for a folder without git. */
const INVALID = "git does not accept its .git";

export interface RootTree {
  tree: Tree;
  problem?: string;
  /** In a folder without git: files that make another tree of it when they change. */
  stamps: [path: string, stamp: string][];
}

/** @param env `HOME` and `XDG_CONFIG_HOME` say where the user's configuration of git is */
export function rootTree(root: string, env: ConfigEnv): RootTree {
  const own = Repository.at(root, env);
  if (own) return { tree: treeOf(own, ""), stamps: [] };
  if (layoutOf(root) || isRegular(join(root, ".git"))) return { ...folder(root, env), problem: INVALID };
  for (let at = dirname(root); ; at = dirname(at)) {
    const around = Repository.at(at, env);
    const tree = around && treeAround(around, root);
    if (tree) return { tree, stamps: [] };
    if (around || at === dirname(at)) return folder(root, env);
  }
}

/** The tree of a work tree among the directories of a root. */
export function treeOf(repository: Repository, at: string): Tree {
  return { repository, at, prefix: "", rules: repository.rules, isIgnored: false };
}

/**
 * The tree of a work tree around the root; undefined where git ignores the root as a whole: a caller that names such a
 * folder wants it indexed, as a folder of its own.
 */
function treeAround(repository: Repository, root: string): Tree | undefined {
  const prefix = root.slice(repository.top === "/" ? 1 : repository.top.length + 1);
  const { rules, isIgnored } = rulesAbove(repository.top, prefix, repository.rules, repository.ignoresCase);
  if (isIgnored && !repository.hasTracked(prefix)) return undefined;
  return { repository, at: "", prefix, rules, isIgnored };
}

/** The rules of the directories above one, from a top level on, and whether they ignore it. */
function rulesAbove(top: string, directory: string, outer: Rules | undefined, ignoresCase: boolean) {
  let rules = outer;
  let [at, isIgnored] = ["", false];
  for (const name of directory.split("/")) {
    const text = readBinary(join(top, at, GIT_RULES), IGNORE_FILE_BYTES_MAX, true);
    if (text !== undefined) rules = within(rules, at, new IgnoreFile(text, ignoresCase));
    at = at === "" ? name : `${at}/${name}`;
    isIgnored ||= INTERNAL.has(name) || verdictOf(rules, bytesOf(at), true) === true;
  }
  return { rules, isIgnored };
}

/**
 * Whether git ignores a directory of a work tree as a whole: no file in it is tracked. Reads the index only where a
 * rule ignores the directory.
 * @param directory relative to the top level, not `""`
 */
export function ignoresWhole(top: string, directory: string, env: ConfigEnv): boolean {
  const repository = Repository.at(top, env);
  if (!repository) return rulesAbove(top, directory, folder(top, env).tree.rules, false).isIgnored;
  const { isIgnored } = rulesAbove(top, directory, repository.rules, repository.ignoresCase);
  return isIgnored && !repository.hasTracked(directory);
}

/** A folder without git: the usual folders, which the user's own list of excludes may take back. */
function folder(root: string, env: ConfigEnv): RootTree {
  const config = readConfig(undefined, env);
  const excludes = excludesOf(root, config);
  const usual = new IgnoreFile(USUAL_FOLDERS.map((name) => `${name}/`).join("\n"), false);
  const rules = { file: excludes.file, cut: 0, outer: within(undefined, "", usual) };
  const watched = [join(root, ".git"), ...config.files, ...excludes.files];
  return {
    tree: { at: "", prefix: "", rules, isIgnored: false },
    stamps: watched.map((path) => [path, stampOf(path)]),
  };
}
