/** What an answer says of texts that were there already. */
import type { PutTexts } from "../texts/put.ts";
import { countWithin } from "./sizes.ts";

/** A text of a call that is there already. */
export interface SameText {
  /** Which of the call's texts, from 0. */
  index: number;
  /** Its own row; absent where it was skipped. */
  id?: string;
  /** The row that has the text. */
  of: string;
}

/** Only where there are any. */
export interface SameTexts {
  /** Texts that other rows have already, byte for byte: the first of them. */
  duplicates?: SameText[];
  /** How many of them are not listed. */
  duplicates_omitted?: number;
  /** How many texts were not put; with `skip_duplicates`. */
  skipped?: number;
}

/** Duplicates that an answer lists. */
const LISTED_MAX = 20;
/** What share of an answer they may take: ids have up to 512 bytes. */
const SHARE = 1 / 3;

/** The first duplicates that fit, and how many others there are. @param maxBytes of the answer; 0: any */
export function fitDuplicates(maxBytes: number, ids: readonly string[], put: PutTexts): SameTexts {
  const { duplicates, skipped } = put;
  if (duplicates.length === 0) return {};
  const shown = duplicates.slice(0, LISTED_MAX).map(({ index, of }) => {
    return skipped.has(index) ? { index, of } : { index, id: ids[index]!, of };
  });
  const count = maxBytes === 0 ? shown.length : countWithin(shown, maxBytes * SHARE);
  const omitted = duplicates.length - count;
  return {
    duplicates: shown.slice(0, count),
    ...(omitted > 0 ? { duplicates_omitted: omitted } : {}),
    ...(skipped.size > 0 ? { skipped: skipped.size } : {}),
  };
}

/** Where each text is: the rows that were made, and of those that were skipped the rows that have their texts. */
export function rowsOf(ids: readonly string[], { duplicates, skipped }: PutTexts): readonly string[] {
  if (skipped.size === 0) return ids;
  const all = [...ids];
  for (const { index, of } of duplicates) if (skipped.has(index)) all[index] = of;
  return all;
}
