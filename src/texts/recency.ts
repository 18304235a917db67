/** Prefers newer rows among the candidates of a search. */
import { isObject } from "../checks/kinds.ts";
import type { Recency } from "../checks/recency.ts";
import { parseTime } from "../checks/times.ts";
import type { Collection, Row, SearchAnswer, SearchOptions } from "../store/collection.ts";

const DAY_MS = 86_400_000;
/** Candidates whose scores are normalised by their mean and deviation, as the fusion does (calls/fuse.h). */
const HEAD = 100;
/** Shares are whole multiples of this: the last bits of a power differ between platforms, and would decide ties. */
const STEP = 2 ** -40;

/** The rows of an answer, and what recency added to the score of each. */
export interface Recent {
  rows: Row[];
  recencyShares: number[];
}

/**
 * The detail that ranking candidates by recency needs. Texts, of which a row may have megabytes, are read afterwards.
 */
export function candidateDetail(options: SearchOptions, { field }: Recency): SearchOptions {
  const ofRow = field === "updated" || field === "created";
  return { ...options, candidates: true, text: false, times: true, metadata: options.metadata || !ofRow };
}

/** The first `topK` candidates by score and recency, with the detail that was asked for. */
export function preferRecent(
  collection: Collection,
  answer: SearchAnswer,
  options: SearchOptions,
  recency: Recency,
): Recent {
  const ranked = rankRecent(answer, recency).slice(0, options.topK);
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
  return { rows, recencyShares: ranked.map(({ share }) => share) };
}

/** Candidates by score and share, best first, equal ones in the order of insertion. */
function rankRecent({ rows, fused }: SearchAnswer, recency: Recency): { row: Row; score: number; share: number }[] {
  const bases = fused ? rows.map((row) => row.score) : normalised(rows);
  const shares = sharesOf(
    rows.map((row) => timeOf(row, recency.field)),
    recency,
  );
  const ranked = rows.map((row, i) => ({ row, score: bases[i]! + shares[i]!, share: shares[i]! }));
  return ranked.sort((a, b) => b.score - a.score || a.row.birth - b.row.birth);
}

/** What each row's time adds; a row without one gets the median of the others, so that it neither gains nor loses. */
export function sharesOf(times: readonly (number | undefined)[], { weight, halfLifeDays, now }: Recency): number[] {
  const known = times.filter((time) => time !== undefined);
  if (known.length === 0) return times.map(() => 0);
  // Not Math.max of all: a search may have more candidates than a call has arguments.
  const latest = now ?? known.reduce((a, b) => Math.max(a, b));
  const share = (time: number) => {
    const halvings = Math.max(0, latest - time) / (halfLifeDays * DAY_MS);
    return Math.round((weight * 2 ** -halvings) / STEP) * STEP;
  };
  const middle = median(known.map(share));
  return times.map((time) => (time === undefined ? middle : share(time)));
}

/** A row's time by a field: milliseconds, or ISO 8601; undefined where it has none. */
function timeOf({ metadata, times }: Row, field: string): number | undefined {
  if (field === "updated" || field === "created") return times?.[field];
  const value = isObject(metadata) && Object.hasOwn(metadata, field) ? metadata[field] : undefined;
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  return typeof value === "string" ? parseTime(value) : undefined;
}

/** Scores of one ranking on the scale of fused ones: deviations from the mean of the first HEAD. */
function normalised(rows: readonly Row[]): number[] {
  const head = rows.slice(0, HEAD).map((row) => row.score);
  const mean = head.reduce((sum, score) => sum + score, 0) / (head.length || 1);
  const square = head.reduce((sum, score) => sum + (score - mean) ** 2, 0) / (head.length || 1);
  return rows.map(({ score }) => (score - mean) / (Math.sqrt(square) || 1));
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
