/** The queries of a collection: arguments into native calls, records into rows, native failures into errors. */
import type { ModelCode } from "../../ffi/ame_kernel.ts";
import { type PackedStrings, packStrings } from "../../ffi/packing.ts";
import type { Damage, SaveRecord } from "../../ffi/records.ts";
import type { MeaningBatch, NativeCollection } from "../../ffi/ty_collection.ts";
import type { Watch } from "../../ffi/ty_handle.ts";
import { type ManyFilter, NativeMany, type NativeManyAnswer } from "../../ffi/ty_many.ts";
import {
  By,
  type NativeAnswer,
  type NativeChanges,
  type NativeQuestion,
  type NativeSaves,
  type NativeStats,
  type PassagePlace,
} from "../../ffi/ty_reader.ts";
import type { Times } from "../checks/times.ts";
import type { FilterValue } from "../checks/values.ts";
import { checkDim } from "../checks/vectors.ts";
import type { Condition } from "../checks/where.ts";
import { ValueError } from "../errors.ts";
import { MANY_HITS_MAX, TEXT_EMBED_BYTES_MAX } from "../limits.ts";
import {
  type Change,
  type Detail,
  type Partition,
  type Row,
  type SearchAnswer,
  toAnswers,
  toPartition,
  toRow,
  toWhat,
} from "./answer.ts";
import { fromNative } from "./failure.ts";
import { toFilter } from "./filter.ts";
import { checkLabels } from "./pack.ts";
import { type CarriedOver, keptOf, type Manifest, parseManifest, type Schema } from "./schema.ts";

/** A query for the native side, without its conditions. @throws ValueError */
export function toQuestion(
  question: Question,
  options: SearchOptions,
  dim: number,
): Omit<NativeQuestion, "filter" | "under"> {
  const { by, vector, model, text, denseWeight = 0, labels, labelShare = 1, meaning = false } = question;
  const { topK, targetRecall = 0, weighted = false } = options;
  if (vector) checkDim(vector.length, "vector", dim);
  if (labels) checkLabels(labels);
  const words = { text, labels, labelShare, denseWeight, meaning };
  return { by: BY[by], vector, ...words, model, topK, targetRecall, weighted, what: toWhat(options) };
}

const BY = { vector: By.VECTOR, words: By.WORDS, both: By.BOTH } as const;

/** Conditions and bounds of a search. */
export interface SearchOptions extends Detail {
  topK: number;
  where?: Condition | undefined;
  /** A second condition: rows whose value in the column is this text, or begins with it and a slash. */
  under?: { column: string; value: string } | undefined;
  /** 1 is exact; below 1 an IVF index may be used; absent: the collection's default. */
  targetRecall?: number | undefined;
  /**
   * Divide the query's elements by their mean squares over the live rows and scale it to unit length, as
   * `Embedder.weightedQueries` requires. Inner-product collections only.
   */
  weighted?: boolean | undefined;
}

/** A query, for `Collection.ask`. */
export interface Question {
  /**
   * The ranking; `both`: fused where there is a lexical index, by vector alone where it is damaged or there is none.
   */
  by: "vector" | "words" | "both";
  /** A vector of the collection's dimension. Absent: the kernel's `model` embeds the text. */
  vector?: Float32Array | undefined;
  model?: ModelCode | undefined;
  text?: string | undefined;
  /** Weight of the ranking by vector in a fused one, 0 to 1; the one by words has the rest. */
  denseWeight?: number | undefined;
  /** Labels (`Rows.labels`) to rank by beside the text, by words or both. Those that no row has are ignored. */
  labels?: readonly string[] | undefined;
  /** A label counts so many times its rarity, above 0 to a million. */
  labelShare?: number | undefined;
  /** Rank by meaning as well, where `by` is "both" and rows have vectors of meaning. */
  meaning?: boolean | undefined;
}

/** Which rows to list. */
export interface Listing extends Times {
  where?: Condition | undefined;
  /** Go on after this id. */
  after?: string | undefined;
  limit?: number | undefined;
  /** Only rows whose metadata as JSON hold one of these texts, deeper inside too: the metadata of all rows are read. */
  having?: readonly string[] | undefined;
}

/** The reading half of a collection. */
export class Reader {
  /** Queries on a worker, which closing waits for. */
  protected readonly running = new Set<Promise<unknown>>();
  /** The last manifest: each put of texts looks at its notes, and parsing takes longer than to compare. */
  private parsed: { text: string; manifest: Manifest } | undefined;

