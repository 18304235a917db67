/** Vectors as they travel: lists of numbers, or `{"f32": "<base64>"}` of little-endian single precision with, for a matrix, its shape. */
import { isOneRow } from "../checks/accepted.ts";
import { kindOf } from "../checks/kinds.ts";
import { ArgumentTypeError, ValueError } from "../errors.ts";

/** A vector or matrix in base64. */
export interface Packed {
  f32: string;
  /** Rows and dimension; for a matrix. */
  shape?: [number, number];
}

/**
 * One vector of any length, from either form, or a matrix of one row, which stands for it.
 * @param name how messages call it
 */
export function readVector(value: unknown, name: string): Float32Array {
  return isOneRow(value) ? readRow(value[0], `${name}[0]`) : readRow(value, name);
}

/**
 * A matrix row by row, from a list of vectors in either form or one packed matrix.
 * @param dim numbers in a row; every row must have as many
 */
export function readMatrix(value: unknown, dim: number, name: string): Float32Array {
  if (Array.isArray(value)) return readRows(value, dim, name);
  const packed = readPacked(value, name);
  const floats = unpack(packed, name);
  if (packed.shape) {
    const [rows, columns] = packed.shape;
    if (rows > 0 && columns !== dim) {
      throw new ValueError(`${name} have rows of ${columns} numbers; the collection's dimension is ${dim}`);
    }
    if (rows * columns !== floats.length) {
      throw new ValueError(`${name} holds ${floats.length} numbers and its shape says ${rows} x ${columns}`);
    }
  } else if (floats.length % dim !== 0) {
    throw new ValueError(`${name} holds ${floats.length} numbers, which is no multiple of the dimension ${dim}`);
  }
  return floats;
}

// ---------------------------------------------------------------------------------------------------------------------

function readRow(value: unknown, name: string): Float32Array {
  if (Array.isArray(value)) return readNumbers(value, new Float32Array(value.length), 0, name);
  const packed = readPacked(value, name);
  const floats = unpack(packed, name);
  if (packed.shape && (packed.shape[0] !== 1 || packed.shape[1] !== floats.length)) {
    throw new ValueError(
      `${name} holds ${floats.length} numbers and has the shape [${packed.shape.join(", ")}]; one vector is of the shape [1, ${floats.length}]`,
    );
  }
  return floats;
}

function readRows(rows: readonly unknown[], dim: number, name: string): Float32Array {
  // All lengths first: a million empty rows must not make room for a million full ones.
  const vectors = rows.map((row, i) => {
    const vector = Array.isArray(row) ? row : unpack(readPacked(row, `${name}[${i}]`), `${name}[${i}]`);
    if (vector.length === dim) return vector;
    throw new ValueError(`${name}[${i}] has ${vector.length} numbers; the collection's dimension is ${dim}`);
  });
  const out = new Float32Array(rows.length * dim);
  vectors.forEach((vector, i) => {
    if (vector instanceof Float32Array) out.set(vector, i * dim);
    else readNumbers(vector, out, i * dim, `${name}[${i}]`);
  });
  return out;
}

function readNumbers(values: readonly unknown[], out: Float32Array, at: number, name: string): Float32Array {
  for (let i = 0; i < values.length; i++) {
    const number = values[i];
    if (typeof number !== "number")
      throw new ArgumentTypeError(`${name}[${i}] must be a number, got ${kindOf(number)}`);
    out[at + i] = number;
    // 1e39 is a number in JSON and infinite in single precision.
    if (!Number.isFinite(out[at + i]!))
      throw new ValueError(`${name}[${i}] is ${number}, which single precision cannot hold`);
  }
  return out;
}

function readPacked(value: unknown, name: string): Packed {
  const { f32, shape } = (value ?? {}) as Record<string, unknown>;
  if (typeof value !== "object" || typeof f32 !== "string") {
    throw new ArgumentTypeError(`${name} must be a list of numbers or {"f32": "<base64>"}, got ${kindOf(value)}`);
  }
  if (shape === undefined || shape === null) return { f32 };
  const whole = (n: unknown): n is number => typeof n === "number" && Number.isSafeInteger(n) && n >= 0;
  if (!Array.isArray(shape) || shape.length !== 2 || !whole(shape[0]) || !whole(shape[1])) {
    throw new ArgumentTypeError(`${name}.shape must be [rows, dim]`);
  }
  return { f32, shape: [shape[0], shape[1]] };
}

/** Node's decoder is twenty times faster than `Uint8Array.fromBase64` and passes over strange characters: its length tells. */
function unpack({ f32 }: Packed, name: string): Float32Array {
  const padding = f32.endsWith("==") ? 2 : f32.endsWith("=") ? 1 : 0;
  const expected = (f32.length / 4) * 3 - padding;
  const bytes = Buffer.from(f32, "base64");
  const isUrlSafe = f32.includes("-") || f32.includes("_");
  if (f32.length % 4 !== 0 || bytes.length !== expected || isUrlSafe) {
    throw new ValueError(`${name}.f32 is not base64 with padding (RFC 4648, section 4)`);
  }
  if (bytes.length % 4 !== 0) {
    throw new ValueError(`${name}.f32 holds ${bytes.length} bytes, which is no multiple of 4`);
  }
  // Small ones come out of a pool that others use, at any offset.
  const own = bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
  return new Float32Array(own.buffer, 0, bytes.length / 4);
}
