/**
 * Vectors on the wire: lists of numbers, or `{"f32": "<base64>"}` of little-endian single precision, for a matrix with
 * its shape.
 */
import { isObject, wrongType } from "../../checks/kinds.ts";
import { unpackFloats } from "../../checks/packed-vectors.ts";
import * as checks from "../../checks/vectors.ts";
import { ArgumentTypeError, ValueError } from "../../errors.ts";

/** One vector of any length, in either form, or a matrix of one row, which stands for it. */
export function readVector(value: unknown, name: string): Float32Array {
  const row = checks.isOneRow(value) ? value[0] : value;
  return isObject(row) ? unpackRow(row, name) : checks.readVector(value, name);
}

/**
 * A matrix row by row, from a list of vectors in either form or one packed matrix.
 * @param dim numbers in a row; every row must have as many
 */
export function readMatrix(value: unknown, dim: number, name: string): checks.Matrix {
  if (!isObject(value)) {
    const isMixed = Array.isArray(value) && value.some(isObject);
    const rows = isMixed ? value.map((row, i) => (isObject(row) ? unpackRow(row, `${name}[${i}]`) : row)) : value;
    return checks.readMatrix(rows, name, dim);
  }
  const { f32, shape } = readPacked(value, name);
  const floats = unpackFloats(f32, name);
  if (shape) {
    const [rows, columns] = shape;
    if (rows * columns !== floats.length) {
      throw new ValueError(`${name} holds ${floats.length} numbers and its shape says ${rows} x ${columns}`);
    }
    if (rows > 0) checks.checkDim(columns, `${name}[0]`, dim);
  }
  return checks.readMatrix(floats, name, dim);
}

/** One vector in base64. */
function unpackRow(value: Record<string, unknown>, name: string): Float32Array {
  const { f32, shape } = readPacked(value, name);
  const floats = unpackFloats(f32, name);
  if (shape && (shape[0] !== 1 || shape[1] !== floats.length)) {
    throw new ValueError(
      `${name} holds ${floats.length} numbers and has the shape [${shape.join(", ")}]; ` +
        `one vector is of the shape [1, ${floats.length}]`,
    );
  }
  return floats;
}

/** The fields of a vector or matrix in base64; the shape is rows and dimension. */
function readPacked(
  { f32, shape }: Record<string, unknown>,
  name: string,
): { f32: string; shape?: [rows: number, dim: number] } {
  if (typeof f32 !== "string") throw wrongType(`${name}.f32`, "a string of base64", f32);
  if (shape === undefined || shape === null) return { f32 };
  const whole = (n: unknown): n is number => typeof n === "number" && Number.isSafeInteger(n) && n >= 0;
  if (!Array.isArray(shape) || shape.length !== 2 || !whole(shape[0]) || !whole(shape[1])) {
    throw new ArgumentTypeError(`${name}.shape must be [rows, dim]`);
  }
  return { f32, shape: [shape[0], shape[1]] };
}
