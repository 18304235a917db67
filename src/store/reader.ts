/** The queries of a collection that rank its rows: arguments into native calls, answers into rows. */
import { type PackedStrings, packStrings } from "../../ffi/packing.ts";
import type { NativeCollection } from "../../ffi/ty_collection.ts";
import type { Watch } from "../../ffi/ty_handle.ts";
import { type ManyFilter, NativeMany, type NativeManyAnswer } from "../../ffi/ty_many.ts";
import type { NativeAnswer, NativeQuestion, PassagePlace } from "../../ffi/ty_reader.ts";
import type { Condition } from "../checks/where.ts";
import { ValueError } from "../errors.ts";
import { MANY_HITS_MAX, TEXT_EMBED_BYTES_MAX } from "../limits.ts";
import { type Row, type SearchAnswer, toAnswers, toRow, toWhat } from "./answer.ts";
import { Contents } from "./contents.ts";
import { type Question, type SearchOptions, toQuestion } from "./query.ts";
import type { Schema } from "./schema.ts";

/** The reading half of a collection. */
export class Reader extends Contents {
  /** @param inlineScanBytes queries that will read more bytes of codes run on a worker */
  constructor(
    name: string,
    schema: Schema,
    native: NativeCollection,
    private readonly inlineScanBytes: number,
  ) {
    super(name, schema, native);
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
    const [filter, under] = [this.filterOf(options.where), this.filterOf(options.under)];
    const query = { ...toQuestion(question, options, this.schema.dim), filter, under };
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
    const filter = this.filterOf(options.where);
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
    const priors = Float64Array.from(rows, (row) => prior(row));
    return this.answered(() => this.native.fuse(vector, words, priors, denseWeight));
  }

  /**
   * The passage of each text that fits a question best, about 600 characters. A search ranks long texts by such passages
   * too, but only by their beginnings, and not at all those of more than 256 KiB.
   */
  passages(question: string, where: Condition | undefined, texts: readonly string[]): PassagePlace[] {
    const filter = this.filterOf(where);
    return this.answered(() => this.native.passages(question, filter, packStrings(texts)));
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
}
