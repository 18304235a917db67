/** Temporary files that killed processes have left beside the files they were writing. */
import { readdirSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryFor } from "../../durable.ts";
import { attempt } from "../../errors.ts";
import { stagedFor } from "./files.ts";

/**
 * Removes what killed calls of `writeDurable` and `createOnce` left of writing these files. The caller holds the lock
 * under which they are written, so that none is in use. A temporary file that cannot be removed harms nothing.
 * @returns the names of the removed files
 */
export function removeLeftovers(paths: readonly string[]): string[] {
  const folders = [...new Set(paths.map((path) => dirname(path)))];
  return folders.flatMap((folder) =>
    (attempt(() => readdirSync(folder)) ?? []).filter((name) => {
      const file = temporaryFor(name) ?? stagedFor(name);
      return file !== undefined && paths.includes(join(folder, file)) && isRemoved(join(folder, name));
    }),
  );
}

function isRemoved(path: string): boolean {
  try {
    unlinkSync(path);
    return true;
  } catch {
    return false; // it belongs to another user, or is not a file
  }
}