  /** @param inlineScanBytes queries that will read more bytes of codes run on a worker */
  constructor(
    readonly name: string,
    readonly schema: Schema,
    protected readonly native: NativeCollection,
    private readonly inlineScanBytes: number,
  ) {}

  /** The current manifest, other processes' saves included. */
  manifest(): Manifest {
    return this.answered(() => {
      const text = this.native.manifest();
      if (this.parsed?.text !== text) this.parsed = { text, manifest: parseManifest(text) };
      return this.parsed.manifest;
    });
  }

  /** What another collection that takes its place has to keep of its manifest. */
  kept(): CarriedOver {
    return this.answered(() => keptOf(this.native.manifest()));
  }

  /** One of the notes (`Transaction.note`), as of the last save or, within a change, of the change. */
  note(name: string): unknown {
    const { notes } = this.manifest();
    return Object.hasOwn(notes, name) ? notes[name] : undefined;
  }

  /** Number of the last save, other processes' included; 0 while the collection was never saved. */
  get generation(): number {
    return this.answered(() => this.native.generation());
  }

  /** Runtime counters. */
  stats(): NativeStats {
    return this.answered(() => this.native.stats());
  }

  /**
   * The best live rows with the requested detail, all from one saved state.
   * @throws RuntimeError for a query by words alone before the index was built, OSError for a damaged one
   */
  async ask(question: Question, options: SearchOptions): Promise<SearchAnswer> {
    return this.askAtOnce(question, options);
  }

