/** One collection in this process, as a program uses it: vectors or texts, changes in memory until saved. */

import { readId, readIds } from "../checks/ids.ts";
import { optional, shown } from "../checks/kinds.ts";
import { readMetadata } from "../checks/metadata.ts";
import {
  B,
  COUNT,
  clampTopK,
  IVF_MIN_ROWS_DEFAULT,
  K1,
  POSITIVE,
  RECALL_DEFAULT,
  readNumber,
  recallOf,
} from "../checks/numbers.ts";
import { readRecency } from "../checks/recency.ts";
import { checkRowDetails, readRowDetails } from "../checks/rows.ts";
import { readDescription, readString } from "../checks/strings.ts";
import { readTexts } from "../checks/texts.ts";
import { readTimes } from "../checks/times.ts";
import { readMatrix } from "../checks/vectors.ts";
import { readWhere } from "../checks/where.ts";
import { CancelledError } from "../errors.ts";
import type { Collection, Detail } from "../store/collection.ts";
import type { StoreView } from "../store/limited/view.ts";
import { type PackedRows, packRows, type Rows } from "../store/pack.ts";
import type { Schema } from "../store/schema.ts";
import { Put } from "../store/writer.ts";
import type { Embedders } from "../texts/embedders.ts";
import { type Save, savesOf, type Version, versionsOf } from "../texts/history/history.ts";
import { type Undone, type UndoOptions, type UndoTarget, undo } from "../texts/history/undo.ts";
import type { SentenceEncoder } from "../texts/meaning/encoder.ts";
import { awayNotice, joinNotices, UNRANKED } from "../texts/notices.ts";
import { type Embedding, embeddingOf, putUpdate, toRows } from "../texts/put.ts";
import { BM25 } from "../texts/ranking.ts";
import { isBlank, requireLexical, searchTexts, type TextAnswer } from "../texts/search.ts";
import { collectionStats } from "../texts/stats.ts";
import { buildIvf } from "../tune/ivf.ts";
import type { Plan } from "../tune/plan.ts";
import { applyPlan, tune } from "../tune/tuner.ts";
import type { CollectionApi, CollectionStats, HitsResult, Id, Vector, Vectors, Where } from "./api.ts";
import { type Following, reach } from "./generations.ts";
import { type HitBatches, hitBatches, hitDetail, readShown } from "./hits.ts";
import type * as given from "./options.ts";
import { getRows, searchVector, searchVectors, searchWords, toResult } from "./reading.ts";
import { snapshot } from "./snapshot.ts";

/**
 * A handle by name: each call goes to the collection that has the name at that time. Changes of rows are in memory
 * until `save` and seen here at once; index builds, `compact`, `snapshot` and an applied tuning save them first. From
 * the first unsaved change to its save, writes of other processes wait.
 *
 * Vectors are not copied: do not change them before the call is over. Aborting `signal` ends a call with a
 * CancelledError and without effect. `onProgress(done, total)` is called about ten times a second.
 */
export class LocalCollection implements CollectionApi {
  /** Made by `LocalStore` only. */
  constructor(
    readonly name: string,
    private readonly store: StoreView,
    private readonly embedders: Embedders,
    private readonly encoder: SentenceEncoder,
    private readonly following?: Following,
  ) {}

  /** Fixed when the collection was created. */
  get schema(): Schema {
    return this.inner.schema;
  }

  /** What it is for, as its manifest says; undefined where that was never said. */
  get description(): string | undefined {
    return this.inner.manifest().description;
  }

  /**
   * Says what the collection is for, and saves; undefined removes the description.
   * @throws ValueError for an empty text, or one of more than 4096 bytes in JSON
   */
  async describe(description: string | undefined): Promise<void> {
    const text = optional(description, "description", readDescription);
    await this.inner.change(async (t) => t.set("description", text));
  }

  /** Failed saves of unsaved changes since this process began; each dropped the changes. */
  get lostSaves(): number {
    return this.store.lostSavesOf(this.name);
  }

  /** Live rows, including unsaved ones. */
  get size(): number {
    return this.inner.count();
  }

  /** Whether an id is live. */
  has(id: Id): boolean {
    return this.inner.get([readId(id, "id")], {})[0]!.found;
  }

  add(vectors: Vectors, options: given.LocalRowOptions = {}): Promise<string[]> {
    return this.putVectors("add", vectors, options);
  }

