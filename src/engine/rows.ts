/** What callers give as rows, in the form the store takes. */
import { isOneRow, toIds } from "../checks/accepted.ts";
import { kindOf } from "../checks/kinds.ts";
import { ArgumentTypeError, ValueError } from "../errors.ts";
import type { Rows } from "../store/pack.ts";
import { DEFAULT_PARTITION, idsOrNew, partitioned } from "../texts/put.ts";
import type { Id, RowOptions, Vector, Vectors } from "./api.ts";

/** One vector as floats. @throws ValueError for a wrong length, NaN or an infinity; TypeError for what is no vector */
export function toVector(vector: Vector, dim: number, name: string): Float32Array {
  if (!(vector instanceof Float32Array) && !Array.isArray(vector)) {
    throw new ArgumentTypeError(`${name} must be a Float32Array or an array of numbers, got ${kindOf(vector)}`);
  }
  if (vector.length !== dim) {
    throw new ValueError(`${name} has ${vector.length} numbers; the collection's dimension is ${dim}`);
  }
  // Whether floats are finite is checked by the native side, which reads them anyway.
  if (vector instanceof Float32Array) return vector;
  const floats = Float32Array.from(vector);
  for (let i = 0; i < dim; i++) {
    const given = vector[i];
    if (typeof given !== "number") {
      throw new ArgumentTypeError(`${name}[${i}] must be a number, got ${kindOf(given)}`);
    }
    if (!Number.isFinite(floats[i]))
      throw new ValueError(`${name}[${i}] is ${given}; a vector holds numbers that are finite in single precision`);
  }
  return floats;
}

/** A question's vector, which may come as a matrix of one row. @throws what `toVector` throws */
export function toQuery(vector: Vector | readonly [Vector], dim: number): Float32Array {
  return isOneRow(vector) ? toVector(vector[0], dim, "vector[0]") : toVector(vector as Vector, dim, "vector");
}

/** Vectors as one matrix. @throws ValueError for a row of another length; TypeError for what is no matrix */
export function toMatrix(vectors: Vectors, dim: number): Float32Array {
  if (vectors instanceof Float32Array) {
    if (vectors.length % dim === 0) return vectors;
    throw new ValueError(`vectors hold ${vectors.length} numbers, which is no multiple of the dimension ${dim}`);
  }
  if (!Array.isArray(vectors)) {
    throw new ArgumentTypeError(`vectors must be a Float32Array or an array of vectors, got ${kindOf(vectors)}`);
  }
  const matrix = new Float32Array(vectors.length * dim);
  // By index: forEach passes over the holes of a sparse array, which would become zero vectors.
  for (let i = 0; i < vectors.length; i++) matrix.set(toVector(vectors[i]!, dim, `vectors[${i}]`), i * dim);
  return matrix;
}

/** Rows around a matrix: ids where none were given, the partition key where metadata lacks it. */
export function toRows(vectors: Float32Array, count: number, keyName: string, options: RowOptions): Rows {
  const ids = options.ids ? toIdList(options.ids) : undefined;
  const metadata = options.metadata ?? undefined;
  checkCount("ids", ids, count);
  checkCount("metadata", metadata, count);
  metadata?.forEach(checkMetadata);
  return {
    ids: idsOrNew(ids, count),
    vectors,
    metadata: Array.from({ length: count }, (_, i) => partitioned(metadata?.[i], keyName)),
    defaultPartition: DEFAULT_PARTITION,
  };
}

/** Ids as strings. @throws TypeError for what is no array of ids; ValueError for an integer that has lost digits */
export function toIdList(list: readonly Id[]): readonly string[] {
  if (!Array.isArray(list)) throw new ArgumentTypeError(`ids must be an array of strings, got ${kindOf(list)}`);
  return toIds(list, (at) => `ids[${at}]`);
}

/** @throws TypeError for what is no array of strings */
export function checkStrings(name: string, list: readonly string[]): void {
  if (!Array.isArray(list)) throw new ArgumentTypeError(`${name} must be an array of strings, got ${kindOf(list)}`);
  // By index: forEach passes over the holes of a sparse array.
  for (let i = 0; i < list.length; i++) {
    const item: unknown = list[i];
    if (typeof item !== "string") throw new ArgumentTypeError(`${name}[${i}] must be a string, got ${kindOf(item)}`);
  }
}

/** @throws TypeError for what is no string */
export function checkString(name: string, value: string): void {
  if (typeof value !== "string") throw new ArgumentTypeError(`${name} must be a string, got ${kindOf(value)}`);
}

// ---------------------------------------------------------------------------------------------------------------------

function checkCount(name: string, list: readonly unknown[] | undefined, count: number): void {
  if (list === undefined) return;
  if (!Array.isArray(list)) throw new ArgumentTypeError(`${name} must be an array with one entry for each row`);
  if (list.length !== count) {
    throw new ValueError(`${name} has ${list.length} entries for ${count} rows: give one for each row`);
  }
}

function checkMetadata(metadata: unknown, at: number): void {
  if (metadata === null || metadata === undefined) return;
  if (typeof metadata !== "object" || Array.isArray(metadata)) {
    throw new ArgumentTypeError(`metadata[${at}] must be an object or null, got ${kindOf(metadata)}`);
  }
}
