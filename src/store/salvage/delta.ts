/** The operations of a delta, block by block: blocks that are damaged are passed over and named. */

import type { RegularFile } from "../../regular-file.ts";
import { crc32c, mendBit } from "../crc32c.ts";
import type { Dtype } from "../schema.ts";
import { type ReadRow, text } from "./base.ts";
import { decodeStored, storedBytes } from "./vectors.ts";

const HEADER_BYTES = 64;
const ALIGN = 64;
const MAGIC = 0x4b4c4254;
const PUT = 1;
const HAS_METADATA = 1;
const HAS_TEXT = 2;
const AS_CODES = 4;
const NO_ROW = 2n ** 64n - 1n;

/** A put or a delete of a row, by its number. */
export interface Operation {
  row: number;
  /** For a put: the number of the row it replaces. */
  replaced: number | undefined;
  isPut: boolean;
  updated: number;
  /** Its bytes, from its header on. */
  bytes: Uint8Array;
}

/** A block: its operations, or undefined where it is damaged. */
export interface Block {
  offset: number;
  bytes: number;
  operations: Operation[] | undefined;
}

/** The blocks of a delta's committed bytes in order. `mended` gets the offsets of bits that were restored. */
export function* blocksOf(file: RegularFile, committed: number, mended: Set<number>): Generator<Block> {
  const end = Math.min(committed, file.size);
  for (let at = HEADER_BYTES; at < end; ) {
    let next = at;
    let size = blockAt(file, next, end, mended);
    while (size === undefined && next < end) {
      next += ALIGN;
      size = blockAt(file, next, end, undefined);
    }
    if (next > at) yield { offset: at, bytes: Math.min(next, end) - at, operations: undefined };
    if (size === undefined) break;
    yield { offset: next, bytes: HEADER_BYTES + size.payload, operations: operationsOf(file, next, size, mended) };
    at = next + HEADER_BYTES + size.payload;
  }
  // What is missing was committed too.
  if (end < committed) yield { offset: end, bytes: committed - end, operations: undefined };
}

interface Size {
  payload: number;
  crc: number;
}

/** The header of a block; undefined where there is none. With `mended`, one changed bit is restored. */
function blockAt(file: RegularFile, at: number, end: number, mended: Set<number> | undefined): Size | undefined {
  const head = file.read(at, HEADER_BYTES);
  if (!head || at + HEADER_BYTES > end) return undefined;
  const view = new DataView(head.buffer);
  const crc = view.getUint32(60, true);
  if (crc32c(head.subarray(0, 60)) !== crc) {
    const bit = mended && mendBit(head.subarray(0, 60), crc);
    if (bit === undefined) return undefined;
    mended!.add(at + bit);
  }
  const payload = Number(view.getBigUint64(16, true));
  if (view.getUint32(0, true) !== MAGIC || payload % ALIGN !== 0 || payload > end - at - HEADER_BYTES) return undefined;
  return { payload, crc: view.getUint32(4, true) };
}

function operationsOf(file: RegularFile, offset: number, size: Size, mended: Set<number>): Operation[] | undefined {
  const bytes = file.read(offset + HEADER_BYTES, size.payload);
  if (!bytes) return undefined;
  if (crc32c(bytes) !== size.crc) {
    const bit = mendBit(bytes, size.crc);
    if (bit === undefined) return undefined;
    mended.add(offset + HEADER_BYTES + bit);
  }
  const operations: Operation[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length; ) {
    const length = Number(view.getBigUint64(at + 56, true));
    if (length < HEADER_BYTES || length % ALIGN !== 0 || length > bytes.length - at) return undefined;
    const replaced = view.getBigUint64(at + 16, true);
    operations.push({
      isPut: view.getUint32(at, true) === PUT,
      row: Number(view.getBigUint64(at + 8, true)),
      replaced: replaced === NO_ROW ? undefined : Number(replaced),
      updated: Number(view.getBigUint64(at + 24, true)),
      bytes: bytes.subarray(at, at + length),
    });
    at += length;
  }
  return operations;
}

/** The row of a put, without its times. */
export function rowOfPut(bytes: Uint8Array, dim: number, dtype: Dtype, columns: number): Omit<ReadRow, "times"> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const flags = view.getUint32(4, true);
  const form = flags & AS_CODES ? "int8" : dtype;
  let at = HEADER_BYTES;
  const take = (length: number) => {
    at += length;
    return at <= bytes.length ? bytes.subarray(at - length, at) : undefined;
  };
  const vector = decodeStored(form, dim, take(storedBytes(form, dim)));
  const [id, metadata, content, terms] = [32, 36, 40, 44].map((field) => take(view.getUint32(field, true)));
  const lengths = take(columns * 4);
  const keys = Array.from(
    { length: columns },
    (_, i) =>
      lengths && take(new DataView(lengths.buffer, lengths.byteOffset, lengths.byteLength).getUint32(i * 4, true)),
  );
  return {
    id: text(id),
    metadata: flags & HAS_METADATA ? text(metadata) : null,
    text: flags & HAS_TEXT ? text(content) : null,
    vector,
    keys,
    hasTerms: (flags & HAS_TEXT) === 0 && terms !== undefined && terms.length > 0,
  };
}
