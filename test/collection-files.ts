/** Files of a collection's folder, for tests that damage them. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { damaged } from "./complete-check.ts";

/** The path of the first file whose name has a part, as "base-" or ".fingerprints". */
export function fileWith(folder: string, part: string): string {
  const name = readdirSync(folder).find((file) => file.includes(part));
  if (name === undefined) throw new Error(`${folder} has no file ${part}`);
  return join(folder, name);
}

/** Changes bytes of a file of a collection, which is not checked at the end of the test then. */
export function changeFile(path: string, change: (bytes: Buffer) => void): void {
  const bytes = readFileSync(path);
  change(bytes);
  writeFileSync(path, bytes);
  damaged(dirname(path));
}

/** Flips a bit of each of some bytes; a negative place counts from the end. */
export function flipBits(path: string, ...places: number[]): void {
  changeFile(path, (bytes) => {
    for (const at of places) bytes[at < 0 ? bytes.length + at : at]! ^= 1;
  });
}

/** The sections of a file of rows, by its header. */
export function sectionsOf(path: string): { id: number; offset: number; bytes: number }[] {
  const slab = readFileSync(path);
  return Array.from({ length: slab.readUInt32LE(16) }, (_, i) => ({
    id: slab.readUInt32LE(64 + 32 * i),
    offset: Number(slab.readBigUInt64LE(72 + 32 * i)),
    bytes: Number(slab.readBigUInt64LE(80 + 32 * i)),
  }));
}
