/**
 * Requests as frames. Vectors are written into the frame as base64: `JSON.stringify` of a megabyte of base64 builds it,
 * scans it for escapes and copies it several times.
 */
import { ValueError } from "../../errors.ts";
import { FRAME_BYTES_MAX } from "../../limits.ts";
import { encodeFrame, HEADER_BYTES } from "../wire/frame.ts";

/** Part of a JSON text: text, or floats that become base64, without quotes. */
type Piece = string | Float32Array;

/** One argument of a request: its name and the JSON of its value. */
export type Argument = readonly [name: string, ...value: Piece[]];

/** The frame of a request without vectors; fields of `args` that are undefined are left out. */
export function encodeRequest(op: string, collection?: string, args?: Record<string, unknown>): Buffer {
  return encodePieces(op, [JSON.stringify({ op, collection, args })]);
}

/** The frame of a request whose arguments are JSON already, but for vectors. */
export function encodeArguments(op: string, collection: string, args: readonly Argument[]): Buffer {
  const pieces: Piece[] = [`{"op":${JSON.stringify(op)},"collection":${JSON.stringify(collection)},"args":{`];
  args.forEach(([name, ...value], i) => {
    pieces.push(`${i === 0 ? "" : ","}${JSON.stringify(name)}:`, ...value);
  });
  pieces.push("}}");
  return encodePieces(op, pieces);
}

/** The value of a vector. */
export function vectorPieces(vector: Float32Array): Piece[] {
  return ['{"f32":"', vector, '"}'];
}

/** The value of a matrix; one without rows is an empty list. */
export function matrixPieces(floats: Float32Array, rows: number): Piece[] {
  if (rows === 0) return ["[]"];
  return ['{"f32":"', floats, `","shape":[${rows},${floats.length / rows}]}`];
}

/** Bytes of base64 for `bytes` bytes. */
export function base64Bytes(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/** Bytes turned into base64 at once: a multiple of 3, so without padding, and small enough for the cache. */
const SLICE_BYTES = 48 * 1024;

function encodePieces(op: string, pieces: readonly Piece[]): Buffer {
  if (isSmall(pieces)) return encodeFrame(pieces.map(textOf).join(""));
  let bytes = 0;
  for (const piece of pieces) {
    bytes += typeof piece === "string" ? Buffer.byteLength(piece) : base64Bytes(piece.byteLength);
  }
  if (bytes > FRAME_BYTES_MAX) {
    throw new ValueError(
      `the request '${op}' has ${bytes} bytes; a frame holds at most ${FRAME_BYTES_MAX}: send less at once`,
    );
  }
  const frame = Buffer.allocUnsafe(HEADER_BYTES + bytes);
  let at = frame.writeUInt32BE(bytes, 0);
  for (const piece of pieces) at += typeof piece === "string" ? frame.write(piece, at) : writeBase64(frame, piece, at);
  return frame;
}

/** Smaller frames are built as one string: a write into the buffer costs more than copying a few kilobytes. */
const SMALL_BYTES = 16 * 1024;

function isSmall(pieces: readonly Piece[]): boolean {
  let bytes = 0;
  // A UTF-16 unit is at most three bytes of UTF-8.
  for (const piece of pieces) bytes += typeof piece === "string" ? piece.length * 3 : base64Bytes(piece.byteLength);
  return bytes <= SMALL_BYTES;
}

function textOf(piece: Piece): string {
  if (typeof piece === "string") return piece;
  return Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString("base64");
}

function writeBase64(frame: Buffer, floats: Float32Array, at: number): number {
  const bytes = Buffer.from(floats.buffer, floats.byteOffset, floats.byteLength);
  let end = at;
  for (let from = 0; from < bytes.length; from += SLICE_BYTES) {
    end += frame.write(bytes.toString("base64", from, Math.min(from + SLICE_BYTES, bytes.length)), end, "latin1");
  }
  return end - at;
}
