/** Collections of texts: what the verbs do on a collection once their arguments are known. An embedder makes the vectors. */
import { Put, type Watch } from "../../ffi/ty_collection.ts";
import { checkSpace, type Embedder } from "../embed/embedder.ts";
import { ValueError } from "../errors.ts";
import type { Collection, Detail, Row, SearchAnswer, Transaction } from "../store/collection.ts";
import type { Metadata } from "../store/filter.ts";
import { candidateDepth, fuse } from "./fusion.ts";
import type { CallContext } from "./schemas.ts";

/** What a row gets for the partition key when its metadata has none. */
export const DEFAULT_PARTITION = "default";

/** Texts as a caller gives them: ids and metadata side by side with them. */
export interface TextRows {
  texts: readonly string[];
  ids: readonly string[];
  metadata?: readonly (Metadata | null | undefined)[] | undefined;
}

/** The ids of a call, or new ones: UUIDv7, so that they sort by age. */
export function idsOrNew(ids: readonly string[] | null | undefined, count: number): readonly string[] {
  return ids ?? Array.from({ length: count }, () => Bun.randomUUIDv7());
}

/** Adds or replaces texts; embedding comes first, so that the lock is held for the write only. */
export async function putTexts(
  collection: Collection,
  embedder: Embedder,
  mode: "add" | "upsert",
  rows: TextRows,
  context: CallContext,
): Promise<{ inserted: number; replaced: number }> {
  checkSpace(collection.name, collection.schema.embedderProfile, embedder);
  const vectors = await embedder.embedDocuments(rows.texts, context.signal);
  const metadata = rows.texts.map((_, i) => partitioned(rows.metadata?.[i], collection.schema.keyName));
  const put = { ids: rows.ids, texts: rows.texts, vectors, metadata, defaultPartition: DEFAULT_PARTITION };
  return collection.change((t) => t.put(mode === "add" ? Put.ADD : Put.UPSERT, put, watch(context)), context.signal);
}

/** Replaces text and vector of live rows; a row without new metadata keeps what it has. */
export async function updateTexts(
  collection: Collection,
  embedder: Embedder,
  rows: TextRows,
  context: CallContext,
): Promise<number> {
  checkSpace(collection.name, collection.schema.embedderProfile, embedder);
  const vectors = await embedder.embedDocuments(rows.texts, context.signal);
  return collection.change((t) => putUpdate(t, collection, rows, vectors, watch(context)), context.signal);
}

/**
 * The put of an update: inside a change or a stage, so that nobody changes the metadata between the look at it and the write.
 * @throws ValueError for an id that is not live; nothing is written
 */
export async function putUpdate(
  t: Transaction,
  collection: Collection,
  rows: TextRows,
  vectors: Float32Array,
  watch?: Watch,
): Promise<number> {
  const stored = collection.get(rows.ids, { metadata: true });
  const missing = stored.filter((row) => !row.found).map((row) => `'${row.id}'`);
  if (missing.length > 0) {
    const some = missing.slice(0, 3).join(", ");
    throw new ValueError(
      `cannot update ${missing.length} of ${stored.length} ids, among them ${some}: they are not in collection '${collection.name}' (an upsert adds them)`,
    );
  }
  const { keyName } = collection.schema;
  const metadata = stored.map((row, i) => {
    const given = rows.metadata?.[i];
    return given ? partitioned(given, keyName) : row.metadata;
  });
  const put = { ids: rows.ids, texts: rows.texts, vectors, metadata, defaultPartition: DEFAULT_PARTITION };
  const { replaced } = await t.put(Put.UPDATE, put, watch);
  return replaced;
}

/** The answer to a text: rows best first, and what each ranking said. */
export interface TextAnswer {
  rows: Row[];
  dense: SearchAnswer;
  /** The ranking by words, where it was fused in. */
  lexical: Row[] | undefined;
}

/** The dense ranking, fused with the lexical one where its index is built. A fused row's score is the fusion's. */
export async function searchTexts(
  collection: Collection,
  embedder: Embedder,
  args: { query: string; topK: number; where?: Metadata | undefined; targetRecall?: number | undefined },
  detail: Detail,
  signal?: AbortSignal,
): Promise<TextAnswer> {
  checkSpace(collection.name, collection.schema.embedderProfile, embedder);
  const query = await embedder.embedQueries([args.query], signal);
  const { where, targetRecall } = args;
  const weighted = embedder.weightedQueries;
  if (!collection.schema.lexical || collection.stats().lexical_built === 0) {
    const dense = await collection.search(query, { topK: args.topK, where, targetRecall, weighted, ...detail });
    return { rows: dense.rows, dense, lexical: undefined };
  }
  const topK = candidateDepth(args.topK);
  const [dense, lexical] = await Promise.all([
    collection.search(query, { topK, where, targetRecall, weighted }),
    collection.searchLexical(args.query, { topK, where }),
  ]);
  const fused = fuse(dense.rows, lexical, 2 * topK);
  const rows: Row[] = [];
  for (let at = 0; rows.length < args.topK && at < fused.length; ) {
    const hits = fused.slice(at, at + args.topK - rows.length);
    at += hits.length;
    const ids = hits.map((hit) => hit.id);
    // A row deleted by another process between the ranking and this look makes room for the next.
    const found = collection.get(ids, detail).map((row, i) => ({ ...row, score: hits[i]!.score }));
    rows.push(...found.filter((row) => row.found));
  }
  return { rows, dense, lexical };
}

/** The part of a call's context that the store watches. */
export function watch(context: CallContext) {
  return { signal: context.signal, onProgress: context.progress };
}

/** Metadata with a value for the partition key; undefined stays so. */
export function partitioned(metadata: Metadata | null | undefined, keyName: string): Metadata | undefined {
  if (!metadata) return undefined;
  return Object.hasOwn(metadata, keyName) ? metadata : { ...metadata, [keyName]: DEFAULT_PARTITION };
}
