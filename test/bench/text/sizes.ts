/** Bytes on disk. */
import { closeSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";

/** Sections of a base that hold the rows' terms: see ffi/ty_runtime/FORMAT.md. */
const TERMS = [13, 14];
const HEADER = 64;
const ENTRY = 32;

/** Bytes of all files below a folder. */
export function bytesBelow(dir: string): number {
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

/** Bytes of a collection's folder for search by words: the index, and the rows' terms that it is built from. */
export function lexicalBytes(dir: string): { index: number; terms: number } {
  const files = readdirSync(dir).filter((name) => name.endsWith(".slab"));
  const of = (kind: string) => files.filter((name) => name.startsWith(kind)).map((name) => join(dir, name));
  const sum = (numbers: number[]) => numbers.reduce((total, bytes) => total + bytes, 0);
  return {
    index: sum(of("lexical-").map((path) => statSync(path).size)),
    terms: sum(of("base-").flatMap((path) => TERMS.map((id) => sectionBytes(path, id)))),
  };
}

/** Bytes of a slab's section; 0 where it has none. */
function sectionBytes(path: string, id: number): number {
  const file = openSync(path, "r");
  try {
    const header = Buffer.alloc(HEADER);
    readSync(file, header, 0, HEADER, 0);
    const table = Buffer.alloc(header.readUInt32LE(16) * ENTRY);
    readSync(file, table, 0, table.length, HEADER);
    for (let at = 0; at < table.length; at += ENTRY) {
      if (table.readUInt32LE(at) === id) return Number(table.readBigUInt64LE(at + 16));
    }
    return 0;
  } finally {
    closeSync(file);
  }
}
