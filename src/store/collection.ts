/**
 * One open collection: the live rows, questions to them, and changes, each saved before it is answered. Changes of one
 * collection are ordered here; the native side keeps other processes' writers out and follows what they saved.
 */

import type { ModelCode } from "../../ffi/ame_kernel.ts";
import type { PartitionInfo, RowRecord, TermShare } from "../../ffi/records.ts";
import {
  By,
  type NativeCollection,
  type NativeHits,
  type NativeStats,
  Put,
  type Watch,
  With,
} from "../../ffi/ty_collection.ts";
import { packStrings } from "../../ffi/words.ts";
import { isObject, shown } from "../checks/kinds.ts";
import type { FilterValue, Metadata } from "../checks/values.ts";
import { checkDim } from "../checks/vectors.ts";
import type { Condition } from "../checks/where.ts";
import { ValueError } from "../errors.ts";
import { MANY_HITS_MAX, TEXT_EMBED_BYTES_MAX } from "../limits.ts";
import { damaged, fromNative } from "./failure.ts";
import { decodeKey, toFilter } from "./filter.ts";
import type { Rows } from "./pack.ts";
import { type Manifest, parseManifest, type Schema } from "./schema.ts";
import { type Transaction, Writer } from "./writer.ts";

export type { Transaction } from "./writer.ts";

const BY = { vector: By.VECTOR, words: By.WORDS, both: By.BOTH } as const;

/** What an answer carries beside ids and scores. */
export interface Detail {
  metadata?: boolean;
  text?: boolean;
  vector?: boolean;
  /** What each term of the text added, by words. */
  explain?: boolean;
  /** What each ranking said. */
  scores?: boolean;
}

/** One row of an answer. */
export interface Row {
  id: string;
  found: boolean;
  /**
   * Order of insertion; a row that replaced another has that one's. Equal scores stand in it. Compaction keeps the
   * order, not the numbers.
   */
  birth: number;
  score: number;
  metadata: Metadata | undefined;
  text: string | undefined;
  vector: Float32Array | undefined;
  terms: TermShare[] | undefined;
  /** Scores by vector and by words; NaN where that ranking did not list the row. */
  scores: { vector: number; words: number } | undefined;
}

/** A condition and a bound on a search. */
export interface SearchOptions extends Detail {
  topK: number;
  where?: Condition | undefined;
  /** A second condition: rows whose value in the column is this text, or begins with it and a slash. */
  under?: { column: string; value: string } | undefined;
  /** 1 is exact; below 1 an IVF index may be used; absent: the collection's default. */
  targetRecall?: number | undefined;
  /**
   * Weigh the question's dimensions by what the live rows hold, the more the less is in them, and scale it to unit
   * length: for embedders that say so (`Embedder.weightedQueries`). Of inner-product collections only.
   */
  weighted?: boolean | undefined;
}

/** What is asked with `Collection.ask`. */
export interface Question {
  /** What ranks rows: `both` is both rankings fused where a lexical index is built, and by vector alone otherwise. */
  by: "vector" | "words" | "both";
  /** Of the collection's dimension; where it is absent, the kernel's `model` embeds the text. */
  vector?: Float32Array | undefined;
  model?: ModelCode | undefined;
  text?: string | undefined;
  /** How much the ranking by vector counts in a fused one, 0 to 1; the one by words has the rest. */
  denseWeight?: number | undefined;
}

/** The best rows and what was read to find them. */
export interface SearchAnswer {
  rows: Row[];
  /** Whether both rankings were asked. */
  fused: boolean;
  screenedRows: number;
  scoredRows: number;
  probedLists: number;
}

/** A partition as a plan shows it. */
export interface Partition {
  key: FilterValue | undefined;
  rows: number;
  nlist: number;
  nprobe: number;
  /**
   * How much farther rows lie from their lists' centroids than when those were made, as a ratio of mean squares; 0
   * without an index.
   */
  drift: number;
}

/** What a collection is given by its store. */
export interface CollectionOptions {
  /** Makes the memory directory where it is missing. */
  ensureHome(): void;
  /** Called after a save that failed and dropped what was staged. */
  onLost(name: string): void;
  /** Questions that are going to read more bytes of codes than this run on a worker. */
  inlineScanBytes: number;
}

/** A collection; see the class comment of `Store` for how to get one. */
export class Collection {
  /** Questions on a worker, which closing waits for. */
  private readonly asked = new Set<Promise<unknown>>();
  private readonly writer: Writer;

  /** Made by `Store` only. */
  constructor(
    readonly name: string,
    readonly schema: Schema,
    private readonly native: NativeCollection,
    private readonly options: CollectionOptions,
  ) {
    const { ensureHome, onLost } = options;
    this.writer = new Writer(name, schema, native, ensureHome, () => onLost(name), native.stats().generation > 0);
  }

  /** The manifest as it stands, other processes' saves included. */
  manifest(): Manifest {
    return this.answered(() => parseManifest(this.native.manifest()));
  }

  /** Whether there is a save that this process knows of. Until then the collection exists in its memory only. */
  get isSaved(): boolean {
    return this.writer.isSaved;
  }

