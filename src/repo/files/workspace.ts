/** The directory of a call: the one that is named, or the git work tree around the working directory. */
import { realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { shown } from "../../checks/kinds.ts";
import { ValueError } from "../../errors.ts";
import type { Env } from "../../paths.ts";
import { repoIdOf } from "../chunks/identity.ts";
import { refusalOf, tooLargeReason } from "./refusals.ts";
import { ignoresWhole } from "./root-tree.ts";
import { workTreeOf } from "./top-level.ts";

/** A repository, or a folder of one. */
export interface Workspace {
  /** Resolved: no links in it, so that two names of one directory are one repository. */
  root: string;
  repoId: string;
  /** The folder that is meant, relative to the root; absent: all of it. */
  below?: string;
}

/** What tells which directories may be indexed. */
export interface WorkspaceOptions {
  env?: Env;
  /** Folders of this program's own state: nothing in them is indexed. */
  neverIndexed?: readonly string[];
}

/**
 * Resolves the directory that a caller names. A folder of a git work tree belongs to that repository.
 * @param called what the caller calls it, for the error
 * @throws ValueError quoting the name if there is no such directory, or if it is one that is never indexed
 */
export async function resolveWorkspace(
  path: string,
  options: WorkspaceOptions = {},
  called = "workspace",
): Promise<Workspace> {
  const { env = process.env, neverIndexed = [] } = options;
  const quoted = `${called} ${shown(path)}`;
  let folder: string;
  try {
    folder = realpathSync.native(resolve(path));
  } catch {
    throw new ValueError(`${quoted} does not exist or cannot be read`);
  }
  if (!statSync(folder).isDirectory()) throw new ValueError(`${quoted} is not a directory`);
  const refusal = refusalOf(path, folder, env, neverIndexed);
  if (refusal) throw new ValueError(`${quoted} ${refusal.reason}: ${refusal.remedy}`);
  const top = workTreeOf(folder);
  // Files of a whole home directory under git do not make a project of it; its folders may be projects.
  if (top === undefined || top === folder || tooLargeReason(top, env)) return whole(folder);
  const below = folder.slice(top.length + 1);
  return ignoresWhole(top, below, env) ? whole(folder) : { ...whole(top), below };
}

/**
 * The git work tree that holds the working directory. Clients start servers anywhere, in `/` for example: other
 * directories are indexed only if named.
 * @throws ValueError if there is none, or if it is one that is never indexed
 */
export function workspaceHere({ env = process.env, neverIndexed = [] }: WorkspaceOptions = {}): Workspace {
  const here = workingDirectory();
  if (here === undefined) throw new ValueError("the working directory is gone");
  const root = workTreeOf(here);
  if (root === undefined) throw new ValueError(`the working directory ${shown(here)} lies in no git work tree`);
  const refusal = refusalOf(root, root, env, neverIndexed);
  if (refusal) throw new ValueError(`the git work tree ${shown(root)} of the working directory ${refusal.reason}`);
  return whole(root);
}

function whole(root: string): Workspace {
  return { root, repoId: repoIdOf(root) };
}

function workingDirectory(): string | undefined {
  try {
    return realpathSync.native(process.cwd());
  } catch {
    return undefined;
  }
}
