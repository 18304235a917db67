/** Puts texts into a collection: an embedder makes their vectors. */
import { type PackedStrings, releaseTexts } from "../../ffi/packing.ts";
import { MEANING_ROWS_MAX, Put, type Watch } from "../../ffi/ty_collection.ts";
import { DEFAULT_PARTITION_KEY } from "../checks/names.ts";
import type { RowDetails } from "../checks/rows.ts";
import type { Metadata } from "../checks/values.ts";
import { ValueError } from "../errors.ts";
import type { Occurrences } from "../secrets/stored.ts";
import type { Collection, Transaction } from "../store/collection.ts";
import { packRows, type Rows } from "../store/pack.ts";
import { DEFAULT_PARTITION } from "../store/schema.ts";
import { type Duplicate, duplicatesOf, withoutDuplicates } from "./duplicates.ts";
import { checkSpace, type Embedder } from "./embedder.ts";
import { isMeaningOn } from "./meaning/setting.ts";
import { lostMetadata, withStoredScopes } from "./replaced-metadata.ts";
import { currentMetadata, rowsToSupersede, supersede } from "./supersede.ts";

/** Checked texts, with ids and metadata in the same order. */
export interface TextRows extends RowDetails {
  texts: readonly string[];
  ids: readonly string[];
  /** Rows that the first text replaces: see supersede.ts. */
  supersedes?: readonly string[] | undefined;
  /** The scope of new rows that name none, where the partition key is `scope`; absent: of all rows, and `default`. */
  scope?: string | undefined;
}

/** The ids of a call, or new ones: UUIDv7, so that they sort by age. */
export function idsOrNew(ids: readonly string[] | null | undefined, count: number): readonly string[] {
  return ids ?? Array.from({ length: count }, () => Bun.randomUUIDv7());
}

/** Rows without their vectors: ids where none were given, the partition key where metadata lacks it. */
export function toRows(
  { ids, metadata, scope }: RowDetails & Pick<TextRows, "scope">,
  count: number,
  keyName: string,
): Rows {
  return {
    ids: idsOrNew(ids, count),
    metadata: Array.from({ length: count }, (_, i) => partitioned(metadata?.[i], keyName, scope)),
    defaultPartition: DEFAULT_PARTITION,
  };
}

/** What makes the vectors of texts: the kernel's model, in the put itself and on all cores, or the vectors. */
export type Embedding = (Required<Pick<Rows, "model">> & Pick<Rows, "meaning">) | Required<Pick<Rows, "vectors">>;

/**
 * Embeds texts, unless the put will.
 * @param into where the put may make vectors of meaning as well: the collection
 */
export async function embeddingOf(
  embedder: Embedder,
  texts: readonly string[],
  signal?: AbortSignal,
  into?: Collection,
): Promise<Embedding> {
  const { kernelModel, encoder } = embedder;
  if (kernelModel === undefined) return { vectors: await embedder.embedDocuments(texts, signal) };
  const isShort = into && encoder && texts.length <= MEANING_ROWS_MAX;
  return { model: kernelModel, meaning: isShort && isMeaningOn(into) && (await encoder.load()) };
}

/** What a put of texts did. */
export interface PutTexts {
  inserted: number;
  replaced: number;
  /** Texts of the call that other rows have, or that stand twice in it. */
  duplicates: Duplicate[];
  /** Indexes of those that were not put. */
  skipped: Set<number>;
  /** After an upsert: that rows lost their metadata. */
  notice: string | undefined;
  /** How many rows are marked as replaced. */
  superseded: number;
}

/**
 * Adds or replaces texts. Rows are packed, and so judged, before an embedder outside the kernel does its work; that
 * comes before the lock is taken: it may take long. The kernel does its work in the put, or while the call before this one
 * is saved.
 * @param skip no duplicate is put under a new id
 * @param whileSaving called once the rows are put and their save has begun, which mostly waits for the disk
 */
