/** Rows of the collections that the tests of damage make, and where the sections of their files lie. */
import { readFileSync } from "node:fs";

export const DIM = 16;
export const ROWS = 100;
export const ids = Array.from({ length: ROWS }, (_, i) => `row ${i}`);
export const metadata = ids.map((_, i) => ({ scope: i % 3, kind: `kind ${i % 5}`, note: "x".repeat(i % 7) }));
export const texts = ids.map((id, i) => `the text of ${id} is about ${["ships", "trees", "stars"][i % 3]}`);

/** The sections of a file of rows, by its header. */
export function sectionsOf(path: string): { id: number; offset: number; bytes: number }[] {
  const slab = readFileSync(path);
  return Array.from({ length: slab.readUInt32LE(16) }, (_, i) => ({
    id: slab.readUInt32LE(64 + 32 * i),
    offset: Number(slab.readBigUInt64LE(72 + 32 * i)),
    bytes: Number(slab.readBigUInt64LE(80 + 32 * i)),
  }));
}