  /** Whether it is still on disk; cheap. */
  get isThere(): boolean {
    return this.native.isThere();
  }

  /** Whether staged changes wait for a save; the writer's lock is held as long. */
  get hasStaged(): boolean {
    return this.writer.hasStaged;
  }

  /** Whether something is staged, under way or in line. */
  get isBusy(): boolean {
    return this.writer.isBusy;
  }

  /** Number of the last save, other processes' included; 0 while the collection was never saved. */
  get generation(): number {
    return this.stats().generation;
  }

  /** Runtime counters. */
  stats(): NativeStats {
    return this.answered(() => this.native.stats());
  }

  /** Adds rows under new ids; an id that is live or stands twice is a KeyError and nothing is written. */
  add(rows: Rows, watch?: Watch): Promise<number> {
    return this.change((t) => t.put(Put.ADD, rows, watch).then((n) => n.inserted), watch?.signal);
  }

  /** Adds or replaces rows by id; of a repeated id the last wins. */
  upsert(rows: Rows, watch?: Watch): Promise<{ inserted: number; replaced: number }> {
    return this.change((t) => t.put(Put.UPSERT, rows, watch), watch?.signal);
  }

  /** Deletes rows by id; resolves to how many were live. Unknown ids are passed over. */
  delete(ids: readonly string[], watch?: Watch): Promise<number> {
    return this.change((t) => t.delete(ids), watch?.signal);
  }

  /**
   * Runs `work` with the writer's lock and saves what it changed. When it throws, nothing of it stays. Changes queue up
   * behind one another; questions asked meanwhile see the state before or after a put, never half of one.
   */
  change<T>(work: (t: Transaction) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.writer.change(work, signal);
  }

  /**
   * Runs `work`, which makes one put or delete, without saving: this process sees it at once, others with the next
   * `save`. Whatever else saves (a change, a rewrite) takes it along.
   */
  stage<T>(work: (t: Transaction) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.writer.stage(work, signal);
  }

  /**
   * Makes staged changes durable, and a collection that was never saved with them, so that an empty one is listed too.
   */
  save(): Promise<void> {
    return this.writer.save();
  }

  /** Drops deleted and superseded rows and merges the delta into a new base. */
  compact(watch?: Watch): Promise<{ reclaimedRows: number; liveRows: number }> {
    return this.writer.rebuild(watch, () => this.native.compact(watch));
  }

  /** Builds IVF indexes for partitions of at least `minRows`; resolves to how many partitions have one. */
  buildIvf(minRows: number, targetRecall: number, watch?: Watch): Promise<number> {
    return this.writer.rebuild(watch, () => this.native.buildIvf(minRows, targetRecall, watch));
  }

  /** Builds the BM25 index. */
  buildLexical(k1: number, b: number, watch?: Watch): Promise<void> {
    return this.writer.rebuild(watch, () => this.native.buildLexical(k1, b, watch));
  }

  /**
   * The best live rows, with what was asked for of each, from one saved state.
   * @throws RuntimeError for a question by words without an index for it
   */
  async ask(question: Question, options: SearchOptions): Promise<SearchAnswer> {
    const { by, vector, model, text, denseWeight = 0 } = question;
    const { topK, targetRecall = 0, weighted = false } = options;
    const { dim, filterColumns } = this.schema;
    if (vector) checkDim(vector.length, "vector", dim);
    const filter = toFilter(options.where, filterColumns);
    const under = toFilter(options.under, filterColumns);
    try {
      const answer = await this.watched(
        this.native.ask({
          by: BY[by],
          vector,
          text,
          model,
          embedMost: TEXT_EMBED_BYTES_MAX,
          topK,
          filter,
          under,
          targetRecall,
          denseWeight,
          weighted,
          what: toWhat(options),
          inlineBytes: this.options.inlineScanBytes,
        }),
      );
      return {
        rows: answer.rows.map((row) => this.toRow(row)),
        fused: answer.fused,
        screenedRows: answer.screenedRows,
        scoredRows: answer.scoredRows,
        probedLists: answer.probedLists,
      };
    } catch (error) {
      throw fromNative(error, this.name);
    }
  }

  /** The best live rows for `vector` by the collection's metric. */
  search(vector: Float32Array, options: SearchOptions): Promise<SearchAnswer> {
    return this.ask({ by: "vector", vector }, options);
  }

  /** The best live rows that hold a word of `text`, by BM25. */
  async searchLexical(text: string, options: SearchOptions): Promise<Row[]> {
    return (await this.ask({ by: "words", text }, options)).rows;
  }

