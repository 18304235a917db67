/**
 * Who may change the files of a login: one process at a time, and never while a person is waited for.
 *
 * The temporary files of killed runs are removed by the next holder. Files of these names are written by holders only,
 * so that none of them is in use; but `clock`, which tool calls write without the lock: one that loses its temporary
 * file to a holder moves the mark at its next call.
 */
import { readdirSync, unlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { temporaryFor, withLock } from "../durable.ts";
import { accountPaths, authorityPaths } from "../paths.ts";
import { ensurePrivateDirectory, stagedFor } from "./files.ts";

/**
 * Runs `action` while holding the lock on the files of a login and of the local authority, without temporary files of
 * killed runs. Makes SVC_HOME where it is missing. Not reentrant: an action that takes the lock again waits for itself.
 *
 * @param action is called with the names of the temporary files that were removed
 * @throws PermissionError where others can write in SVC_HOME; TimeoutError where another process holds the lock for half
 *   a minute; OSError; and what `action` throws
 */
export async function withLoginLock<T>(home: string, action: (removed: string[]) => Promise<T> | T): Promise<T> {
  ensurePrivateDirectory(home, home);
  return lockLogin(home, action);
}

/** The same in a home that is there and that others may write in: where secrets are only removed. */
export async function lockLogin<T>(home: string, action: (removed: string[]) => Promise<T> | T): Promise<T> {
  return withLock(accountPaths(home).lock, () => action(removeTemporaryFiles(home)));
}

function removeTemporaryFiles(home: string): string[] {
  const account = Object.values(accountPaths(home));
  const { dir, ...authority } = authorityPaths(home);
  return [...removeFrom(home, account), ...removeFrom(dir, Object.values(authority))];
}

/** Removes what was left of writing `files` in their folder. A file that cannot be removed harms no login. */
function removeFrom(folder: string, files: readonly string[]): string[] {
  const names = new Set(files.map((path) => basename(path)));
  const removed: string[] = [];
  for (const name of namesIn(folder)) {
    const final = temporaryFor(name) ?? stagedFor(name);
    if (final === undefined || !names.has(final)) continue;
    try {
      unlinkSync(join(folder, name));
      removed.push(name);
    } catch {
      // It belongs to another user, or is no file.
    }
  }
  return removed;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
