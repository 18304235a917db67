/**
 * Makes projection.bin: the directions in which the encodings of common words differ most.
 *
 *   bun src/build/corpus/meaning/projection.ts FOLDER     where the package is installed (README.md)
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openPackage } from "./package.ts";

const WIDTH = 512;
const DIM = 128;
const BATCH = 100;
const CODE_MAX = 127;
const BUILD = join(import.meta.dir, "../..");

const lines = readFileSync(join(BUILD, "tables/meanings.tsv"), "utf8").split("\n").filter(Boolean);
const words = [...new Set(lines.map((line) => line.split("\t")[1]!))];
const encoder = await openPackage(process.argv[2]!);
const gram = Array.from({ length: WIDTH }, () => new Float64Array(WIDTH));
for (let at = 0; at < words.length; at += BATCH) {
  for (const row of await encoder.encode(words.slice(at, at + BATCH).map((word) => encoder.ids(word)))) {
    for (let i = 0; i < WIDTH; i++) for (let j = 0; j < WIDTH; j++) gram[i]![j]! += row[i]! * row[j]!;
  }
}
const { values, vectors } = eigen(gram);
const order = [...values.keys()].sort((a, b) => values[b]! - values[a]!).slice(0, DIM);
const codes = order.flatMap((column) => {
  const direction = vectors.map((row) => row[column]!);
  const most = Math.max(...direction.map(Math.abs));
  return direction.map((value) => Math.round((value / most) * CODE_MAX));
});
writeFileSync(join(BUILD, "meaning/projection.bin"), Int8Array.from(codes));
const all = values.reduce((sum, value) => sum + value, 0);
const part = order.reduce((sum, column) => sum + values[column]!, 0) / all;
console.log(`${words.length} words, ${(100 * part).toFixed(2)} % of their squared lengths`);

/** Eigenvalues and, as columns, eigenvectors of a symmetric matrix, which is overwritten: Jacobi's method. */
function eigen(matrix: Float64Array[]): { values: number[]; vectors: Float64Array[] } {
  const n = matrix.length;
  const vectors = matrix.map((_, i) => Float64Array.from({ length: n }, (_, j) => (i === j ? 1 : 0)));
  for (let sweep = 0; sweep < 12; sweep++) {
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        const off = matrix[p]![q]!;
        if (Math.abs(off) < 1e-12) continue;
        const theta = (matrix[q]![q]! - matrix[p]![p]!) / (2 * off);
        const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
        const c = 1 / Math.sqrt(t * t + 1);
        for (let k = 0; k < n; k++) rotate(matrix[k]!, p, q, c, c * t);
        const [a, b] = [matrix[p]!, matrix[q]!];
        for (let k = 0; k < n; k++) [a[k], b[k]] = [c * a[k]! - c * t * b[k]!, c * t * a[k]! + c * b[k]!];
        for (let k = 0; k < n; k++) rotate(vectors[k]!, p, q, c, c * t);
      }
    }
  }
  return { values: matrix.map((row, i) => row[i]!), vectors };
}

function rotate(row: Float64Array, p: number, q: number, c: number, s: number): void {
  const [a, b] = [row[p]!, row[q]!];
  row[p] = c * a - s * b;
  row[q] = s * a + c * b;
}
