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
  const scratch: Uint8Array = Buffer.allocUnsafeSlow(Math.max(capacity, 16));
  const ends = new BigUint64Array(strings.length);
  let at = 0;
  for (let i = 0; i < strings.length; i++) {
    const text = strings[i];
    if (text) at += encoder.encodeInto(text, scratch.subarray(at)).written;
    ends[i] = BigInt(at);
  }
  return { bytes: scratch.subarray(0, at), ends };
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
