/** Hits of a search by text: rows with their texts, or the passages of these that fit the query best. */
import { fitHits } from "../answers/hits.ts";
import { optional } from "../checks/kinds.ts";
import { REPO_KEY } from "../checks/names.ts";
import { POSITIVE, readNumber } from "../checks/numbers.ts";
import { type Condition, readWhere } from "../checks/where.ts";
import type { Collection, Detail, Row } from "../store/collection.ts";
import { joinNotices, REPO_ROWS } from "../texts/notices.ts";
import { passagesOf } from "../texts/passages.ts";
import type { TextAnswer } from "../texts/search.ts";
import type { Hit, HitOptions } from "./api.ts";

/** Hits whose texts are read together. A text may have 16 MiB. */
const BATCH_HITS = 16;

/** What of hits is shown. */
interface Shown {
  where: Condition | undefined;
  withText: boolean;
  withMetadata: boolean;
  textBytes: number | undefined;
}

/** The hits of one search, best first; texts that did not come with the ranking are read when their batch is. */
export interface HitBatches {
  batches: Iterable<Hit[]>;
  notice: string | undefined;
}

/** @throws TypeError, ValueError for an option that is wrong, before anything is read */
export function readShown({ where, withText = true, withMetadata = true, textBytes }: HitOptions): Shown {
  const bytes = optional(textBytes, "textBytes", (value, name) => readNumber(value, name, POSITIVE));
  return { where: readWhere(where), withText, withMetadata, textBytes: bytes };
}

/** What the ranking reads of its rows: the texts of few rows come with it, from the same saved state. */
export function hitDetail({ withText, withMetadata }: Shown, topK: number): Detail {
  return { text: withText && topK <= BATCH_HITS, metadata: withMetadata, times: true };
}

/** The hits of an answer that has what `hitDetail` requests. */
export function hitBatches(collection: Collection, query: string, answer: TextAnswer, shown: Shown): HitBatches {
  const { rows } = answer;
  const lacksTexts = shown.withText && rows.length > 0 && collection.schema.keyName === REPO_KEY;
  const notice = joinNotices("; ", [answer.notice, lacksTexts ? REPO_ROWS : undefined]);
  return { batches: batchesOf(collection, query, rows, shown), notice };
}

function* batchesOf(collection: Collection, query: string, rows: readonly Row[], shown: Shown): Generator<Hit[]> {
  const passages = passagesOf(collection, query, shown.where);
  const textsOf = (some: readonly Row[]) => {
    const isRead = some.some(({ text }) => text !== undefined);
    const ids = some.map(({ id }) => id);
    return (isRead ? some : collection.get(ids, { text: true })).map(({ text }) => text);
  };
  const texts = shown.withText ? textsOf : undefined;
  for (let at = 0; at < rows.length; at += BATCH_HITS) {
    const ranking = { rows: rows.slice(at, at + BATCH_HITS), toHit, texts, passages, textBytes: shown.textBytes };
    yield fitHits("search", { query, max_bytes: 0 }, {}, ranking, 0).hits;
  }
}

function toHit({ id, score, metadata, times }: Row): Hit {
  const { created, updated } = times!;
  const date = new Date(updated).toISOString().split("T")[0]!;
  return { id, score, ...(metadata && { metadata }), created, updated, date };
}
