/** Vectors in base64, as they stand in JSON: of little-endian numbers in single precision. */
import { ValueError } from "../errors.ts";

/**
 * The numbers, not checked for what is not a number. Node's decoder is twenty times faster than `Uint8Array.fromBase64`
 * but skips invalid characters: checked by length.
 * @throws ValueError for what is not base64 with padding, or no whole numbers
 */
export function unpackFloats(f32: string, name: string): Float32Array {
  const padding = f32.endsWith("==") ? 2 : f32.endsWith("=") ? 1 : 0;
  const expected = (f32.length / 4) * 3 - padding;
  const bytes = Buffer.from(f32, "base64");
  const isUrlSafe = f32.includes("-") || f32.includes("_");
  if (f32.length % 4 !== 0 || bytes.length !== expected || isUrlSafe) {
    throw new ValueError(`${name}.f32 is not base64 with padding (RFC 4648, section 4)`);
  }
  if (bytes.length % 4 !== 0) {
    throw new ValueError(`${name}.f32 holds ${bytes.length} bytes, which is not a multiple of 4`);
  }
  // Small buffers share a pool with others, at any offset.
  const own = bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
  return new Float32Array(own.buffer, 0, bytes.length / 4);
}

/** The numbers in base64. */
export function packFloats(floats: Float32Array): string {
  return Buffer.from(floats.buffer, floats.byteOffset, floats.byteLength).toString("base64");
}
