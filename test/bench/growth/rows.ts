/** Rows of any number that cost little to make, since making them is measured too. */
import { random, unitVectors } from "../../random.ts";
import { makeTexts } from "../texts.ts";
import { gaussians, normalise } from "../vectors/data.ts";
import type { Kind } from "./options.ts";

/** Numbers of a vector. */
export const DIM = 384;
/** Vectors that all others are rotations of. */
const POOL = 15_000;
/** Copies of a vector, one after the other, and the length of their noise. */
const COPIES = 10;
const NOISE = 0.05;
/** Halves of notes, and their words. */
const HALVES = 20_000;
const HALF_WORDS = 16;
const SEED = 41;

/** Makes the texts or the vectors of rows. */
export type Source =
  | { texts(from: number, count: number): string[] }
  | { vectors(from: number, count: number): Float32Array };

export function sourceOf(kind: Kind): Source {
  if (kind === "notes") {
    const halves = makeTexts(HALVES, HALF_WORDS, SEED);
    const noteOf = (row: number) =>
      `${halves[row % HALVES]} ${halves[(row * 7919 + Math.floor(row / HALVES)) % HALVES]}`;
    return { texts: (from, count) => Array.from({ length: count }, (_, i) => noteOf(from + i)) };
  }
  const pool = kind === "vectors" ? unitVectors(POOL, DIM, random(SEED)) : nearCopies();
  return { vectors: (from, count) => rotated(pool, from, count) };
}

function nearCopies(): Float32Array {
  const centres = unitVectors(POOL / COPIES, DIM, random(SEED));
  const next = gaussians(SEED);
  const scale = NOISE / Math.sqrt(DIM);
  const copies = Float32Array.from({ length: POOL * DIM }, (_, at) => {
    const row = Math.floor(at / DIM / COPIES);
    return centres[row * DIM + (at % DIM)]! + scale * next();
  });
  return normalise(copies, DIM);
}

/** A vector that is not stored. */
export const questionVector = (i: number) => unitVectors(1, DIM, random(SEED + 1 + i));

/** Row by row of the pool, of each further time with its numbers moved by one, then with their signs changed as well. */
function rotated(pool: Float32Array, from: number, count: number): Float32Array {
  const out = new Float32Array(count * DIM);
  for (let i = 0; i < count; i++) {
    const at = ((from + i) % POOL) * DIM;
    const turn = Math.floor((from + i) / POOL);
    const shift = turn % DIM;
    out.set(pool.subarray(at + shift, at + DIM), i * DIM);
    out.set(pool.subarray(at, at + shift), (i + 1) * DIM - shift);
    if (Math.floor(turn / DIM) % 2 === 1) for (let x = i * DIM; x < (i + 1) * DIM; x++) out[x] = -out[x]!;
  }
  return out;
}