  upsert(vectors: Vectors, options: given.LocalRowOptions = {}): Promise<string[]> {
    return this.putVectors("upsert", vectors, options);
  }

  addTexts(texts: readonly string[], options: given.LocalRowOptions = {}): Promise<string[]> {
    return this.putTexts("add", texts, options);
  }

  upsertTexts(texts: readonly string[], options: given.LocalRowOptions = {}): Promise<string[]> {
    return this.putTexts("upsert", texts, options);
  }

  /**
   * Replaces text and vector of live rows, and metadata where it is given, all or nothing; resolves to their number.
   * @throws ValueError for an id that is not live; nothing changes
   */
  async updateTexts(texts: readonly string[], options: given.UpdateOptions): Promise<number> {
    const metadata = optional(options.metadata, "metadata", readMetadata);
    const rows = { texts: readTexts(texts), ids: readIds(options.ids), metadata };
    checkRowDetails(rows, texts.length);
    const embedding = await this.embed(texts, options.signal);
    const current = this.inner; // after embedding: the collection may have been opened again
    return current.stage((t) => putUpdate(t, current, rows, embedding, options), options.signal);
  }

  /** Puts rows that the server's decoder has checked and packed. */
  async put(mode: "add" | "upsert", rows: Rows | PackedRows, watch?: given.Watch): Promise<void> {
    await this.inner.stage((t) => t.put(mode === "add" ? Put.ADD : Put.UPSERT, rows, watch), watch?.signal);
  }

  /** Embeds texts and puts their rows, which are checked and packed but for the vectors. */
  async putPackedTexts(
    mode: "add" | "upsert",
    texts: readonly string[],
    rows: PackedRows,
    watch?: given.Watch,
  ): Promise<void> {
    await this.put(mode, { ...rows, ...(await this.embed(texts, watch?.signal)) }, watch);
  }

  async delete(ids: readonly Id[], watch?: given.Watch): Promise<number> {
    const names = readIds(ids);
    return this.inner.stage((t) => t.delete(names), watch?.signal);
  }

  /**
   * Saves, and then takes back, as a further save, what a save has changed: the one that `target` names, all since a
   * time, or the latest that is neither an undo nor undone. Rows that come back have id, text, metadata, vector and
   * `created` as they were, and `updated` now. Rows that later saves changed stay as they are (`changed`), unless `force`
   * is given.
   * @throws ValueError where there is nothing to undo, or the history does not reach so far; nothing changes
   */
  async undo(target: UndoTarget = {}, options: UndoOptions = {}): Promise<Undone> {
    return undo(this.inner, target, options);
  }

  /** The saves that the history has, the latest first; read as far as the caller goes. */
  saves(): Generator<Save, undefined> {
    return savesOf(this.inner);
  }

  /** The versions of a row, the latest first, as far as the history reaches. */
  versions(id: Id): Version[] {
    return versionsOf(this.inner, readIds([id])[0]!);
  }

  async search(
    vector: Vector | readonly [Vector],
    options: given.LocalSearchOptions = {},
  ): Promise<given.LocalSearchResult> {
    if (options.atLeast !== undefined) await this.reach(options.atLeast);
    return this.noticed(await this.searchAtOnce(vector, options));
  }

  /** Waits for a generation, as `atLeast` of queries does. @throws TimeoutError `behind` */
  async reach(atLeast: number): Promise<void> {
    const { name, store, following } = this;
    await reach({ store, name, following }, atLeast);
  }

  /** As `search`; a promise only where a worker has to answer. Without one, errors are thrown. */
  searchAtOnce(
    vector: Vector | readonly [Vector],
    options: given.LocalSearchOptions,
  ): given.LocalSearchResult | Promise<given.LocalSearchResult> {
    const opened = this.store.opened(this.name);
    if (!opened) return searchVector(this.inner, vector, options);
    const again = (error: unknown) => {
      if (opened.isThere) throw error;
      return searchVector(this.inner, vector, options); // deleted, or created again
    };
    try {
      const result = searchVector(opened, vector, options);
      return result instanceof Promise ? result.catch(again) : result;
    } catch (error) {
      return again(error);
    }
  }

