/** Bytes on disk. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** Bytes of all files below a folder. */
export function bytesBelow(dir: string): number {
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

/** Bytes of a collection's folder for search by words. */
export function lexicalBytes(dir: string): number {
  const names = readdirSync(dir).filter((name) => /^lexical-.*\.slab$/.test(name));
  return names.reduce((total, name) => total + statSync(join(dir, name)).size, 0);
}
