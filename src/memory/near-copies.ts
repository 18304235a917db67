/** Rows that repeat, replace or contradict each other, for a person who decides which of them stays. */
import { shown } from "../checks/kinds.ts";
import { REPO_KEY, SUPERSEDED_BY } from "../checks/names.ts";
import type { Metadata } from "../checks/values.ts";
import { ValueError } from "../errors.ts";
import type { Collection } from "../store/collection.ts";
import type { Embedder } from "../texts/embedder.ts";
import { similarRows } from "../texts/similar/similar.ts";
import { rowsToSupersede, supersede } from "../texts/supersede.ts";
import { isSuperseded } from "../texts/tiers.ts";
import { idsAfter, type LatestPlace } from "./latest.ts";
import { type CallContext, watch } from "./requests.ts";

/** The most bytes of a text that are read. A longer text is not compared. */
const TEXT_MOST = 32 * 1024;
/** A text that was cut may be shorter than that by so many bytes, as it ends with a whole character. */
const CHARACTER_BYTES = 4;

/** Two rows of which one has the text of the other, has nearly its text, or replaces it. */
export interface RowPair {
  kind: "same" | "near" | "replaced";
  /** The row that was added or changed later. */
  newer: PairedRow;
  older: PairedRow;
}

export interface PairedRow {
  id: string;
  text: string;
  metadata?: Metadata | undefined;
  created: number;
  updated: number;
}

/** Marks the row `id` as replaced by the row `by`. @throws ValueError if one of them does not exist, or both are the same */
export async function markReplaced(
  collection: Collection,
  { id, by }: { id: string; by: string },
  c: CallContext,
): Promise<void> {
  await collection.change(async (t) => {
    const rows = rowsToSupersede(collection, [id], [by]);
    if (!collection.get([by], {})[0]!.found) {
      throw new ValueError(`the row ${shown(by)} was deleted, so it cannot replace ${shown(id)}`, "no_row");
    }
    await supersede(t, collection, rows, by, watch(c));
  }, c.signal);
}

/** Which rows are compared with others: those of a page, the last updated first. */
export interface PairsArguments {
  collection: string;
  after?: LatestPlace | undefined;
  /** The most rows of the page. */
  limit: number;
}

export interface PairsPayload {
  /** How many rows were compared. */
  looked: number;
  pairs: RowPair[];
  /** Where the next page of rows begins; absent after the last one. */
  next?: LatestPlace;
}

/** The pairs of which the rows of a page are a part. An index of a repository has none: its rows follow its files. */
export async function pairsIn(
  collection: Collection,
  embedder: Embedder,
  { after, limit }: PairsArguments,
  { signal }: CallContext,
): Promise<PairsPayload> {
  if (collection.schema.keyName === REPO_KEY) return { looked: 0, pairs: [] };
  const { ids, next } = idsAfter(collection, { after, limit });
  const pairs = new Map<string, RowPair>();
  const add = (pair: RowPair) => {
    const key = JSON.stringify([pair.newer.id, pair.older.id].sort());
    if (!pairs.has(key)) pairs.set(key, pair);
  };
  for (const row of read(collection, ids)) {
    signal?.throwIfAborted();
    for (const pair of await pairsOf(collection, embedder, row)) add(pair);
  }
  return { looked: ids.length, pairs: [...pairs.values()], ...(next && { next }) };
}

async function pairsOf(collection: Collection, embedder: Embedder, row: PairedRow): Promise<RowPair[]> {
  const by = row.metadata?.[SUPERSEDED_BY];
  if (typeof by === "string" && by !== "") {
    return read(collection, [by]).map((newer) => ({ kind: "replaced", newer, older: row }));
  }
  const same = collection.sameTexts([row.text], 2).flatMap(({ id }) => (id === row.id ? [] : [id]));
  const one = { texts: [row.text], ids: [row.id], metadata: [row.metadata] };
  const near = await similarRows(collection, embedder, one, false);
  const pairs = (kind: "same" | "near", ids: readonly string[]) =>
    read(collection, ids).map((other): RowPair => {
      const isLater = row.updated > other.updated || (row.updated === other.updated && row.id > other.id);
      return { kind, ...(isLater ? { newer: row, older: other } : { newer: other, older: row }) };
    });
  return [
    ...pairs("same", same.slice(0, 1)),
    ...pairs(
      "near",
      near.map(({ of }) => of),
    ),
  ];
}

/** How many rows are found for each that is shown: rows that others replaced are left out, and so is the row itself. */
const FOUND = 3;
/** A lower cosine has little in common: near copies have at least 0.109. */
const SCORE_LEAST = 0.15;

/** Rows whose texts are most like one, the most like it first. None where vectors are made outside of the kernel. */
export async function rowsLike(
  collection: Collection,
  { kernelModel }: Embedder,
  { id, text, limit }: { id: string; text: string; limit: number },
): Promise<PairedRow[]> {
  if (kernelModel === undefined || text === "") return [];
  const question = { by: "vector", model: kernelModel, text } as const;
  const { rows } = await collection.ask(question, { topK: FOUND * (limit + 1) });
  const ids = rows.filter((row) => row.id !== id && row.score >= SCORE_LEAST).map((row) => row.id);
  return read(collection, ids)
    .filter(({ metadata }) => !isSuperseded(metadata))
    .slice(0, limit);
}

/** Those of the rows that exist and have a text that is short enough to be compared. */
function read(collection: Collection, ids: readonly string[]): PairedRow[] {
  return collection.get(ids, { metadata: true, text: true, times: true }, TEXT_MOST).flatMap((row) => {
    const { id, found, text, metadata, times } = row;
    if (!found || !text || Buffer.byteLength(text) > TEXT_MOST - CHARACTER_BYTES) return [];
    return [{ id, text, metadata, ...times! }];
  });
}
