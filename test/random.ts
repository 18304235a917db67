/** Deterministic numbers in [0, 1) (mulberry32). A failing test prints the seed it was given. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** `n` random unit vectors of dimension `dim`, row by row. */
export function unitVectors(n: number, dim: number, next: () => number): Float32Array {
  const out = new Float32Array(n * dim);
  for (let row = 0; row < n; row++) {
    let norm = 0;
    for (let i = 0; i < dim; i++) {
      const x = next() * 2 - 1;
      out[row * dim + i] = x;
      norm += x * x;
    }
    for (let i = 0; i < dim; i++) out[row * dim + i]! /= Math.sqrt(norm);
  }
  return out;
}
