/** Which texts of a call a collection has already, and which stand twice in the call: byte for byte. */
import type { PackedStrings } from "../../ffi/packing.ts";
import type { Collection } from "../store/collection.ts";

/** A text that is there already. */
export interface Duplicate {
  /** Which of the call's texts, from 0. */
  index: number;
  /** The row that has it: a live one of the collection, or an earlier one of the call. */
  of: string;
}

/**
 * The texts of a call that other rows have, in its order; a row that is put again under its own id is not a duplicate,
 * and what the call replaces does not count. To be called inside the change that puts them. Takes a millisecond for a
 * million rows, and some for ten thousand texts.
 * @param replaces whether the call may have ids of live rows
 * @param packed the texts once more, where they are packed already
 */
export function duplicatesOf(
  collection: Collection,
  { ids, texts }: { ids: readonly string[]; texts: readonly string[] },
  replaces: boolean,
  packed?: PackedStrings,
): Duplicate[] {
  // If an id occurs twice, the last one wins.
  const indexOf = new Map(ids.map((id, index) => [id, index]));
  const indexes = [...indexOf.values()];
  if (indexes.length < ids.length) indexes.sort((a, b) => a - b);
  const firstOf = new Map<string, number>();
  const found: Duplicate[] = [];
  for (const index of indexes) {
    const first = firstOf.get(texts[index]!);
    if (first === undefined) firstOf.set(texts[index]!, index);
    else found.push({ index, of: ids[first]! });
  }
  const distinct = [...firstOf.keys()];
  // One row more than the call replaces: at least one of them is not replaced.
  const stored = new Map<string, string>();
  const sought = distinct.length === texts.length && packed ? packed : distinct;
  for (const { text, id } of collection.sameTexts(sought, replaces ? indexOf.size + 1 : 1)) {
    if (!indexOf.has(id)) stored.set(distinct[text]!, id);
  }
  if (stored.size > 0) {
    for (const duplicate of found) duplicate.of = stored.get(texts[duplicate.index]!) ?? duplicate.of;
    for (const [text, index] of firstOf) {
      const of = stored.get(text);
      if (of !== undefined) found.push({ index, of });
    }
  }
  return found.sort((a, b) => a.index - b.index);
}

/**
 * What is put of a call that adds no text twice: the rows but for those that are duplicates under a new id. Rows that
 * the call itself replaces are left out too.
 * @returns the indexes, ascending
 */
export function withoutDuplicates(
  collection: Collection,
  ids: readonly string[],
  duplicates: readonly Duplicate[],
): number[] {
  const named = duplicates.map(({ index }) => ids[index]!);
  const isLive = new Set(collection.get(named, {}).flatMap(({ id, found }) => (found ? [id] : [])));
  const skipped = new Set(duplicates.flatMap(({ index }) => (isLive.has(ids[index]!) ? [] : [index])));
  const last = new Map(ids.map((id, index) => [id, index]));
  return ids.flatMap((id, index) => (last.get(id) === index && !skipped.has(index) ? [index] : []));
}