  /**
   * What `search` returns for each of several vectors, in their order, but faster: they share passes over the rows, on
   * `threads` threads (as many as the machine has cores, at most four). All see one saved state. With `explain` the
   * counts are means.
   * @throws ValueError for queries that may find more than two million hits together
   */
  async searchMany(vectors: Vectors, options: given.ManySearchOptions = {}): Promise<given.LocalSearchResult[]> {
    if (options.atLeast !== undefined) await this.reach(options.atLeast);
    const { signal } = options;
    const threads = options.threads === undefined ? 0 : readNumber(options.threads, "threads", POSITIVE);
    const results = await this.cancellable(signal, () => searchVectors(this.inner, vectors, options, threads));
    return results.map((result) => this.noticed(result));
  }

  async searchText(text: string, options: given.TextSearchOptions = {}): Promise<given.LocalSearchResult> {
    const { withMetadata, withTimes } = options;
    const detail = { metadata: withMetadata, scores: options.explain, times: withTimes };
    return toResult(await this.rankTexts(text, options, () => detail), options);
  }

  async searchHits(text: string, options: given.LocalHitOptions = {}): Promise<HitsResult> {
    const { batches, notice } = await this.hitBatches(text, options);
    const hits = [...batches].flat();
    return notice === undefined ? { hits } : { hits, notice };
  }

  /** As `searchHits`, some hits at a time: the texts of all may be too large together. */
  async hitBatches(text: string, options: given.LocalHitOptions): Promise<HitBatches> {
    const shown = readShown(options);
    const answer = await this.rankTexts(text, options, (topK) => hitDetail(shown, topK));
    return hitBatches(this.inner, text, answer, shown);
  }

  /**
   * The rows that hold words of a query, by BM25; needs no embedder.
   * @throws RuntimeError where the collection was created without `lexical`, or `buildLexical` was never called
   */
  async searchLexical(query: string, options: given.LexicalSearchOptions = {}): Promise<given.LexicalResult> {
    if (options.atLeast !== undefined) await this.reach(options.atLeast);
    return this.noticed(await searchWords(this.inner, query, options));
  }

  /** Rows in the order of `ids`; `found` is false for an id that is not live. */
  async get(ids: readonly Id[], options: given.GetOptions = {}): Promise<given.GotRow[]> {
    if (options.atLeast !== undefined) await this.reach(options.atLeast);
    return getRows(this.inner, ids, options);
  }

  /**
   * Ids of the live rows in the order they were first added, or the last updated first. @throws ValueError, TypeError
   */
  async ids(where?: Where, options: given.ListOptions = {}): Promise<string[]> {
    if (options.atLeast !== undefined) await this.reach(options.atLeast);
    return this.inner.ids({ where: readWhere(where), ...readTimes(options) });
  }

  /** How many live rows match; all of them without `where`. */
  async count(where?: Where): Promise<number> {
    return this.inner.count(readWhere(where));
  }

  async stats(): Promise<CollectionStats> {
    const { inner } = this;
    const unsaved_changes = inner.hasStaged || !inner.isSaved;
    const counters = await collectionStats(inner, this.encoder);
    return { ...counters, unsaved_changes, lost_saves: this.lostSaves } as CollectionStats;
  }

  async save(): Promise<number> {
    return this.inner.saveGeneration();
  }

  async compact(watch?: given.Watch): Promise<void> {
    await this.inner.compact(watch);
  }

  /**
   * Builds an approximate index for each partition that is large enough and makes its recall the collection's default;
   * resolves to their number. Rows added later are found. Where no partition is large enough, nothing changes.
   * @throws ValueError for an option outside its range
   */
  async buildIvf(options: given.IvfOptions = {}): Promise<number> {
    const minRows = readNumber(options.minRows ?? IVF_MIN_ROWS_DEFAULT, "minRows", COUNT);
    return (await buildIvf(this.inner, minRows, recallOf(options) ?? RECALL_DEFAULT, options)).partitions;
  }

  /**
   * Builds the lexical index with these parameters and allows `searchLexical`. Rows added later are found.
   * `searchText` needs no build.
   * @throws RuntimeError where the collection was created without `lexical`; ValueError for an option outside its range
   */
  async buildLexical(options: given.LexicalOptions = {}): Promise<void> {
    requireLexical(this.inner);
    const k1 = readNumber(options.k1 ?? BM25.k1, "k1", K1);
    await this.inner.buildLexical(k1, readNumber(options.b ?? BM25.b, "b", B), options);
  }

