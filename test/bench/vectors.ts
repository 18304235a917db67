/** Vectors from a fixed seed. */
import { random } from "../random.ts";

/** `count` random unit vectors of `dim` numbers, row by row. */
export function unitVectors(count: number, dim: number, seed: number): Float32Array {
  const next = random(seed);
  const out = new Float32Array(count * dim);
  for (let row = 0; row < count; row++) {
    const vector = out.subarray(row * dim, (row + 1) * dim);
    let norm = 0;
    for (let i = 0; i < dim; i++) {
      vector[i] = next() * 2 - 1;
      norm += vector[i]! ** 2;
    }
    for (let i = 0; i < dim; i++) vector[i]! /= Math.sqrt(norm);
  }
  return out;
}
