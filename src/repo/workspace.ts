/** The directory of a call: the one that is named, or the git work tree around the working directory. */
import { lstatSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { shown } from "../checks/kinds.ts";
import { ValueError } from "../errors.ts";
import type { Env } from "../paths.ts";
import { repoIdOf } from "./identity.ts";
import { pseudoFileSystem } from "./pseudo.ts";

/** A root, resolved: no links in it, so that two names of one directory are one repository. */
export interface Workspace {
  root: string;
  repoId: string;
}

/**
 * Resolves the directory that a caller names.
 * @throws ValueError quoting the name if there is no such directory, or if it is one that is never indexed
 */
export function resolveWorkspace(path: string, env: Env = process.env): Workspace {
  let root: string;
  try {
    root = realpathSync.native(resolve(path));
  } catch {
    throw new ValueError(`workspace ${shown(path)} does not exist or cannot be read`);
  }
  if (!statSync(root).isDirectory()) throw new ValueError(`workspace ${shown(path)} is not a directory`);
  const reason = refusal(root, env);
  if (reason) throw new ValueError(`workspace ${shown(path)} ${reason}: name the folder of one project`);
  return { root, repoId: repoIdOf(root) };
}

/**
 * The git work tree that holds the working directory. Clients start servers anywhere, in `/` for example: other
 * directories are indexed only if named.
 * @param remedy the caller's alternative, for the error
 * @throws ValueError if there is none, or if it is one that is never indexed
 */
export function workspaceHere(remedy: string, env: Env = process.env): Workspace {
  const here = workingDirectory();
  if (here === undefined) throw new ValueError(`the working directory is gone: ${remedy}`);
  const root = workTreeOf(here);
  if (root === undefined) {
    throw new ValueError(`the working directory ${shown(here)} lies in no git work tree: ${remedy}`);
  }
  const reason = refusal(root, env);
  if (reason) throw new ValueError(`the git work tree ${shown(root)} of the working directory ${reason}: ${remedy}`);
  return { root, repoId: repoIdOf(root) };
}

/** The top level of the git work tree that holds a resolved directory. Works without an installed git. */
export function workTreeOf(directory: string): string | undefined {
  for (let at = directory; ; at = dirname(at)) {
    if (isTopLevel(at)) return at;
    if (at === dirname(at)) return undefined;
  }
}

/** `.git` is a folder, valid for git if it has a HEAD; in linked work trees and submodules it is a file. */
function isTopLevel(directory: string): boolean {
  const marker = join(directory, ".git");
  try {
    const stat = statSync(marker, { throwIfNoEntry: false });
    if (!stat?.isDirectory()) return stat?.isFile() ?? false;
    return lstatSync(join(marker, "HEAD"), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** Why a resolved directory is never a root, even if named; undefined where it may be one. */
function refusal(root: string, env: Env): string | undefined {
  if (root === dirname(root)) return "is the root of the file system, which is not indexed";
  if ([homedir(), env.HOME].some((home) => home && resolved(home) === root)) {
    return "is the home directory, which is not indexed as a whole";
  }
  const pseudo = pseudoFileSystem(root);
  return pseudo && `lies on a file system of the kernel's own (${pseudo}), which holds no files`;
}

function resolved(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

function workingDirectory(): string | undefined {
  try {
    return realpathSync.native(process.cwd());
  } catch {
    return undefined;
  }
}
