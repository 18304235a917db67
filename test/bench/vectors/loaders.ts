/** Files of vectors, each read into one matrix in memory. */
import { readFileSync } from "node:fs";
import { extname } from "node:path";

/** Vectors row by row. */
export interface Matrix {
  dim: number;
  data: Float32Array;
}

/** Bare floats, little-endian; the file does not say how many make a row. */
export function readF32(bytes: Uint8Array, dim: number): Matrix {
  if (!(dim > 0)) throw new Error("a .f32 file needs its dimension: name it as PATH.f32:DIM");
  const data = floats(bytes);
  if (data.length % dim !== 0) throw new Error(`${data.length} floats are not rows of ${dim}`);
  return { dim, data };
}

/** TexMex's form: before each row its length as an int32. */
export function readFvecs(bytes: Uint8Array): Matrix {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const dim = bytes.length >= 4 ? view.getInt32(0, true) : 0;
  const stride = 4 + dim * 4;
  if (!(dim > 0) || bytes.length % stride !== 0) {
    throw new Error(`${bytes.length} bytes are not rows of ${dim} floats after their length`);
  }
  const rows = bytes.length / stride;
  const data = new Float32Array(rows * dim);
  for (let row = 0; row < rows; row++) {
    const length = view.getInt32(row * stride, true);
    if (length !== dim) throw new Error(`row ${row} has ${length} numbers, row 0 has ${dim}`);
    for (let i = 0; i < dim; i++) data[row * dim + i] = view.getFloat32(row * stride + 4 + i * 4, true);
  }
  return { dim, data };
}

/** NumPy's form, versions 1 to 3: two-dimensional, little-endian f4 or f8 in C order. */
export function readNpy(bytes: Uint8Array): Matrix {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const magic = Buffer.from(bytes.subarray(0, 6)).toString("latin1");
  if (magic !== "\x93NUMPY" || bytes.length < 12) throw new Error("not a .npy file");
  const [size, start] = bytes[6] === 1 ? [view.getUint16(8, true), 10] : [view.getUint32(8, true), 12];
  if (start + size > bytes.length) throw new Error(`the file ends within its header of ${size} bytes`);
  const header = Buffer.from(bytes.subarray(start, start + size)).toString("latin1");
  const type = header.match(/'descr': *'([^']*)'/)?.[1];
  const shape = header.match(/'shape': *\((\d+), *(\d+),?\)/);
  const wrong = (what: string) => new Error(`a matrix of <f4 or <f8 in C order is needed; ${what}`);
  if (type !== "<f4" && type !== "<f8") throw wrong(`the element type is ${type ?? "made of several"}`);
  if (!shape) throw wrong(`the shape is ${header.match(/'shape': *(\([^)]*\))/)?.[1] ?? "missing"}`);
  if (/'fortran_order': *True/.test(header)) throw wrong("this one is in Fortran order");
  const [rows, dim] = [Number(shape[1]), Number(shape[2])];
  const count = rows * dim;
  const body = bytes.subarray(start + size, start + size + count * (type === "<f4" ? 4 : 8));
  const data = type === "<f4" ? floats(body) : Float32Array.from(new Float64Array(new Uint8Array(body).buffer));
  if (data.length !== count) throw new Error(`the header promises ${count} numbers, the file has ${data.length}`);
  return { dim, data };
}

/** MNIST's idx form of unsigned bytes, unpacked: one image a row. */
export function readIdx(bytes: Uint8Array): Matrix {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const dimensions = bytes[3] ?? 0;
  if (view.getUint16(0) !== 0 || bytes[2] !== 8 || dimensions < 2) throw new Error("not an idx file of unsigned bytes");
  const sizes = Array.from({ length: dimensions }, (_, i) => view.getUint32(4 + i * 4));
  const dim = sizes.slice(1).reduce((product, size) => product * size, 1);
  const body = bytes.subarray(4 + dimensions * 4);
  if (body.length !== sizes[0]! * dim) {
    throw new Error(`the header promises ${sizes[0]! * dim} bytes, the file has ${body.length}`);
  }
  return { dim, data: Float32Array.from(body) };
}

/** Reads by the file's extension: `.fvecs`, `.npy`, `.f32:DIM`. @throws Error that begins with the file */
export function readMatrix(name: string): Matrix {
  const [, path = name, dim] = name.match(/^(.*\.f32):(\d+)$/) ?? [];
  const read = READERS[extname(path)];
  if (!read) throw new Error(`${path}: only .f32, .fvecs and .npy files are read`);
  try {
    const matrix = read(readFileSync(path), Number(dim));
    const wrong = matrix.data.findIndex((number) => !Number.isFinite(number));
    if (wrong >= 0) throw new Error(`row ${Math.floor(wrong / matrix.dim)} holds ${matrix.data[wrong]}`);
    return matrix;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(`${path}: ${code === undefined ? message : `it cannot be read (${code})`}`);
  }
}

const READERS: Readonly<Record<string, (bytes: Uint8Array, dim: number) => Matrix>> = {
  ".f32": readF32,
  ".fvecs": readFvecs,
  ".npy": readNpy,
};

/** A copy, since a view needs a multiple of 4 as its offset; `slice` of what `readFileSync` answers would be a view. */
function floats(bytes: Uint8Array): Float32Array {
  return new Float32Array(new Uint8Array(bytes.subarray(0, bytes.length & ~3)).buffer);
}