  /**
   * Answers to several questions, row-major in `queries`, in their order: each what `search` would answer, all from one
   * saved state. They share passes over the rows and are spread over up to `threads` threads (0: as many as there are
   * cores, at most 4).
   * @throws ValueError for more than MANY_HITS_MAX hits in all
   */
  async searchMany(queries: Float32Array, options: SearchOptions, threads = 0, watch?: Watch): Promise<SearchAnswer[]> {
    const { dim } = this.schema;
    if (queries.length % dim !== 0) {
      throw new ValueError(`queries hold ${queries.length} numbers, which is no multiple of the dimension ${dim}`);
    }
    const filter = toFilter(options.where, this.schema.filterColumns);
    const count = queries.length / dim;
    const most = count * Math.min(options.topK, this.count());
    if (most > MANY_HITS_MAX) {
      throw new ValueError(
        `${count} questions for ${options.topK} rows each may find ${most}; ask for at most ${MANY_HITS_MAX} in one call`,
      );
    }
    const { topK, targetRecall = 0, weighted = false } = options;
    try {
      const answer = await this.watched(
        this.native.searchMany(
          { queries, count, topK, filter, targetRecall, what: toWhat(options), weighted, threads },
          watch,
        ),
      );
      return toAnswers(answer, (row) => this.toRow(row));
    } catch (error) {
      throw fromNative(error, this.name);
    }
  }

  /** One row per id, in the order asked; `found` tells. */
  get(ids: readonly string[], detail: Detail = { metadata: true, text: true }): Row[] {
    return this.answered(() => this.native.get(packStrings(ids), toWhat(detail)).map((row) => this.toRow(row)));
  }

  /** Ids of live rows in insertion order; `after` and `limit` page through them. */
  ids(
    options: { where?: Condition | undefined; after?: string | undefined; limit?: number | undefined } = {},
  ): string[] {
    const filter = toFilter(options.where, this.schema.filterColumns);
    return this.answered(() => this.native.ids(filter, options.after, options.limit ?? 0, 0).map((row) => row.id));
  }

  /** How many live rows match. */
  count(where?: Condition): number {
    const filter = toFilter(where, this.schema.filterColumns);
    return this.answered(() => this.native.count(filter));
  }

  /** Up to `n` live rows' vectors, row by row, chosen by `seed`. */
  sample(n: number, seed: number): Float32Array {
    return this.answered(() => this.native.sample(n, this.schema.dim, seed));
  }

  /** Partitions of live rows, with their IVF index where one is built. */
  partitions(): Partition[] {
    const plain = ({ key, ...figures }: PartitionInfo) => ({ key: decodeKey(key), ...figures });
    return this.answered(() => this.native.partitions().map(plain));
  }

  /**
   * Reads every saved byte and compares checksums, and checks that what is in memory holds together; an OSError names
   * what is damaged.
   */
  verify(watch?: Watch): Promise<void> {
    return this.writer.inTurn(() => this.native.verify(watch));
  }

  /**
   * Saves what is staged and copies the saved state into an empty directory. Writers wait meanwhile, questions do not.
   * What is there after a failure has no manifest and is the caller's to remove.
   */
  async copy(dir: string, watch?: Watch): Promise<void> {
    await this.writer.save();
    await this.writer.rebuild(watch, () => this.native.copy(dir, watch));
  }

  /** Waits for changes and questions under way, then closes; what is staged and not saved is dropped. */
  async close(): Promise<void> {
    await this.writer.settled();
    await Promise.allSettled(this.asked);
    this.native.close();
  }

  /** Field by field: with a spread, a question for ten rows takes 4 us more. */
  private toRow({ id, found, birth, score, meta, text, vector, terms, scores }: RowRecord): Row {
    const metadata = meta === undefined ? undefined : this.readMetadata(meta, id);
    return { id, found, birth, score, metadata, text, vector, terms, scores };
  }

  /** Bytes of a base are not checked when it is opened: a damaged one fails here. @throws OSError */
  private readMetadata(json: string, id: string): Metadata {
    try {
      const value: unknown = JSON.parse(json);
      if (isObject(value)) return value;
    } catch {
      // The sentence below names the row, which the parser cannot.
    }
    throw damaged(this.name, `the metadata of row ${shown(id)} is not a JSON object`);
  }

  private async watched<T>(question: Promise<T>): Promise<T> {
    this.asked.add(question);
    try {
      return await question;
    } finally {
      this.asked.delete(question);
    }
  }

  private answered<T>(question: () => T): T {
    try {
      return question();
    } catch (error) {
      throw fromNative(error, this.name);
    }
  }
}

/** What belongs to each question; what was read is known of all together, and given as a mean. */
function toAnswers(
  { rows, counts, screenedRows, scoredRows, probedLists }: NativeHits & { counts: number[] },
  toRow: (record: RowRecord) => Row,
): SearchAnswer[] {
  const all = rows.map(toRow);
  const n = counts.length;
  let end = 0;
  const ends = counts.map((count) => (end += count));
  return counts.map((count, i) => ({
    rows: all.slice(ends[i]! - count, ends[i]),
    fused: false,
    screenedRows: Math.round(screenedRows / n),
    scoredRows: Math.round(scoredRows / n),
    probedLists: Math.round(probedLists / n),
  }));
}

function toWhat(detail: Detail): number {
  return (
    (detail.metadata ? With.META : 0) |
    (detail.text ? With.TEXT : 0) |
    (detail.vector ? With.VECTOR : 0) |
    (detail.explain ? With.EXPLAIN : 0) |
    (detail.scores ? With.SCORES : 0)
  );
}
