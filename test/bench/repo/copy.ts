/** A copy of a work tree that a benchmark may change. */
import { copyFileSync, lstatSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";

/** A git work tree of its own. */
export interface Copy {
  root: string;
  files: number;
  bytes: number;
  /** The file that is edited: of those of source code the one of the middle size. */
  edited: string;
}

const SOURCE = /\.(c|cc|cpp|cs|go|h|hpp|java|js|kt|mjs|php|py|rb|rs|scala|swift|ts|tsx)$/;

/** Copies what git tracks, or would: no ignored files, no links. @throws Error where git fails */
export function copyTree(tree: string, root: string): Copy {
  const listed = git(tree, "ls-files", "-z", "--cached", "--others", "--exclude-standard");
  const names = [...new Set(listed.split("\0"))].filter((name) => name && isFile(join(tree, name)));
  for (const name of names) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    copyFileSync(join(tree, name), join(root, name));
  }
  git(root, "init", "-q");
  git(root, "add", "-Af");
  return describe(root, names);
}

/** What git tracks of a work tree. @throws Error where git fails */
export function treeAt(root: string): Copy {
  const names = git(root, "ls-files", "-z").split("\0");
  return describe(
    root,
    names.filter((name) => name && isFile(join(root, name))),
  );
}

function describe(root: string, names: readonly string[]): Copy {
  const size = (name: string) => lstatSync(join(root, name)).size;
  const source = names.filter((name) => SOURCE.test(name)).sort((a, b) => size(a) - size(b));
  const edited = source[source.length >> 1] ?? names[0];
  if (edited === undefined) throw new Error(`${root} has no files`);
  const bytes = names.reduce((sum, name) => sum + size(name), 0);
  return { root, files: names.length, bytes, edited: join(root, edited) };
}

const isFile = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** Runs git. @throws Error where it fails */
export function git(cwd: string, ...args: string[]): string {
  const run = Bun.spawnSync(["git", ...args], { cwd, stdin: "ignore" });
  if (!run.success) throw new Error(`git ${args[0]} failed in ${cwd}: ${run.stderr.toString().trim()}`);
  return run.stdout.toString();
}
