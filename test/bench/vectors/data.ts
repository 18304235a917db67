/** Synthetic vectors: clustered, of unit length, the same for the same seed on every machine. */
import { random } from "../../random.ts";

/** The parameters of a synthetic data set. */
export interface Shape {
  rows: number;
  dim: number;
  /** Number of clusters; 0: rows without structure. */
  clusters: number;
  /** Length of a row's noise, beside its centre's length 1. */
  spread: number;
  seed: number;
}

/** Rows, and queries from the same mixture that are not among them. */
export interface Made {
  data: Float32Array;
  queries: Float32Array;
}

/** Normally distributed numbers (Marsaglia's polar method). */
export function gaussians(seed: number): () => number {
  const next = random(seed);
  let spare: number | undefined;
  return () => {
    if (spare !== undefined) {
      const kept = spare;
      spare = undefined;
      return kept;
    }
    for (;;) {
      const u = next() * 2 - 1;
      const v = next() * 2 - 1;
      const s = u * u + v * v;
      if (s >= 1 || s === 0) continue;
      const factor = Math.sqrt((-2 * Math.log(s)) / s);
      spare = v * factor;
      return u * factor;
    }
  };
}

/** Each row is a unit centre and `spread` of noise, scaled to unit length; the queries come from another seed. */
export function clustered(shape: Shape, queryCount: number): Made {
  const { rows, dim, clusters, seed } = shape;
  const centres = new Float32Array(clusters * dim);
  const next = gaussians(seed);
  for (let i = 0; i < centres.length; i++) centres[i] = next();
  normalise(centres, dim);
  return {
    data: around(centres, shape, rows, seed + 1),
    queries: around(centres, shape, queryCount, seed + 2),
  };
}

function around(centres: Float32Array, { dim, clusters, spread }: Shape, count: number, seed: number): Float32Array {
  const choose = random(seed);
  const next = gaussians(seed ^ 0x5bd1e995);
  const out = new Float32Array(count * dim);
  const scale = spread / Math.sqrt(dim);
  for (let row = 0; row < count; row++) {
    const centre = Math.floor(choose() * clusters) * dim;
    for (let i = 0; i < dim; i++) {
      out[row * dim + i] = clusters > 0 ? centres[centre + i]! + scale * next() : next();
    }
  }
  return normalise(out, dim);
}

/** Parameters of a set whose rows vary in few directions, as those of embedding models do. */
export interface BroadShape extends Shape {
  /** Directions, fewer than `dim`, in which the mixture of clusters lies. */
  latent: number;
  /** Length of the noise in all directions, beside the mixture's length of about 1. */
  noise: number;
}

/** A `clustered` mixture in `latent` dimensions, mapped linearly to `dim`, with noise, scaled to unit length. */
export function broad(shape: BroadShape, queryCount: number): Made {
  const { dim, latent, noise, seed } = shape;
  const { data, queries } = clustered({ ...shape, dim: latent }, queryCount);
  const next = gaussians(seed + 3);
  const map = normalise(Float32Array.from({ length: latent * dim }, next), dim);
  const mapped = (points: Float32Array) => {
    const out = Float32Array.from({ length: (points.length / latent) * dim }, () => (noise / Math.sqrt(dim)) * next());
    for (let row = 0; row * latent < points.length; row++) {
      for (let axis = 0; axis < latent; axis++) {
        const weight = points[row * latent + axis]!;
        for (let i = 0; i < dim; i++) out[row * dim + i]! += weight * map[axis * dim + i]!;
      }
    }
    return normalise(out, dim);
  };
  return { data: mapped(data), queries: mapped(queries) };
}

/** Scales each row to unit length in place, so that inner product, cosine and distance rank alike; a zero row stays. */
export function normalise(matrix: Float32Array, dim: number): Float32Array {
  for (let at = 0; at < matrix.length; at += dim) {
    let sum = 0;
    for (let i = at; i < at + dim; i++) sum += matrix[i]! ** 2;
    if (sum === 0) continue;
    const factor = 1 / Math.sqrt(sum);
    for (let i = at; i < at + dim; i++) matrix[i]! *= factor;
  }
  return matrix;
}

/** One value below `values` a row, scattered over the rows at random: what the filter columns hold. */
export function scattered(rows: number, values: number): Uint8Array {
  const next = random(values);
  return Uint8Array.from({ length: rows }, () => Math.floor(next() * values));
}
