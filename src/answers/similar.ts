/** What an answer says of stored rows that nearly have the texts of a call. */
import type { Duplicate } from "../texts/duplicates.ts";
import type { NearCopy } from "../texts/similar/similar.ts";
import { countWithin, cut } from "./sizes.ts";

/** A text of a call that is a near copy of a stored one. */
export interface SimilarText {
  /** Which of the call's texts, from 0. */
  index: number;
  /** Its own row. */
  id: string;
  /** The stored row. */
  of: string;
  /** The beginning of what is stored there. */
  text: string;
}

/** Only where there are any. */
export interface SimilarTexts {
  /** Texts that stored rows nearly have; of calls with at most 8 texts. */
  similar?: SimilarText[];
  /** How many of them the answer had no room for. */
  similar_omitted?: number;
}

/** What share of an answer they may take. */
const SHARE = 1 / 4;
/** Bytes of a stored text: enough to see whether both say the same. */
const TEXT_BYTES = 160;

/** The caller learns of them when its row is stored; the next change of that fact needs no further row. */
export const SIMILAR_ADVICE =
  "a stored row nearly has this text: if both say the same fact, delete the new row and change the stored one by " +
  "svc_update with its id";

/** The near copies that fit. @param maxBytes of the answer; 0: any. @param duplicates are listed elsewhere */
export function fitSimilar(
  maxBytes: number,
  ids: readonly string[],
  near: readonly NearCopy[],
  duplicates: readonly Duplicate[] = [],
): SimilarTexts {
  const same = new Set(duplicates.map(({ index }) => index));
  const others = near.filter(({ index }) => !same.has(index));
  if (others.length === 0) return {};
  const similar = others.map(({ index, of, text }) => ({ index, id: ids[index]!, of, text: cut(text, TEXT_BYTES) }));
  const count = maxBytes === 0 ? similar.length : countWithin(similar, maxBytes * SHARE);
  const omitted = similar.length - count;
  return { similar: similar.slice(0, count), ...(omitted > 0 ? { similar_omitted: omitted } : {}) };
}
