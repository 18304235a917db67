import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchDir } from "../../fixture.ts";
import { clustered } from "./data.ts";
import { readF32, readFvecs, readIdx, readMatrix, readNpy } from "./loaders.ts";

const NUMBERS = [1, -2.5, 3, 4, 0.125, -6];
const bytesOf = (array: Float32Array | Float64Array | Int32Array) => new Uint8Array(array.buffer.slice(0));

function npy(type: string, body: Uint8Array, shape = "(2, 3)", order = "False"): Uint8Array {
  const header = `{'descr': '${type}', 'fortran_order': ${order}, 'shape': ${shape}, }`.padEnd(117) + "\n";
  const size = Uint8Array.of(header.length & 255, header.length >> 8);
  return Buffer.concat([Buffer.from("\x93NUMPY\x01\x00", "latin1"), size, Buffer.from(header, "latin1"), body]);
}

function fvecs(rows: number[][]): Uint8Array {
  return Buffer.concat(rows.flatMap((row) => [bytesOf(Int32Array.of(row.length)), bytesOf(Float32Array.from(row))]));
}

test("bare floats become rows of the dimension that is named", () => {
  const bytes = bytesOf(Float32Array.from(NUMBERS));
  expect(readF32(bytes, 3)).toEqual({ dim: 3, data: Float32Array.from(NUMBERS) });
  expect(() => readF32(bytes, 4)).toThrow("6 floats are not rows of 4");
  expect(() => readF32(bytes, Number.NaN)).toThrow("needs its dimension");
});

test("fvecs rows lose their lengths, which must agree", () => {
  expect(readFvecs(fvecs([NUMBERS.slice(0, 3), NUMBERS.slice(3)]))).toEqual({
    dim: 3,
    data: Float32Array.from(NUMBERS),
  });
  expect(() => readFvecs(fvecs([[1, 2, 3], [4]]))).toThrow("not rows of 3 floats");
  const other = fvecs([
    [1, 2],
    [3, 4],
  ]);
  other[12] = 7;
  expect(() => readFvecs(other)).toThrow("row 1 has 7 numbers");
});

test("npy matrices are read in single and double precision, and others refused", () => {
  const expected = { dim: 3, data: Float32Array.from(NUMBERS) };
  expect(readNpy(npy("<f4", bytesOf(Float32Array.from(NUMBERS))))).toEqual(expected);
  expect(readNpy(npy("<f8", bytesOf(Float64Array.from(NUMBERS))))).toEqual(expected);
  expect(() => readNpy(npy("<i4", new Uint8Array(24)))).toThrow(
    "<f4 or <f8 in C order is needed; the element type is <i4",
  );
  expect(() => readNpy(npy("<f4", new Uint8Array(24), "(2, 3)", "True"))).toThrow("this one is in Fortran order");
  expect(() => readNpy(npy("<f4", new Uint8Array(24), "(6,)"))).toThrow("the shape is (6,)");
  expect(() => readNpy(npy("<f4", new Uint8Array(0)).subarray(0, 40))).toThrow("ends within its header of 118 bytes");
  expect(() => readNpy(Buffer.from("\x93NUMPY", "latin1"))).toThrow("not a .npy file");
  expect(() => readNpy(npy("<f4", new Uint8Array(20)))).toThrow("promises 6 numbers");
});

test("idx images become rows", () => {
  const head = [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2];
  expect(readIdx(Uint8Array.from([...head, 9, 8, 7, 255]))).toEqual({ dim: 2, data: Float32Array.of(9, 8, 7, 255) });
  expect(() => readIdx(Uint8Array.from([...head, 9]))).toThrow("promises 4 bytes");
  expect(() => readIdx(Uint8Array.of(1, 0, 8, 3))).toThrow("not an idx file");
});

test("a file's extension selects its reader", () => {
  const dir = scratchDir();
  writeFileSync(join(dir, "a.f32"), bytesOf(Float32Array.from(NUMBERS)));
  writeFileSync(join(dir, "a.fvecs"), fvecs([NUMBERS]));
  expect(readMatrix(join(dir, "a.f32:2")).dim).toBe(2);
  expect(readMatrix(join(dir, "a.fvecs")).dim).toBe(6);
  expect(() => readMatrix(join(dir, "a.f32"))).toThrow("needs its dimension");
  expect(() => readMatrix(join(dir, "a.txt"))).toThrow("only .f32, .fvecs and .npy files are read");
});

test("the error for a missing file or a number that is not finite names the file", () => {
  const dir = scratchDir();
  expect(() => readMatrix(join(dir, "none.fvecs"))).toThrow(`${join(dir, "none.fvecs")}: it cannot be read (ENOENT)`);
  const path = join(dir, "nan.fvecs");
  writeFileSync(path, fvecs([NUMBERS, [1, 2, Number.NaN, 4, 5, 6]]));
  expect(() => readMatrix(path)).toThrow(`${path}: row 1 holds NaN`);
});

test("made vectors have unit length, repeat with their seed, and no query is a row", () => {
  const shape = { rows: 50, dim: 8, clusters: 5, spread: 0.4, seed: 3 };
  const { data, queries } = clustered(shape, 4);
  expect(clustered(shape, 4).data).toEqual(data);
  expect(clustered({ ...shape, seed: 4 }, 4).data).not.toEqual(data);
  for (let row = 0; row < 50; row++) {
    const vector = data.subarray(row * 8, row * 8 + 8);
    expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
    for (let q = 0; q < 4; q++) expect(vector).not.toEqual(queries.subarray(q * 8, q * 8 + 8));
  }
});
