/** Numbers from callers: the domain of each, once for schemas, checks and messages. */
import { ArgumentTypeError, ValueError } from "../errors.ts";
import { ANSWER_BYTES_MAX, ANSWER_BYTES_MIN, DIM_MAX, TOP_K_MAX } from "../limits.ts";
import { describe, optional } from "./kinds.ts";

/** Which numbers are allowed; integers are those that a double holds exactly, numbers are finite. */
export interface Domain {
  readonly integer?: true;
  readonly min?: number;
  /** Instead of `min`, where the bound itself is excluded. */
  readonly above?: number;
  readonly max?: number;
}

/** Numbers in a vector. */
export const DIM: Domain = { integer: true, min: 1, max: DIM_MAX };
/** Most hits of a search. */
export const TOP_K: Domain = { integer: true, min: 1, max: TOP_K_MAX };
/** A target recall. */
export const RECALL: Domain = { above: 0, max: 1 };
/**
 * The recall floor of an approximate index, and the rows from which a partition gets one, where the
 * caller names none: smaller partitions are scanned in well under a millisecond.
 */
export const RECALL_DEFAULT = 0.98;
export const IVF_MIN_ROWS_DEFAULT = 20_000;
/** BM25's saturation and its length normalisation. */
export const K1: Domain = { min: 0 };
export const B: Domain = { min: 0, max: 1 };
/** A count that may be none, and one that may not. */
export const COUNT: Domain = { integer: true, min: 0 };
export const POSITIVE: Domain = { integer: true, min: 1 };
/** A duration. */
export const SECONDS: Domain = { min: 0 };

/** @throws TypeError for no number, or a fraction where an integer is wanted; ValueError outside the domain */
export function readNumber(value: unknown, name: string, domain: Domain): number {
  const hasFraction = domain.integer === true && Number.isFinite(value) && !Number.isInteger(value);
  if (typeof value === "number" && !hasFraction && isWithin(value, domain)) return value;
  const Refusal = typeof value !== "number" || hasFraction ? ArgumentTypeError : ValueError;
  throw new Refusal(`${name} must be ${wordsOf(domain)}, got ${describe(value)}`);
}

/**
 * Most bytes of an answer; 0 for no bound.
 * @throws TypeError for no integer; ValueError for one that is neither 0 nor within the limits
 */
export function readMaxBytes(value: unknown, name: string): number {
  if (typeof value !== "number" || (Number.isFinite(value) && !Number.isInteger(value))) {
    throw new ArgumentTypeError(`${name} must be an integer, got ${describe(value)}`);
  }
  if (value === 0 || (value >= ANSWER_BYTES_MIN && value <= ANSWER_BYTES_MAX)) return value;
  throw new ValueError(
    `${name} must be from ${ANSWER_BYTES_MIN} to ${ANSWER_BYTES_MAX}, or 0 for no bound, got ${describe(value)}`,
  );
}

/** Hits of a search that names no number, over the SDK and the wire. The tools have a default of their own. */
export const TOP_K_DEFAULT_SDK = 10;

/**
 * The number of hits: TOP_K_DEFAULT_SDK by default, and the nearest bound for a number outside the bounds, infinities included.
 * @throws TypeError for what is not a number, or one with a fraction; ValueError for NaN
 */
export function clampTopK(value: unknown, name: string): number {
  if (value === undefined || value === null) return TOP_K_DEFAULT_SDK;
  const isWhole = Number.isInteger(value) || Math.abs(Number(value)) === Number.POSITIVE_INFINITY;
  const clamped = typeof value === "number" && isWhole ? Math.max(1, Math.min(value, TOP_K_MAX)) : value;
  return readNumber(clamped, name, TOP_K);
}

/** The target recall, if any. @throws TypeError for what is not a number; ValueError outside (0, 1] */
export function recallOf({ targetRecall }: { targetRecall?: number | undefined }): number | undefined {
  return optional(targetRecall, "targetRecall", (value, name) => readNumber(value, name, RECALL));
}

/** Refuses a number that JSON, or a reader of it, would change. @throws ValueError */
export function checkKept(value: number, name: string): void {
  if (!Number.isFinite(value)) throw new ValueError(`${name} is ${value}; JSON has no such number`);
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new ValueError(`${name} is ${value}, beyond 2^53, where integers lose digits: write it as a string`);
  }
}

function isWithin(value: number, { integer, min = Number.NEGATIVE_INFINITY, above, max }: Domain): boolean {
  if (above === undefined ? value < min : value <= above) return false;
  return integer ? Number.isSafeInteger(value) && value <= (max ?? value) : value <= (max ?? Number.MAX_VALUE);
}

function wordsOf({ integer, min, above, max }: Domain): string {
  const kind = integer ? "an integer" : "a number";
  if (above !== undefined) return `${kind} above ${above}${max === undefined ? "" : ` and at most ${max}`}`;
  return max === undefined ? `${kind} of at least ${min}` : `${kind} from ${min} to ${max}`;
}
