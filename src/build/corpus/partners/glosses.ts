/**
 * Vectors of terms from the texts they occur in together: positive pointwise mutual information (Church and Hanks,
 * 1990), reduced by a randomised singular value decomposition (Halko, Martinsson and Tropp, 2011).
 */

/** A term in fewer texts has too few neighbours to be placed by them. */
const TEXTS_MIN = 4;
/** Terms in a larger share of the texts say nothing of their neighbours. */
const SHARE_MAX = 0.05;
/** Counts of contexts to this power, so that rare contexts do not have the highest information (Levy et al., 2015). */
const SMOOTHING = 0.75;
const SEED = 20_240_117;

/** Rows of unit length, `dim` floats a term. */
export interface Vectors {
  dim: number;
  terms: Map<string, number>;
  rows: Float64Array;
}

/** Rows of a sparse symmetric matrix. */
interface Sparse {
  starts: Uint32Array;
  columns: Uint32Array;
  values: Float64Array;
}

/** @param texts the terms of each text. The same texts give the same vectors. */
export function vectorsOf(texts: readonly (readonly string[])[], dim: number): Vectors {
  const terms = vocabulary(texts);
  const matrix = information(texts, terms);
  const rows = leading(matrix, terms.size, dim);
  for (let i = 0; i < terms.size; i++) normalise(rows, i * dim, dim);
  return { dim, terms, rows };
}

/** The cosine of two terms; 0 where one is unknown. */
export function likeness({ dim, terms, rows }: Vectors, a: string, b: string): number {
  const one = terms.get(a);
  const two = terms.get(b);
  if (one === undefined || two === undefined) return 0;
  return dot(rows, one * dim, rows, two * dim, dim);
}

/** The terms of the largest cosine with `term` among those that are allowed, best first. */
export function nearest(vectors: Vectors, term: string, allowed: ReadonlySet<string>, most: number) {
  const { dim, terms, rows } = vectors;
  const own = terms.get(term);
  if (own === undefined) return [];
  const found: [term: string, cosine: number][] = [];
  for (const other of allowed) {
    const at = terms.get(other);
    if (at === undefined || at === own) continue;
    const cosine = dot(rows, own * dim, rows, at * dim, dim);
    if (found.length < most || cosine > (found.at(-1)?.[1] ?? 2)) {
      let place = found.length;
      while (place > 0 && found[place - 1]![1] < cosine) place--;
      found.splice(place, 0, [other, cosine]);
      if (found.length > most) found.pop();
    }
  }
  return found;
}

function vocabulary(texts: readonly (readonly string[])[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) for (const term of new Set(text)) counts.set(term, (counts.get(term) ?? 0) + 1);
  const kept = [...counts].filter(([, n]) => n >= TEXTS_MIN && n <= SHARE_MAX * texts.length);
  return new Map(
    kept
      .map(([term]) => term)
      .sort()
      .map((term, i) => [term, i]),
  );
}

function information(texts: readonly (readonly string[])[], terms: Map<string, number>): Sparse {
  const together = new Map<number, number>();
  const size = terms.size;
  for (const text of texts) {
    const known = [...new Set(text)].map((term) => terms.get(term)).filter((at) => at !== undefined);
    // A long text brings many pairs, of which each says less.
    const share = 1 / Math.max(1, known.length - 1);
    for (const a of known)
      for (const b of known) {
        if (a !== b) together.set(a * size + b, (together.get(a * size + b) ?? 0) + share);
      }
  }
  const sums = new Float64Array(size);
  let total = 0;
  for (const [key, n] of together) {
    sums[Math.floor(key / size)]! += n;
    total += n;
  }
  const smooth = sums.map((n) => n ** SMOOTHING);
  const all = smooth.reduce((sum, n) => sum + n, 0);
  const keys = Float64Array.from(together.keys()).sort();
  const starts = new Uint32Array(size + 1);
  const columns: number[] = [];
  const values: number[] = [];
  for (const key of keys) {
    const a = Math.floor(key / size);
    const b = key % size;
    const joint = together.get(key)! / total;
    const value = Math.log(joint / ((sums[a]! / total) * (smooth[b]! / all)));
    if (value > 0) {
      columns.push(b);
      values.push(value);
      starts[a + 1]!++;
    }
  }
  for (let i = 0; i < size; i++) starts[i + 1]! += starts[i]!;
  return { starts, columns: Uint32Array.from(columns), values: Float64Array.from(values) };
}

/**
 * The leading left singular vectors, each times the root of its singular value: the range of M (M^T M)^2 times a random
 * matrix, in which M is decomposed exactly.
 */
