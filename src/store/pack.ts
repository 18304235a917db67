/** Rows in the form that the native side takes. */

import type { ModelCode } from "../../ffi/ame_kernel.ts";
import { packBytes, packLists, packStrings, packTexts } from "../../ffi/packing.ts";
import type { NativeRows as PackedRows } from "../../ffi/ty_collection.ts";
import { encodeMetadata } from "../checks/metadata.ts";
import type { Metadata } from "../checks/values.ts";
import { ValueError } from "../errors.ts";
import { encodeKey } from "./filter.ts";

export type { PackedRows };

/** Rows to store, one entry of each list a row. Ids and texts have passed `readIds` and `readTexts`. */
export interface Rows {
  ids: readonly string[];
  /** Row-major, `ids.length` × dim finite floats. Absent: the kernel's `model` embeds the texts. */
  vectors?: Float32Array | undefined;
  model?: ModelCode | undefined;
  metadata?: readonly (Metadata | undefined)[];
  texts?: readonly string[];
  /** Keep the tokens of the texts for the lexical index but not the texts, which are stored elsewhere. */
  dropText?: boolean;
  /**
   * For each row the id of a live one with the same text and labels, whose stored vector it gets, and with `dropText`
   * its terms; undefined, or one that is not live: its own. Not what `get` returns, which would be coded again.
   */
  likes?: readonly (string | undefined)[] | undefined;
  /**
   * Hidden terms of each row, without meaning to the text: 1 to 256 bytes without NUL, up to 65,536 a row, only with
   * `dropText` in a collection with a lexical index. They are found by `Question.labels` only.
   */
  labels?: readonly (readonly string[])[] | undefined;
  /** The partition of rows whose metadata does not name one; null where absent. */
  defaultPartition?: string;
  /**
   * When each row was put, in milliseconds since 1970, instead of now; raised to the `created` of the row that it
   * replaces.
   */
  updated?: BigUint64Array | undefined;
  /** When each id became live, not after `updated`; of a row that replaces another one, that row's counts. */
  created?: BigUint64Array | undefined;
  /**
   * Indices of changes (`Reader.changes`): each row gets the stored vector of the row before its change, to the bit.
   * `vectors`, `model` and `likes` must be absent then.
   */
  changes?: BigUint64Array | undefined;
  /** Short texts get their vectors of meaning; of at most `MEANING_ROWS_MAX` rows. */
  meaning?: boolean | undefined;
}

/**
 * Packs rows and checks their metadata; metadata without a filter column's value counts as null there.
 * @throws as `encodeMetadata`
 */
export function packRows(rows: Rows, columns: readonly string[]): PackedRows {
  const count = rows.ids.length;
  const keys: Uint8Array[] = [];
  const metas: (string | undefined)[] = [];
  for (let i = 0; i < count; i++) {
    const metadata = rows.metadata?.[i];
    columns.forEach((column, at) => {
      const fallback = at === 0 ? rows.defaultPartition : undefined;
      keys.push(encodeKey(metadata && Object.hasOwn(metadata, column) ? metadata[column] : fallback));
    });
    metas.push(metadata && encodeMetadata(metadata, `metadata[${i}]`));
  }
  return {
    count,
    vectors: rows.vectors,
    model: rows.model,
    ids: packStrings(rows.ids),
    metas: packStrings(metas),
    texts: rows.texts && packTexts(rows.texts),
    keys: packBytes(keys),
    dropText: rows.dropText ?? false,
    likes: rows.likes && packStrings(rows.likes),
    labels: rows.labels && packLists(rows.labels.map(checkLabels)),
    updated: rows.updated,
    created: rows.created,
    changes: rows.changes,
    meaning: rows.meaning,
  };
}

/** Refuses labels that would be read as several; the native side checks their lengths. @throws ValueError */
export function checkLabels(labels: readonly string[]): readonly string[] {
  const wrong = labels.find((label) => label.includes("\0"));
  if (wrong !== undefined) throw new ValueError(`a label holds a NUL: ${JSON.stringify(wrong)}`);
  return labels;
}

/**
 * Refuses rows that do not fit the schema, as of a collection created again since they were packed: the native side
 * reads as many numbers, keys and texts as the schema says, unchecked. @throws ValueError
 */
export function checkPacked(rows: PackedRows, dim: number, columns: number): PackedRows {
  const { count, vectors, keys, metas, texts, labels, likes, updated, created, changes } = rows;
  if (vectors && vectors.length !== count * dim) {
    throw new ValueError(
      `vectors hold ${vectors.length} numbers; ${count} rows of dimension ${dim} take ${count * dim}`,
    );
  }
  if (keys.ends.length !== count * columns) {
    throw new ValueError("the collection's filter columns have changed meanwhile: open it again");
  }
  if ([metas, texts, labels].some((strings) => strings && strings.ends.length !== count)) {
    throw new ValueError(`metadata, texts and labels must have an entry for each of ${count} rows`);
  }
  if (likes && likes.ends.length !== count) throw new ValueError(`likes must have an entry for each of ${count} rows`);
  if ([updated, created, changes].some((numbers) => numbers && numbers.length !== count)) {
    throw new ValueError(`times and changes must have an entry for each of ${count} rows`);
  }
  return rows;
}