  /** As `ask`; a promise only where a worker has to answer. Without one, errors are thrown. */
  askAtOnce(question: Question, options: SearchOptions): SearchAnswer | Promise<SearchAnswer> {
    const { dim, filterColumns } = this.schema;
    const filter = toFilter(options.where, filterColumns);
    const under = toFilter(options.under, filterColumns);
    const query = { ...toQuestion(question, options, dim), filter, under };
    const answer = this.answered(() => this.native.ask(query, TEXT_EMBED_BYTES_MAX, this.inlineScanBytes));
    if (answer instanceof Promise) return this.watched(answer).then((hits) => this.toAnswer(hits));
    return this.toAnswer(answer);
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
   * Answers to several queries, row-major in `queries`, in their order: each as by `search`, all from one saved state.
   * They share passes over the rows and are spread over up to `threads` threads (0: one per core, at most 4).
   * @throws ValueError for more than MANY_HITS_MAX hits in all
   */
  async searchMany(queries: Float32Array, options: SearchOptions, threads = 0, watch?: Watch): Promise<SearchAnswer[]> {
    const { dim } = this.schema;
    if (queries.length % dim !== 0) {
      throw new ValueError(`queries hold ${queries.length} numbers, which is not a multiple of the dimension ${dim}`);
    }
    const filter = toFilter(options.where, this.schema.filterColumns);
    const count = queries.length / dim;
    const most = count * Math.min(options.topK, this.count());
    if (most > MANY_HITS_MAX) {
      throw new ValueError(
        `${count} queries for ${options.topK} rows each may find ${most}; request at most ${MANY_HITS_MAX} in one call`,
      );
    }
    const { topK, targetRecall = 0, weighted = false } = options;
    const all = { queries, count, topK, filter, targetRecall, what: toWhat(options), weighted, threads };
    return toAnswers(await this.watched(this.native.searchMany(all, watch)), this.name);
  }

  /**
   * One row per id, in the order of `ids`; `found` is false where the id is not live.
   * @param textMost at most so many bytes of UTF-8 of each text, its beginning; 0: all of it
   */
  get(ids: readonly string[], detail: Detail = { metadata: true, text: true }, textMost = 0): Row[] {
    const what = toWhat(detail);
    return this.answered(() => this.native.get(packStrings(ids), what, textMost).map((row) => toRow(row, this.name)));
  }

  /**
   * The turns right before and after each row in its conversation, with the beginnings of their texts: rows of its
   * partition with the same `session` in their metadata, by `turn` or in the order of insertion. They are looked for
   * among the 32 live rows that were inserted before it and the 32 after it. In the order of `ids`.
   * @param textMost at most so many bytes of UTF-8 of each text
   */
  neighbours(ids: readonly string[], textMost: number): { before: Row | undefined; after: Row | undefined }[] {
    const rows = this.answered(() => this.native.neighbours(packStrings(ids), toWhat({ text: true }), textMost));
    const turn = (i: number) => (rows[i]!.found ? toRow(rows[i]!, this.name) : undefined);
    return ids.map((_, i) => ({ before: turn(2 * i), after: turn(2 * i + 1) }));
  }

  /** The vectors of meaning of rows, `MEANING_VECTOR_BYTES` each, in the order of `ids`; all zero where a row has none. */
  meaningOf(ids: readonly string[]): Uint8Array {
    return this.answered(() => this.native.meaningOf(packStrings(ids)));
  }

  /** Ids of live rows in insertion order, or the newest first; `after` and `limit` page through them. */
  ids({ where, ...listing }: Listing = {}): string[] {
    const filter = toFilter(where, this.schema.filterColumns);
    return this.answered(() => this.native.ids({ ...listing, filter }, 0).map((row) => row.id));
  }

  /** As `ids`, with the rows in the same call. @param textMost as of `get` */
  list({ where, ...listing }: Listing, detail: Detail, textMost = 0): Row[] {
    const filter = toFilter(where, this.schema.filterColumns);
    const rows = this.answered(() => this.native.ids({ ...listing, filter }, toWhat(detail), textMost));
    return rows.map((row) => toRow(row, this.name));
  }

  /**
   * The saves that the history has, the latest first: those of rows with texts or vectors of their own.
   * @throws OSError where the history is damaged
   */
  saves(which: NativeSaves = {}): SaveRecord[] {
    return this.answered(() => this.native.saves(which));
  }

  /**
   * What these saves changed, in the order of the saves, each with the row before it as `detail` says: undefined where
   * there was none, or it is damaged. Indices stay the same until the next save.
   * @param textMost as of `get`
   * @throws OSError where the history is damaged
   */
  changes(which: NativeChanges, detail: Detail, textMost = 0): Change[] {
    const records = this.answered(() => this.native.changes(which, toWhat(detail), textMost));
    return records.map(({ row, save, ...change }) => ({
      ...change,
      id: row.id,
      save: save.save,
      by: save,
      before: row.found ? toRow(row, this.name) : undefined,
    }));
  }

  /**
   * Live rows that have one of several different texts, byte for byte, in no order.
   * @param most rows of a text at most
   */
  sameTexts(texts: readonly string[] | PackedStrings, most: number): { text: number; id: string }[] {
    const packed = "ends" in texts ? texts : packStrings(texts);
    const rows = this.answered(() => this.native.same(packed, most));
    return rows.map(({ score, id }) => ({ text: score, id }));
  }

  /** How many live rows match. */
  count(where?: Condition): number {
    const filter = toFilter(where, this.schema.filterColumns);
    return this.answered(() => this.native.count(filter));
  }

  /**
   * How many live rows match, and a digest of the set of their ids, 16 hex digits: equal sets have equal digests,
   * wherever they are, and other sets another one as surely as 64 bits can tell. It says which ids are live and not
   * what they hold: a replaced row and a compaction keep it. The ids of the rows that match are read.
   */
  digest(where?: Condition): { count: number; digest: string } {
    const filter = toFilter(where, this.schema.filterColumns);
    const { count, digest } = this.answered(() => this.native.digest(filter));
    return { count, digest: digest.toString(16).padStart(16, "0") };
  }

  /**
   * The terms of each text, in its order, by the hashes that the lexical index and `SearchAnswer.weights` have. Of any
   * texts: the collection is not looked at.
   */
  termsOf(texts: readonly string[]): Uint32Array[] {
    return this.answered(() => this.native.termsOf(texts));
  }

  /**
   * Where texts hold one of these strings, as `Environment.occurrences`. Of any texts, as `termsOf`.
   */
  occurrences(texts: PackedStrings, strings: PackedStrings): Uint32Array | undefined {
    return this.answered(() => this.native.occurrences(texts, strings));
  }

  /**
   * The fused score of each row that `ask` returned with its scores, or that the caller adds to those. A row that
   * neither ranking lists gets the lowest score of both. Of rows with equal scores, the first of the list comes first.
   * @param prior what a row's score by words is multiplied with, 0 to 1
   * @param denseWeight weight of the ranking by vector, 0 to 1; the one by words has the rest
   */
  fuse<T extends Pick<Row, "scores">>(
    rows: readonly T[],
    prior: (row: T) => number,
    denseWeight: number,
  ): Float64Array {
    const vector = Float64Array.from(rows, ({ scores }) => scores?.vector ?? Number.NaN);
    const words = Float64Array.from(rows, ({ scores }) => scores?.words ?? Number.NaN);
    return this.answered(() =>
      this.native.fuse(
        vector,
        words,
        Float64Array.from(rows, (row) => prior(row)),
        denseWeight,
      ),
    );
  }

  /**
   * The passage of each text that fits a question best, about 600 characters. A search ranks long texts by such passages
   * too, but only by their beginnings, and not at all those of more than 256 KiB.
   */
  passages(question: string, where: Condition | undefined, texts: readonly string[]): PassagePlace[] {
    const filter = toFilter(where, this.schema.filterColumns);
    return this.answered(() => this.native.passages(question, filter, packStrings(texts)));
  }

  /** Up to `n` live rows' vectors, row by row, chosen by `seed`. */
  sample(n: number, seed: number): Float32Array {
    return this.answered(() => this.native.sample(n, this.schema.dim, seed));
  }

  /**
   * Counts live rows by the day on which they were created.
   * @param n days from 1970-01-01 in UTC; rows of later days are counted on the last one
   */
  days(n: number): number[] {
    return this.answered(() => this.native.days(n));
  }

  /** Damaged places in the files that are known so far; nothing is read for it. `verify` reads everything. */
  damages(): Damage[] {
    return this.answered(() => this.native.damages());
  }

  /** Partitions of live rows, with their IVF index where one is built. */
  partitions(): Partition[] {
    return this.answered(() => this.native.partitions().map(toPartition));
  }

  /**
   * The values that live rows have in a filter column, with their numbers of rows, most rows first; without rows that
   * have no value there.
   * @throws ValueError for another column
   */
  values(column: string): { value: Exclude<FilterValue, null>; rows: number }[] {
    const { column: index } = toFilter({ column, value: null }, this.schema.filterColumns)!;
    const counted = this.answered(() => this.native.partitions(index).map(toPartition));
    const found = counted.flatMap(({ key, rows }) => (key == null || rows === 0 ? [] : [{ value: key, rows }]));
    return found.sort((a, b) => b.rows - a.rows);
  }

  /** Field by field: with a spread a query by words takes 1 us more. */
  private toAnswer(answer: NativeAnswer): SearchAnswer {
    const { fused, trouble, screenedRows, scoredRows, probedLists, words, known, replaced, weights, meaningWeight } =
      answer;
    const rows = answer.rows.map((row) => toRow(row, this.name));
    return {
      rows,
      fused,
      trouble,
      screenedRows,
      scoredRows,
      probedLists,
      words,
      known,
      replaced,
      weights,
      meaningWeight,
    };
  }

  /**
   * Vectors of meaning of at most so many saved rows that have none, the last inserted first, on a worker. It ends soon
   * after `stop[0]` becomes nonzero, with the rows so far.
   */
  encodeMeaning(most: number, stop: Uint32Array, isBackground: boolean): Promise<MeaningBatch> {
    return this.watched(this.native.encodeMeaning(most, stop, isBackground));
  }

  /** Waited for before the collection is closed. */
  protected async watched<T>(query: Promise<T>): Promise<T> {
    this.running.add(query);
    try {
      return await query;
    } catch (error) {
      throw fromNative(error, this.name);
    } finally {
      this.running.delete(query);
    }
  }

  /** A query of several collections (src/texts/collections.ts), which each of them waits for before it is closed. @throws FailedIn */
  static async askMany(
    readers: readonly Reader[],
    filter: ManyFilter | undefined,
    query: Omit<NativeQuestion, "filter" | "under">,
    watch: Watch,
  ): Promise<NativeManyAnswer> {
    const answer = Reader.nativeOf(readers, filter).ask(
      query,
      TEXT_EMBED_BYTES_MAX,
      readers[0]!.inlineScanBytes,
      watch,
    );
    for (const { running } of readers) running.add(answer);
    try {
      return await answer;
    } finally {
      for (const { running } of readers) running.delete(answer);
    }
  }

  /** The passages of texts as several collections weigh the words. @throws FailedIn */
  static passagesMany(
    readers: readonly Reader[],
    filter: ManyFilter | undefined,
    question: string,
    texts: readonly string[],
  ): PassagePlace[] {
    return Reader.nativeOf(readers, filter).passages(question, packStrings(texts));
  }

  private static nativeOf(readers: readonly Reader[], filter: ManyFilter | undefined): NativeMany {
    return new NativeMany(
      readers.map(({ native }) => native),
      filter,
    );
  }

  private answered<T>(query: () => T): T {
    try {
      return query();
    } catch (error) {
      throw fromNative(error, this.name);
    }
  }
}
