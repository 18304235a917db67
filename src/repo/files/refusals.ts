/** Directories that are never indexed, even if named. */
import { realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { Env } from "../../paths.ts";
import { pseudoFileSystem } from "./pseudo.ts";
import { isTopLevel } from "./top-level.ts";

/** Why a directory is refused, as the rest of a sentence about it, and what to do instead. */
export interface Refusal {
  reason: string;
  remedy: string;
}

const ONE_PROJECT = "name the folder of one project";

/**
 * @param named the directory as its caller wrote it, which may be a link
 * @param folder the same, resolved
 * @param own folders of this program's own state
 * @returns undefined where the directory may be indexed
 */
export function refusalOf(named: string, folder: string, env: Env, own: readonly string[]): Refusal | undefined {
  const tooLarge = tooLargeReason(folder, env);
  if (tooLarge) return { reason: tooLarge, remedy: ONE_PROJECT };
  if (own.some((state) => isBelow(resolve(state), resolve(named)) || isBelow(realPath(state), folder))) {
    return { reason: "lies in the folder of svc's own state, which is not indexed", remedy: ONE_PROJECT };
  }
  const database = gitDatabaseAround(folder);
  if (database) {
    const inside = database === folder ? "is" : "lies in";
    const kind = basename(database) === ".git" ? "a .git folder" : "a bare repository";
    return { reason: `${inside} ${kind}, which holds no source files`, remedy: "name the work tree of the repository" };
  }
  const pseudo = pseudoFileSystem(folder);
  if (!pseudo) return undefined;
  return {
    reason: `lies on a file system of the kernel (${pseudo}), which holds no files`,
    remedy: ONE_PROJECT,
  };
}

/** Why a resolved directory is too large to be one project; undefined where it is not. */
export function tooLargeReason(folder: string, env: Env): string | undefined {
  if (folder === dirname(folder)) return "is the root of the file system, which is not indexed";
  const homes = [homedir(), env.HOME].filter((home) => home);
  if (!homes.some((home) => realPath(home!) === folder)) return undefined;
  return "is the home directory, which is not indexed as a whole";
}

/** Whether a path is a folder, or lies below it; both as they are written. */
export function isBelow(folder: string, path: string): boolean {
  const inside = relative(folder, path);
  return inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

/** Whether a path lies in one of the folders, or is one, with the links of both resolved. */
export function isBelowAny(folders: readonly string[], path: string): boolean {
  const real = realPath(path);
  return folders.some((folder) => isBelow(realPath(folder), real));
}

/**
 * The `.git` folder or bare repository that a directory is or lies in. The nearest of work tree and database counts:
 * work trees may lie inside a bare repository.
 */
function gitDatabaseAround(folder: string): string | undefined {
  for (let at = folder; !isTopLevel(at); at = dirname(at)) {
    if (basename(at) === ".git" || isGitDatabase(at)) return at;
    if (at === dirname(at)) return undefined;
  }
  return undefined;
}

/** By what git itself looks for. */
function isGitDatabase(folder: string): boolean {
  const isThere = (name: string) => statSync(join(folder, name), { throwIfNoEntry: false });
  try {
    return isThere("HEAD")?.isFile() === true && ["objects", "refs"].every((name) => isThere(name)?.isDirectory());
  } catch {
    return false;
  }
}

/** A path without links; of one that is not there yet, the part that is. */
export function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const parent = dirname(resolve(path));
    return parent === resolve(path) ? parent : join(realPath(parent), basename(path));
  }
}