function leading(matrix: Sparse, size: number, dim: number): Float64Array {
  const width = dim + 10;
  let basis: Float64Array = new Float64Array(size * width);
  const random = generator(SEED);
  for (let i = 0; i < basis.length; i++) basis[i] = random() - 0.5;
  for (let power = 0; power < 2; power++) {
    basis = orthonormal(times(matrix, basis, size, width), size, width);
    basis = orthonormal(transposed(matrix, basis, size, width), size, width);
  }
  basis = orthonormal(times(matrix, basis, size, width), size, width);
  // B = Q^T M is wide; B B^T is width x width, its eigenvectors turn Q into singular vectors.
  const wide = transposed(matrix, basis, size, width);
  const gram = new Float64Array(width * width);
  for (let r = 0; r < size; r++) {
    for (let i = 0; i < width; i++) {
      const x = wide[r * width + i]!;
      for (let j = i; j < width; j++) gram[i * width + j]! += x * wide[r * width + j]!;
    }
  }
  for (let i = 0; i < width; i++) for (let j = 0; j < i; j++) gram[i * width + j] = gram[j * width + i]!;
  const { values, vectors } = eigen(gram, width);
  const order = [...values.keys()].sort((a, b) => values[b]! - values[a]!).slice(0, dim);
  const out = new Float64Array(size * dim);
  for (const [at, column] of order.entries()) {
    const scale = Math.max(0, values[column]!) ** 0.25; // the root of a singular value, itself the root of these
    for (let r = 0; r < size; r++) {
      let sum = 0;
      for (let i = 0; i < width; i++) sum += basis[r * width + i]! * vectors[i * width + column]!;
      out[r * dim + at] = sum * scale;
    }
  }
  return out;
}

function times({ starts, columns, values }: Sparse, x: Float64Array, size: number, width: number) {
  const out = new Float64Array(size * width);
  for (let r = 0; r < size; r++) {
    for (let e = starts[r]!; e < starts[r + 1]!; e++) {
      const from = columns[e]! * width;
      const value = values[e]!;
      for (let i = 0; i < width; i++) out[r * width + i]! += value * x[from + i]!;
    }
  }
  return out;
}

function transposed({ starts, columns, values }: Sparse, x: Float64Array, size: number, width: number) {
  const out = new Float64Array(size * width);
  for (let r = 0; r < size; r++) {
    for (let e = starts[r]!; e < starts[r + 1]!; e++) {
      const to = columns[e]! * width;
      const value = values[e]!;
      for (let i = 0; i < width; i++) out[to + i]! += value * x[r * width + i]!;
    }
  }
  return out;
}

/** Columns by Gram and Schmidt, twice, for what rounding leaves the first time. */
function orthonormal(x: Float64Array, size: number, width: number): Float64Array {
  const columns = Array.from({ length: width }, (_, c) =>
    Float64Array.from({ length: size }, (_, r) => x[r * width + c]!),
  );
  for (const [c, column] of columns.entries()) {
    for (let pass = 0; pass < 2; pass++) {
      for (let b = 0; b < c; b++) {
        const before = columns[b]!;
        const along = dot(column, 0, before, 0, size);
        for (let r = 0; r < size; r++) column[r]! -= along * before[r]!;
      }
    }
    normalise(column, 0, size);
  }
  for (let r = 0; r < size; r++) for (let c = 0; c < width; c++) x[r * width + c] = columns[c]![r]!;
  return x;
}

/** Eigenvalues and eigenvectors (columns) of a symmetric matrix, by Jacobi's rotations. */
function eigen(matrix: Float64Array, n: number) {
  const a = matrix.slice();
  const v = new Float64Array(n * n);
  for (let i = 0; i < n; i++) v[i * n + i] = 1;
  for (let sweep = 0; sweep < 12; sweep++) {
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        const off = a[p * n + q]!;
        if (Math.abs(off) < 1e-12) continue;
        const theta = (a[q * n + q]! - a[p * n + p]!) / (2 * off);
        const t = Math.sign(theta || 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
        const c = 1 / Math.sqrt(t * t + 1);
        const s = t * c;
        turn(a, n, p, q, n, c, s);
        turn(a, n, p * n, q * n, 1, c, s);
        turn(v, n, p, q, n, c, s);
      }
    }
  }
  return { values: Float64Array.from({ length: n }, (_, i) => a[i * n + i]!), vectors: v };
}

/** Turns two lines of n numbers, `step` apart, that begin at p and q. */
function turn(x: Float64Array, n: number, p: number, q: number, step: number, c: number, s: number): void {
  for (let i = 0; i < n; i++) {
    const left = x[p + i * step]!;
    const right = x[q + i * step]!;
    x[p + i * step] = c * left - s * right;
    x[q + i * step] = s * left + c * right;
  }
}

function dot(x: Float64Array, from: number, y: Float64Array, to: number, n: number): number {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += x[from + i]! * y[to + i]!;
  return sum;
}

function normalise(x: Float64Array, from: number, n: number): void {
  const length = Math.sqrt(dot(x, from, x, from, n));
  if (length > 0) for (let i = 0; i < n; i++) x[from + i]! /= length;
}

/** Numbers in [0, 1): mulberry32. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
