/** Memory and strings for C. */
import { ptr } from "bun:ffi";

/** Memory that C may read or write. */
export type Bytes = Uint8Array | Float32Array | Float64Array | BigUint64Array | Uint32Array;

/**
 * The address of a view's bytes; 0 for an empty one.
 *
 * A typed array of up to 1,000 bytes is stored inside its JavaScript object until `.buffer` is first read, which moves
 * it: reading that first makes the address final.
 */
export function address(view: Bytes | undefined): number {
  if (view === undefined || view.byteLength === 0) return 0;
  void view.buffer;
  return ptr(view);
}

const encoder = new TextEncoder();

/** Strings for C: their concatenated UTF-8 bytes, and each string's end offset. */
export interface PackedStrings {
  bytes: Uint8Array;
  ends: BigUint64Array;
}

/** Packs strings (undefined packs as empty). */
export function packStrings(strings: readonly (string | undefined)[]): PackedStrings {
  let capacity = 0;
  // The exact size is counted first: to clear three bytes a UTF-16 unit took longer than the encoding. The buffer is not of
  // Buffer's pool, because it may be transferred.
  for (const text of strings) capacity += text ? Buffer.byteLength(text) : 0;
  return packInto(Buffer.allocUnsafeSlow(Math.max(capacity, 16)), strings);
}

/** The most bytes that are kept for the next texts. */
const SPARE_BYTES = 4 * 1024 * 1024;
let spare: Uint8Array | undefined;

/**
 * The same for texts, in memory that `releaseTexts` gives to the next ones. An import takes as much in each commit, and
 * fresh memory is cleared page by page, which took three times as long as the encoding.
 */
export function packTexts(texts: readonly string[]): PackedStrings {
  let units = 0;
  for (const { length } of texts) units += length;
  let memory = spare;
  // Most texts are ASCII, of which the size is known.
  if (memory === undefined || memory.length < units)
    memory = Buffer.allocUnsafeSlow(Math.max(units + (units >> 3), 16));
  spare = undefined;
  return packInto(memory, texts);
}

/** Gives back the memory of `packTexts`, which must not be used any more. */
export function releaseTexts({ bytes }: PackedStrings): void {
  if (bytes.buffer.byteLength <= SPARE_BYTES) spare = new Uint8Array(bytes.buffer);
}

/** Packs into `memory`, or into more where that is too small. */
function packInto(memory: Uint8Array, strings: readonly (string | undefined)[]): PackedStrings {
  const ends = new Uint32Array(strings.length * 2);
  let bytes = memory;
  let at = 0;
  for (let i = 0; i < strings.length; i++) {
    const text = strings[i];
    if (text) {
      let done = encoder.encodeInto(text, bytes.subarray(at));
      if (done.read < text.length) {
        let left = 0;
        for (let rest = i; rest < strings.length; rest++) left += Buffer.byteLength(strings[rest] ?? "");
        const grown = Buffer.allocUnsafeSlow(at + left);
        grown.set(bytes.subarray(0, at));
        bytes = grown;
        done = encoder.encodeInto(text, bytes.subarray(at));
      }
      at += done.written;
    }
    ends[2 * i] = at % 2 ** 32;
    ends[2 * i + 1] = at / 2 ** 32;
  }
  return { bytes: bytes.subarray(0, at), ends: new BigUint64Array(ends.buffer) };
}

/** Packs byte strings. */
export function packBytes(items: readonly Uint8Array[]): PackedStrings {
  let total = 0;
  for (const item of items) total += item.byteLength;
  const bytes = new Uint8Array(total);
  const ends = new BigUint64Array(items.length);
  let at = 0;
  items.forEach((item, i) => {
    bytes.set(item, at);
    at += item.byteLength;
    ends[i] = BigInt(at);
  });
  return { bytes, ends };
}

/** Packs lists of strings, each list as a run of NUL-ended ones; the caller has refused NUL inside. */
export function packLists(lists: readonly (readonly string[])[]): PackedStrings {
  return packStrings(lists.map((list) => (list.length === 0 ? undefined : `${list.join("\0")}\0`)));
}

/** A NUL-terminated string; the caller has refused NUL inside. */
export function cString(text: string): Uint8Array {
  return encoder.encode(text + "\0");
}