  /** Measures, plans, and applies the plan as `dryRun` says. @throws ValueError for a plan that cannot be applied */
  async tune(options: given.TuneOptions = {}): Promise<Plan> {
    return this.cancellable(options.signal, () => tune(this.inner, options.dryRun, options, options.tuner));
  }

  /**
   * Applies a plan, of this tuner or another; resolves to it with what was measured afterwards.
   * @throws ValueError that says what is wrong with the plan; nothing changes
   */
  async applyTuning(plan: Plan, watch: given.Watch = {}): Promise<Plan> {
    return this.cancellable(watch.signal, () => applyPlan(this.inner, plan, watch));
  }

  /**
   * Saves, and copies the collection under its name into another memory directory, which is made where it is missing.
   * The copy is verified before it gets its name: it is there whole or not at all. Others may write meanwhile.
   * @throws ValueError where `dir` has something of this name; OSError
   */
  async snapshot(dir: string, options: given.CopyOptions = {}): Promise<void> {
    readString(dir, "dir");
    const { inner, store } = this;
    await this.cancellable(options.signal, () => snapshot(inner, dir, store, options));
  }

  private get inner(): Collection {
    return this.store.open(this.name);
  }

  /** @param detailOf what to read of so many rows */
  private async rankTexts(
    text: string,
    options: given.LocalHitOptions,
    detailOf: (topK: number) => Detail,
  ): Promise<TextAnswer> {
    readString(text, "text");
    if (options.atLeast !== undefined) await this.reach(options.atLeast);
    const { inner } = this;
    const { signal } = options;
    const where = readWhere(options.where);
    const targetRecall = recallOf(options);
    const embedder = await this.embedders.attached(this.name, inner.schema.embedderProfile);
    const topK = clampTopK(options.topK, "topK");
    const recency = optional(options.recency, "recency", (value, name) => readRecency(value, name, "halfLifeDays"));
    const request = { topK, where, targetRecall, recency, ...detailOf(topK) };
    const answer = await this.cancellable(signal, () => searchTexts(inner, embedder, text, request, signal));
    return this.noticed(isBlank(inner, text) ? withNotice(answer, UNRANKED) : answer);
  }

  /** An answer, which says so where the database of its memory cannot be reached. */
  private noticed<T extends { notice?: string | undefined }>(answer: T): T {
    const away = awayNotice(this.following?.outage);
    return away === undefined ? answer : withNotice(answer, away);
  }

  private async putVectors(
    mode: "add" | "upsert",
    vectors: Vectors,
    options: given.LocalRowOptions,
  ): Promise<string[]> {
    const { dim, keyName } = this.schema;
    const { floats, count } = readMatrix(vectors, "vectors", dim);
    const rows = { ...toRows(readRowDetails(options, count), count, keyName), vectors: floats };
    await this.put(mode, rows, options);
    return [...rows.ids];
  }

  private async putTexts(
    mode: "add" | "upsert",
    texts: readonly string[],
    options: given.LocalRowOptions,
  ): Promise<string[]> {
    const { keyName, filterColumns } = this.schema;
    const details = readRowDetails(options, readTexts(texts).length);
    const rows = toRows(details, texts.length, keyName);
    await this.putPackedTexts(mode, texts, packRows({ ...rows, texts }, filterColumns), options);
    return [...rows.ids];
  }

  /** Before the writer's lock is taken: an embedder outside the kernel may take long. */
  private async embed(texts: readonly string[], signal: AbortSignal | undefined): Promise<Embedding> {
    const { inner } = this;
    const embedder = await this.embedders.attached(this.name, inner.schema.embedderProfile);
    return this.cancellable(signal, () => embeddingOf(embedder, texts, signal, inner));
  }

  /** Runs an embedder or a tuner, which watches the signal itself: any failure after an abort is a CancelledError. */
  private async cancellable<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const cancelled = () =>
      new CancelledError(`the call was cancelled; collection ${shown(this.name)} stands as it was`);
    if (signal?.aborted) throw cancelled();
    try {
      return await work();
    } catch (error) {
      throw signal?.aborted ? cancelled() : error;
    }
  }
}

function withNotice<T extends { notice?: string | undefined }>(answer: T, notice: string): T {
  return { ...answer, notice: joinNotices("; ", [notice, answer.notice]) };
}
