/**
 * Argument structs for C. Every field of ours is 8 bytes wide, so a struct is an array of 64-bit words; this class
 * fills one and keeps the memory of its pointers alive until it is released.
 */
import { ptr } from "bun:ffi";

/** Memory that C may read or write. */
export type Bytes = Uint8Array | Float32Array | BigUint64Array | Uint32Array;

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

/** One argument struct of `length` 8-byte fields, all zero at first. */
export class Words {
  /** The struct: the lower half of each field before the upper one. As bigints, a query would make twenty of them. */
  readonly u32: Uint32Array<ArrayBuffer>;
  private readonly f64: Float64Array<ArrayBuffer>;
  private readonly kept: (Bytes | undefined)[] = [];

  constructor(length: number) {
    const memory = new ArrayBuffer(length * 8);
    this.u32 = new Uint32Array(memory);
    this.f64 = new Float64Array(memory);
  }

  /** Sets a field to an integer from 0 to 2^53 - 1; the caller has checked its range. */
  integer(index: number, value: number): this {
    this.u32[index * 2] = value;
    this.u32[index * 2 + 1] = value / 2 ** 32;
    return this;
  }

  /** Sets a field to 2^64 - 1, which stands for none. */
  none(index: number): this {
    this.u32.fill(0xffff_ffff, index * 2, index * 2 + 2);
    return this;
  }

  /** Sets a field to a double. */
  double(index: number, value: number): this {
    this.f64[index] = value;
    return this;
  }

  /** Points a field at a view, which is kept alive until `release`. */
  pointer(index: number, view: Bytes | undefined): this {
    this.kept[index] = view;
    return this.integer(index, address(view));
  }

  /** Reads a field back as a number; counts of ours stay below 2^53. */
  number(index: number): number {
    return this.u32[index * 2]! + this.u32[index * 2 + 1]! * 2 ** 32;
  }

  /** Reads a field back as a double. */
  float(index: number): number {
    return this.f64[index]!;
  }

  /**
   * Drops the references to the pointers' views. To be called after the native call, so that none is collected during
   * it.
   */
  release(): void {
    this.kept.length = 0;
  }
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
  // Counted, and not cleared: three bytes a UTF-16 unit, zeroed, took longer than the encoding. Of its own, not a part of
  // the shared pool, since it may be transferred.
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

/** Points two fields at packed strings. */
export function packed(words: Words, at: number, strings: PackedStrings): Words {
  return words.pointer(at, strings.bytes).pointer(at + 1, strings.ends);
}

/** A NUL-terminated string; the caller has refused NUL inside. */
export function cString(text: string): Uint8Array {
  return encoder.encode(text + "\0");
}
