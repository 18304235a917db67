/** The candidates of a search in the order of the caller's preferences, and the first of them with their details. */
import type { Row, SearchAnswer, SearchOptions } from "../store/collection.ts";
import { type PreferredTimes, type Ranked, rankRecent } from "./recency.ts";
import type { Searched } from "./searched.ts";
import { inTiers, type Tiers } from "./tiers.ts";

/** Which rows come first. */
export interface Preferred extends PreferredTimes {
  /** Absent: no tier is asked for, and no row is superseded. */
  tiers?: Tiers | undefined;
}

/** The rows of an answer, and what recency, where it was asked for, added to the score of each. */
export interface PreferredRows {
  rows: Row[];
  recencyShares?: number[];
}

/** Whether candidates have to be looked at: else the order of the search is final. */
export function prefers({ recency, named, tiers }: Preferred): boolean {
  return recency !== undefined || named !== undefined || tiers !== undefined;
}

/**
 * The detail that ranking candidates needs. Texts, of which a row may have megabytes, are read afterwards.
 */
export function candidateDetail(options: SearchOptions, { recency, named, tiers }: Preferred): SearchOptions {
  const ofRow = recency === undefined || recency.field === "updated" || recency.field === "created";
  const isByTime = recency !== undefined || named !== undefined;
  const metadata = options.metadata || !ofRow || tiers !== undefined;
  return { ...options, candidates: true, newer: !isByTime, text: false, times: isByTime || options.times, metadata };
}

/**
 * The first `topK` candidates by score and preference, with the detail that was asked for.
 * @param question what the texts are compared with
 */
export function firstCandidates(
  collection: Pick<Searched, "get" | "passages">,
  question: string,
  answer: SearchAnswer,
  options: SearchOptions,
  preferred: Preferred,
): PreferredRows {
  const { recency, named, tiers } = preferred;
  const isByTime = recency !== undefined || named !== undefined;
  const byTime: Ranked[] = isByTime
    ? rankRecent(answer, preferred)
    : answer.rows.map((row) => ({ row, score: row.score, share: 0 }));
  const ranked = (tiers ? inTiers(collection, question, answer, byTime, tiers) : byTime).slice(0, options.topK);
  const { metadata, text, times } = options;
  // If another process deletes a row meanwhile, its text is missing.
  const texts = text
    ? collection
        .get(
          ranked.map(({ row }) => row.id),
          { text },
        )
        .map((row) => row.text)
    : [];
  const rows = ranked.map(({ row, score }, i): Row => {
    return {
      ...row,
      score,
      metadata: metadata ? row.metadata : undefined,
      text: texts[i],
      times: times ? row.times : undefined,
    };
  });
  return recency ? { rows, recencyShares: ranked.map(({ share }) => share) } : { rows };
}
