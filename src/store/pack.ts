/** Checks rows against the limits and packs them as the native side takes them. */

import type { NativeRows as PackedRows } from "../../ffi/ty_collection.ts";
import { packBytes, packStrings } from "../../ffi/words.ts";
import { checkId } from "../checks/names.ts";
import type { Metadata } from "../checks/values.ts";
import { ValueError } from "../errors.ts";
import { METADATA_BYTES_MAX, METADATA_DEPTH_MAX, TEXT_BYTES_MAX } from "../limits.ts";
import { encodeKey } from "./filter.ts";

export type { PackedRows };

/** Rows to store, one entry of each list a row. */
export interface Rows {
  ids: readonly string[];
  /** Row-major, `ids.length` × dim finite floats. */
  vectors: Float32Array;
  metadata?: readonly (Metadata | undefined)[];
  texts?: readonly string[];
  /** Keep the tokens of the texts for the lexical index but not the texts: they live elsewhere. */
  dropText?: boolean;
  /** The partition of rows whose metadata does not name one; null where absent. */
  defaultPartition?: string;
}

/**
 * Refuses what the limits forbid and packs the rest. That vectors are finite is checked by the native side, which reads them anyway.
 * Metadata without a filter column's value counts as null there.
 */
export function packRows(rows: Rows, dim: number, columns: readonly string[]): PackedRows {
  const count = rows.ids.length;
  rows.ids.forEach(checkId);
  checkLength("metadata", rows.metadata, count);
  checkLength("texts", rows.texts, count);
  if (rows.vectors.length !== count * dim) {
    throw new ValueError(
      `vectors hold ${rows.vectors.length} numbers; ${count} rows of dimension ${dim} take ${count * dim}`,
    );
  }
  rows.texts?.forEach(checkText);
  const keys: Uint8Array[] = [];
  const metas: (string | undefined)[] = [];
  for (let i = 0; i < count; i++) {
    const metadata = rows.metadata?.[i];
    columns.forEach((column, at) => {
      const fallback = at === 0 ? rows.defaultPartition : undefined;
      keys.push(encodeKey(metadata && Object.hasOwn(metadata, column) ? metadata[column] : fallback));
    });
    metas.push(metadata && encodeMetadata(metadata, i));
  }
  return {
    count,
    vectors: rows.vectors,
    ids: packStrings(rows.ids),
    metas: packStrings(metas),
    texts: rows.texts && packStrings(rows.texts),
    keys: packBytes(keys),
    dropText: rows.dropText ?? false,
  };
}

/**
 * Rows that were packed elsewhere, perhaps for a collection that was made anew since: the native side reads as many numbers and keys as
 * the schema says, whether they are there or not.
 */
export function checkPacked(rows: PackedRows, dim: number, columns: number): PackedRows {
  if (rows.vectors.length !== rows.count * dim) {
    throw new ValueError(
      `vectors hold ${rows.vectors.length} numbers; ${rows.count} rows of dimension ${dim} take ${rows.count * dim}`,
    );
  }
  if (rows.keys.ends.length !== rows.count * columns) {
    throw new ValueError("the collection's filter columns have changed meanwhile: open it again");
  }
  return rows;
}

function checkLength(name: string, list: readonly unknown[] | undefined, count: number): void {
  if (list && list.length !== count) {
    throw new ValueError(`${name} has ${list.length} entries and ids has ${count}; give one for each row`);
  }
}

function checkText(text: string, at: number): void {
  if (!text.isWellFormed()) {
    throw new ValueError(`texts[${at}] is not valid Unicode: it holds half of a surrogate pair, remove it`);
  }
  // At most three bytes a UTF-16 unit: most texts need no count.
  if (text.length * 3 <= TEXT_BYTES_MAX) return;
  const bytes = Buffer.byteLength(text);
  if (bytes > TEXT_BYTES_MAX) {
    throw new ValueError(`texts[${at}] has ${bytes} bytes of UTF-8; the limit is ${TEXT_BYTES_MAX}: store it in parts`);
  }
}

/** A row's metadata as JSON, refused where JSON would change it or the limits forbid it. */
export function encodeMetadata(metadata: Metadata, at: number): string {
  checkValue(metadata, `metadata[${at}]`, 1);
  const json = JSON.stringify(metadata);
  const bytes = Buffer.byteLength(json);
  if (bytes > METADATA_BYTES_MAX) {
    throw new ValueError(`metadata[${at}] has ${bytes} bytes as JSON; the limit is ${METADATA_BYTES_MAX}`);
  }
  return json;
}

function checkValue(value: unknown, where: string, depth: number): void {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new ValueError(`${where} is ${value}; JSON has no such number`);
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
      throw new ValueError(`${where} is ${value}, beyond 2^53, where integers lose digits: store it as a string`);
    }
    return;
  }
  if (value === null || typeof value !== "object") return;
  if (depth > METADATA_DEPTH_MAX) {
    throw new ValueError(`${where} is nested deeper than ${METADATA_DEPTH_MAX} levels`);
  }
  for (const key of Object.keys(value)) {
    checkValue((value as Metadata)[key], Array.isArray(value) ? `${where}[${key}]` : `${where}.${key}`, depth + 1);
  }
}
