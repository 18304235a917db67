/** A staged install takes the place of the present one, and what killed installs left is removed. */
import { lstatSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { exchangePaths } from "../../../ffi/system/calls.ts";
import { diskError, syncDirectory } from "../../durable.ts";

/** Prefix of temporary names beside the install, which exist only while the lock is held. */
export const STAGING_PREFIX = ".staging-";
const ASIDE_SUFFIX = ".old";

/**
 * Moves a staged install into place, in one step where the file system can exchange two names; elsewhere the old
 * install is renamed first, and renamed back if the new one fails.
 *
 * @param exchange replaced in tests for the second way
 */
export function promote(
  staging: string,
  dir: string,
  exchange: (a: string, b: string) => boolean = exchangePaths,
): void {
  const parent = dirname(dir);
  try {
    if (lstatSync(dir, { throwIfNoEntry: false }) === undefined) {
      renameSync(staging, dir);
      syncDirectory(parent);
    } else if (exchange(staging, dir)) {
      try {
        syncDirectory(parent);
      } catch (error) {
        exchange(staging, dir);
        throw error;
      }
    } else {
      const aside = `${staging}${ASIDE_SUFFIX}`;
      renameSync(dir, aside);
      try {
        renameSync(staging, dir);
        syncDirectory(parent);
      } catch (error) {
        rmSync(dir, { recursive: true, force: true });
        renameSync(aside, dir);
        throw error;
      }
      discard(aside);
    }
  } catch (error) {
    throw diskError(error, "install", dir);
  }
}

/**
 * Removes the files of a killed install; the caller holds the lock, so that none is in use. An install that was renamed
 * and not yet replaced is renamed back.
 */
export function tidy(dir: string): void {
  for (const name of readdirSync(dirname(dir))) {
    if (!name.startsWith(STAGING_PREFIX)) continue;
    const path = join(dirname(dir), name);
    if (name.endsWith(ASIDE_SUFFIX) && !lstatSync(dir, { throwIfNoEntry: false })) renameSync(path, dir);
    else discard(path);
  }
}

/**
 * Removes a folder that is of no more use. What cannot be removed, as it holds a folder of root's or one that cannot be
 * read, is left to a later install: it must not stop this one, or the record of what it has put in its place.
 */
export function discard(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // Nothing reads it.
  }
}
