/** Stored vectors, decoded: each product and sum rounded to f32, as the runtime does. */
import type { Dtype } from "../schema.ts";

/** Bytes of a stored vector. */
export function storedBytes(dtype: Dtype, dim: number): number {
  if (dtype === "f32") return 4 * dim;
  if (dtype === "f16") return 2 * dim;
  return dtype === "int8" ? 4 + dim : 8 + 4 * Math.ceil(dim / 8);
}

/** Decodes a stored vector; undefined where its bytes are, or where an element is not finite. */
export function decodeStored(dtype: Dtype, dim: number, bytes: Uint8Array | undefined): Float32Array | undefined {
  if (!bytes) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const out = new Float32Array(dim);
  if (dtype === "f32") for (let i = 0; i < dim; i++) out[i] = view.getFloat32(4 * i, true);
  else if (dtype === "f16") for (let i = 0; i < dim; i++) out[i] = view.getFloat16(2 * i, true);
  else if (dtype === "int8") {
    const scale = view.getFloat32(0, true);
    for (let i = 0; i < dim; i++) out[i] = scale * view.getInt8(4 + i);
  } else
    fourBits(out, view.getFloat32(0, true), view.getFloat32(4, true), (group, byte) => bytes[8 + 4 * group + byte]!);
  return out.every(Number.isFinite) ? out : undefined;
}

/** Decodes the row `row` of a block of sixteen, of four bits; `read` gives bytes of the block. */
export function decodeBlockRow(
  dim: number,
  row: number,
  read: (at: number, bytes: number) => Uint8Array | undefined,
): Float32Array | undefined {
  const groups = Math.ceil(dim / 8);
  const block = read(0, 64 * (groups + 2));
  if (!block) return undefined;
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
  const [scale, offset] = [0, 1].map((i) => view.getFloat32(64 * (groups + i) + 4 * row, true));
  const out = new Float32Array(dim);
  fourBits(out, scale!, offset!, (group, byte) => block[64 * group + 4 * row + byte]!);
  return out.every(Number.isFinite) ? out : undefined;
}

function fourBits(out: Float32Array, scale: number, offset: number, at: (group: number, byte: number) => number): void {
  for (let i = 0; i < out.length; i++) {
    const code = (at(Math.floor(i / 8), i % 4) >> (i % 8 < 4 ? 0 : 4)) & 15;
    out[i] = offset + Math.fround(scale * (2 * code - 15));
  }
}
