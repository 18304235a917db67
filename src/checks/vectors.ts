/** Vectors and matrices, converted to single precision. */
import { ValueError } from "../errors.ts";
import { wrongType } from "./kinds.ts";

/** Rows of vectors, row by row in one array. */
export interface Matrix {
  floats: Float32Array;
  count: number;
}

/** Whether a value is a matrix of one row, `[[0.1, 0.2]]`, which stands for a vector. */
export function isOneRow(value: unknown): value is readonly [object] {
  return Array.isArray(value) && value.length === 1 && typeof value[0] === "object" && value[0] !== null;
}

/**
 * A query vector, which may be a matrix of one row. A `Float32Array` is not copied. Whether the numbers are finite is
 * checked by the native side, which reads them anyway.
 * @param dim how many numbers it must have, where that is known
 * @throws TypeError for what is not a vector; ValueError for another length
 */
export function readVector(value: unknown, name: string, dim?: number): Float32Array {
  const vector = listOf(isOneRow(value) ? value[0] : value, name);
  const floats = vector instanceof Float32Array ? vector : copyRow(vector, new Float32Array(vector.length), 0, name);
  checkDim(floats.length, name, dim);
  return floats;
}

/**
 * A matrix, from a row-major `Float32Array`, which is not copied, or from a list of vectors. Finiteness as above.
 * @param dim numbers in a row; where unknown, all rows must have as many as the first, and a flat one has `rows` rows
 * @throws TypeError for what is not a matrix; ValueError for a row of another length
 */
export function readMatrix(value: unknown, name: string, dim: number | undefined, rows = 1): Matrix {
  if (value instanceof Float32Array) return ofFlat(value, name, dim, rows);
  if (!Array.isArray(value)) throw wrongType(name, "an array of vectors", value);
  if (value.length === 0) return { floats: new Float32Array(0), count: 0 };
  const width = dim ?? listOf(value[0], `${name}[0]`).length;
  // All lengths first: a list of a million empty rows must not allocate. By index: a sparse array has holes.
  for (let row = 0; row < value.length; row++) {
    checkDim(listOf(value[row], `${name}[${row}]`).length, `${name}[${row}]`, width);
  }
  const floats = new Float32Array(value.length * width);
  for (let row = 0; row < value.length; row++) copyRow(value[row], floats, row * width, `${name}[${row}]`);
  return { floats, count: value.length };
}

/**
 * @param dim numbers in a row, where it is a matrix
 * @throws ValueError naming the first number that is not finite
 */
export function checkFinite(floats: Float32Array, name: string, dim?: number): void {
  // Times zero, a finite number is 0 and any other NaN: one sum, without branches, finds them.
  let probe = 0;
  for (let i = 0; i < floats.length; i++) probe += floats[i]! * 0;
  if (probe === 0) return;
  const at = floats.findIndex((number) => !Number.isFinite(number));
  const where = dim === undefined ? `[${at}]` : `[${Math.floor(at / dim)}][${at % dim}]`;
  throw new ValueError(
    `${name}${where} is NaN or infinite; a vector holds numbers that are finite in single precision`,
  );
}

function ofFlat(floats: Float32Array, name: string, dim: number | undefined, rows: number): Matrix {
  const count = floats.length === 0 ? 0 : dim === undefined ? rows : floats.length / dim;
  if (!Number.isInteger(count)) {
    throw new ValueError(`${name} holds ${floats.length} numbers, which is not a multiple of the dimension ${dim}`);
  }
  return { floats, count };
}

type List = Float32Array | readonly unknown[];

function listOf(value: unknown, name: string): List {
  if (value instanceof Float32Array || Array.isArray(value)) return value;
  throw wrongType(name, "an array of numbers", value);
}

/** @throws ValueError for a length that is not the dimension, where that is known */
export function checkDim(length: number, name: string, dim: number | undefined): void {
  if (dim === undefined || length === dim) return;
  throw new ValueError(`${name} has ${length} numbers; the dimension is ${dim}`);
}

function copyRow(vector: List, out: Float32Array, at: number, name: string): Float32Array {
  if (vector instanceof Float32Array) out.set(vector, at);
  else {
    for (let i = 0; i < vector.length; i++) {
      const number = vector[i];
      if (typeof number !== "number") throw wrongType(`${name}[${i}]`, "a number", number);
      out[at + i] = number;
    }
  }
  return out;
}
