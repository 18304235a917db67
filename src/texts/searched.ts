/** What a search of texts reads: a collection, or several in one ranking. */
import type { Condition } from "../checks/where.ts";
import type { Collection, SearchAnswer } from "../store/collection.ts";
import { Collections } from "./collections.ts";
import type { SentenceEncoder } from "./meaning/encoder.ts";
import { meaningNotice, ranksByMeaning } from "./meaning/readiness.ts";
import { joinNotices, type SearchedRows, troubleNotice } from "./notices.ts";
import { searchedRows } from "./searched-rows.ts";

export type Searched = Collection | Collections;

/** Damaged collections that a notice names. */
const TROUBLES_MAX = 3;

/** Whether a query is ranked by meaning as well: see `ranksByMeaning`. */
export async function ranksAnyByMeaning(target: Searched, encoder: SentenceEncoder | undefined): Promise<boolean> {
  if (!(target instanceof Collections)) return ranksByMeaning(target, encoder);
  if (encoder === undefined || encoder.isOff) return false;
  // A collection whose meaning is off has no vectors. The manifests of all of them are not read for it.
  if (encoder.isReady) return true;
  return target.all.some((one) => one.stats().meaning_bytes > 0) && (await encoder.load());
}

/** A notice about damaged files; undefined if none are. */
export function troublesOf(target: Searched, { trouble }: SearchAnswer): string | undefined {
  if (!(target instanceof Collections)) return troubleNotice(target, trouble, "both");
  const damaged = target.troubles.filter(({ trouble }) => trouble !== 0);
  const named = damaged.slice(0, TROUBLES_MAX).map((one) => troubleNotice(one.collection, one.trouble, "both", true));
  const more = damaged.length - named.length;
  return joinNotices("; ", [...named, more > 0 ? `and ${more} more are damaged` : undefined]);
}

/** In which rows the words were looked up: see `searchedRows`. */
export async function lookedUpIn(
  target: Searched,
  text: string,
  where: Condition | undefined,
  found: SearchAnswer,
): Promise<SearchedRows | undefined> {
  return target instanceof Collections ? { rows: "the collections" } : searchedRows(target, text, where, found);
}

/** The notice about meaning: of several collections that of the one with the most texts without vectors. */
export async function noticeOfMeaning(
  target: Searched,
  encoder: SentenceEncoder | undefined,
  found: SearchAnswer,
): Promise<string | undefined> {
  if (!(target instanceof Collections)) return meaningNotice(target, encoder, found);
  if (encoder === undefined || found.known >= found.words) return undefined;
  const missing = target.all.map((one) => {
    const { text_rows, meaning_rows } = one.stats();
    return { one, count: text_rows - meaning_rows };
  });
  const most = missing.reduce<(typeof missing)[number] | undefined>(
    (a, b) => (a && a.count >= b.count ? a : b),
    undefined,
  );
  return most && meaningNotice(most.one, encoder, found);
}
