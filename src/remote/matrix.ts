/** Vectors as a program has them, made into single precision. */
import { isOneRow } from "../checks/accepted.ts";
import { kindOf } from "../checks/kinds.ts";
import type { Vector, Vectors } from "../engine/api.ts";
import { ArgumentTypeError, ValueError } from "../errors.ts";
import { DIM_MAX } from "../limits.ts";

/** Rows of vectors, row by row in one array. */
interface Matrix {
  floats: Float32Array;
  count: number;
}

/**
 * A question's vector, which may come as a matrix of one row. A `Float32Array` is taken as it is.
 * @throws TypeError (ArgumentTypeError), ValueError for what is not finite in single precision
 */
export function readQuery(vector: Vector | readonly [Vector]): Float32Array {
  return isOneRow(vector) ? readVector(vector[0], "vector[0]") : readVector(vector as Vector, "vector");
}

/**
 * A matrix from either form.
 * @param dim numbers in a row of a flat one, where known
 * @param rows how many rows a flat one has, where `dim` is not known
 */
export function readMatrix(vectors: Vectors, dim: number | undefined, rows: number | undefined): Matrix {
  if (!(vectors instanceof Float32Array)) return readList(vectors);
  const count = dim === undefined ? (rows ?? 0) : vectors.length / dim;
  if (!Number.isInteger(count)) {
    throw new ValueError(`vectors hold ${vectors.length} numbers, which is no multiple of the dimension ${dim}`);
  }
  if (vectors.length > 0 && (count === 0 || vectors.length % count !== 0)) {
    throw new ValueError(
      `vectors hold ${vectors.length} numbers, which cannot be ${count} rows: give one id for each row`,
    );
  }
  if (count > 0) checkDim(vectors.length / count, "vectors[0]");
  checkFinite(vectors, (at) => `vectors[${Math.floor((at * count) / vectors.length)}]`);
  return { floats: vectors, count };
}

// ---------------------------------------------------------------------------------------------------------------------

function readVector(vector: Vector, name: string): Float32Array {
  checkVector(vector, name);
  checkDim(vector.length, name);
  if (!(vector instanceof Float32Array)) return copyRow(vector, new Float32Array(vector.length), 0, name);
  checkFinite(vector, (at) => `${name}[${at}]`);
  return vector;
}

function readList(vectors: readonly Vector[]): Matrix {
  if (!Array.isArray(vectors)) {
    throw new ArgumentTypeError(`vectors must be a Float32Array or a list of vectors, got ${kindOf(vectors)}`);
  }
  const count = vectors.length;
  if (count === 0) return { floats: new Float32Array(0), count };
  checkVector(vectors[0], "vectors[0]");
  const dim = vectors[0]!.length;
  checkDim(dim, "vectors[0]");
  const floats = new Float32Array(count * dim);
  for (let row = 0; row < count; row++) {
    const vector = vectors[row]!;
    const name = `vectors[${row}]`;
    checkVector(vector, name);
    if (vector.length !== dim) {
      throw new ValueError(`${name} has ${vector.length} numbers and vectors[0] has ${dim}; all rows have one length`);
    }
    copyRow(vector, floats, row * dim, name);
  }
  return { floats, count };
}

function copyRow(vector: Vector, out: Float32Array, at: number, name: string): Float32Array {
  for (let i = 0; i < vector.length; i++) {
    const number = vector[i];
    if (typeof number !== "number")
      throw new ArgumentTypeError(`${name}[${i}] must be a number, got ${kindOf(number)}`);
    out[at + i] = number;
    if (!Number.isFinite(out[at + i]!)) throw notFinite(`${name}[${i}]`, number);
  }
  return out;
}

/** The product with zero is zero for a finite number and NaN for every other: one sum in a loop without branches tells. */
function checkFinite(floats: Float32Array, nameAt: (index: number) => string): void {
  let probe = 0;
  for (let i = 0; i < floats.length; i++) probe += floats[i]! * 0;
  if (probe === 0) return;
  const at = floats.findIndex((number) => !Number.isFinite(number));
  throw notFinite(nameAt(at), floats[at]!);
}

function checkVector(vector: unknown, name: string): void {
  if (vector instanceof Float32Array || Array.isArray(vector)) return;
  throw new ArgumentTypeError(`${name} must be a Float32Array or a list of numbers, got ${kindOf(vector)}`);
}

function checkDim(dim: number, name: string): void {
  if (dim >= 1 && dim <= DIM_MAX) return;
  throw new ValueError(`${name} has ${dim} numbers; a vector has 1 to ${DIM_MAX}`);
}

function notFinite(name: string, number: number): ValueError {
  return new ValueError(`${name} is ${number}, which single precision cannot hold`);
}