export async function putTexts(
  collection: Collection,
  embedder: Embedder,
  mode: "add" | "upsert",
  rows: TextRows,
  watch: Watch,
  skip = false,
  whileSaving?: (occurrences: Occurrences) => void,
): Promise<PutTexts> {
  checkSpace(collection.name, collection.schema.embedderProfile, embedder);
  const { dim, keyName, filterColumns } = collection.schema;
  const { texts } = rows;
  const given = toRows(rows, texts.length, keyName);
  const packed = packRows({ ...given, texts }, filterColumns);
  const embedding = await embeddingOf(embedder, texts, watch.signal, collection);
  let released = false;
  const occurrences = (strings: PackedStrings) => {
    if (released) throw new Error("the texts are not packed any more");
    return collection.occurrences(packed.texts!, strings);
  };
  const work = async (t: Transaction) => {
    const replaced = rowsToSupersede(collection, rows.supersedes, rows.ids);
    const duplicates = duplicatesOf(collection, rows, mode === "upsert", packed.texts);
    const kept = skip && duplicates.length > 0 ? withoutDuplicates(collection, rows.ids, duplicates) : undefined;
    const scoped = mode === "add" ? rows : withStoredScopes(collection, rows, false);
    const current = scoped === rows ? given : toRows(scoped, texts.length, keyName);
    const put = kept
      ? { ...some(current, kept), texts: kept.map((i) => texts[i]!), ...embeddingOfSome(embedding, kept, dim) }
      : { ...(current === given ? packed : { ...current, texts }), ...embedding };
    const { ids, metadata, scope } = rows;
    const bare = kept ? { ids: kept.map((i) => ids[i]!), metadata: kept.map((i) => metadata?.[i]), scope } : rows;
    const notice = mode === "add" ? undefined : lostMetadata(collection, bare);
    const done = await t.put(mode === "add" ? Put.ADD : Put.UPSERT, put, watch);
    const isPut = kept && new Set(kept);
    const skipped = new Set(duplicates.map(({ index }) => index).filter((index) => isPut && !isPut.has(index)));
    const first = skipped.has(0) ? duplicates.find(({ index }) => index === 0)!.of : rows.ids[0]!;
    await supersede(t, collection, replaced, first, watch);
    if (whileSaving) setImmediate(whileSaving, occurrences);
    return { ...done, duplicates, skipped, notice, superseded: replaced.length };
  };
  const whole = "model" in embedding && !skip ? { ...packed, ...embedding } : undefined;
  try {
    return await collection.changeTogether(work, watch.signal, whole);
  } finally {
    released = true;
    releaseTexts(packed.texts!);
  }
}

/** The rows of these indexes. */
function some(rows: Rows, kept: readonly number[]): Rows {
  return {
    ids: kept.map((i) => rows.ids[i]!),
    metadata: kept.map((i) => rows.metadata?.[i]),
    ...(rows.defaultPartition === undefined ? {} : { defaultPartition: rows.defaultPartition }),
  };
}

function embeddingOfSome(embedding: Embedding, kept: readonly number[], dim: number): Embedding {
  if (!("vectors" in embedding)) return embedding;
  const vectors = new Float32Array(kept.length * dim);
  for (const [to, from] of kept.entries())
    vectors.set(embedding.vectors.subarray(from * dim, (from + 1) * dim), to * dim);
  return { vectors };
}

/** Replaces text and vector of live rows; a row without new metadata keeps what it has, but is not superseded then. */
export async function updateTexts(
  collection: Collection,
  embedder: Embedder,
  rows: TextRows,
  watch: Watch,
): Promise<number> {
  checkSpace(collection.name, collection.schema.embedderProfile, embedder);
  const embedding = await embeddingOf(embedder, rows.texts, watch.signal, collection);
  return collection.changeTogether((t) => putUpdate(t, collection, rows, embedding, watch), watch.signal);
}

/**
 * The put of an update, inside a change or a stage, so that no other change comes between reading the metadata and the
 * write.
 * @throws ValueError for an id that is not live; nothing is written
 */
export async function putUpdate(
  t: Transaction,
  collection: Collection,
  rows: TextRows,
  embedding: Embedding,
  watch?: Watch,
): Promise<number> {
  const stored = collection.get(rows.ids, { metadata: true });
  const missing = stored.filter((row) => !row.found).map((row) => `'${row.id}'`);
  if (missing.length > 0) {
    const some = missing.slice(0, 3).join(", ");
    throw new ValueError(
      `cannot update ${missing.length} of ${stored.length} ids, among them ${some}: ` +
        `they are not in collection '${collection.name}' (an upsert adds them)`,
      "no_row",
    );
  }
  const { keyName } = collection.schema;
  const own = currentMetadata(collection, stored, rows.texts);
  const given = withStoredScopes(collection, rows, true).metadata;
  const metadata = own.map((kept, i) => (given?.[i] ? partitioned(given[i], keyName, rows.scope) : kept));
  const put = { ids: rows.ids, texts: rows.texts, ...embedding, metadata, defaultPartition: DEFAULT_PARTITION };
  const { replaced } = await t.put(Put.UPDATE, put, watch);
  return replaced;
}

/** Metadata with a value for the partition key; none stays so, unless there is a scope. @param scope see `TextRows` */
export function partitioned(
  metadata: Metadata | null | undefined,
  keyName: string,
  scope?: string,
): Metadata | undefined {
  const partition = partitionOf(keyName, scope);
  if (!metadata) return partition === DEFAULT_PARTITION ? undefined : { [keyName]: partition };
  return Object.hasOwn(metadata, keyName) ? metadata : { ...metadata, [keyName]: partition };
}

/** The partition of rows that name none. */
function partitionOf(keyName: string, scope: string | undefined): string {
  return (keyName === DEFAULT_PARTITION_KEY ? scope : undefined) ?? DEFAULT_PARTITION;
}
