/** What a collection contains: rows by id or in order, counts of them, and its history. */
import { type PackedStrings, packStrings } from "../../ffi/packing.ts";
import type { Damage, SaveRecord } from "../../ffi/records.ts";
import type { MeaningBatch, NativeCollection } from "../../ffi/ty_collection.ts";
import type { NativeChanges, NativeFilter, NativeSaves, NativeStats } from "../../ffi/ty_reader.ts";
import type { Times } from "../checks/times.ts";
import type { FilterValue } from "../checks/values.ts";
import type { Condition } from "../checks/where.ts";
import { type Change, type Detail, type Partition, type Row, toPartition, toRow, toWhat } from "./answer.ts";
import { fromNative } from "./failure.ts";
import { toFilter } from "./filter.ts";
import { type CarriedOver, keptOf, type Manifest, parseManifest, type Schema } from "./schema.ts";

/** Which rows to list. */
export interface Listing extends Times {
  where?: Condition | undefined;
  /** Go on after this id. */
  after?: string | undefined;
  limit?: number | undefined;
  /** Only rows whose metadata as JSON hold one of these texts, deeper inside too: the metadata of all rows are read. */
  having?: readonly string[] | undefined;
}

/** A collection's rows and counters. */
export class Contents {
  /** Queries on a worker, which closing waits for. */
  protected readonly running = new Set<Promise<unknown>>();
  /** The last manifest: each put of texts looks at its notes, and parsing takes longer than to compare. */
  private parsed: { text: string; manifest: Manifest } | undefined;

  constructor(
    readonly name: string,
    readonly schema: Schema,
    protected readonly native: NativeCollection,
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
    const filter = this.filterOf(where);
    return this.answered(() => this.native.ids({ ...listing, filter }, 0).map((row) => row.id));
  }

  /** As `ids`, with the rows in the same call. @param textMost as of `get` */
  list({ where, ...listing }: Listing, detail: Detail, textMost = 0): Row[] {
    const filter = this.filterOf(where);
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
    const filter = this.filterOf(where);
    return this.answered(() => this.native.count(filter));
  }

  /**
   * How many live rows match, and a digest of the set of their ids, 16 hex digits: equal sets have equal digests,
   * wherever they are, and other sets another one as surely as 64 bits can tell. It says which ids are live and not
   * what they hold: a replaced row and a compaction keep it. The ids of the rows that match are read.
   */
  digest(where?: Condition): { count: number; digest: string } {
    const filter = this.filterOf(where);
    const { count, digest } = this.answered(() => this.native.digest(filter));
    return { count, digest: digest.toString(16).padStart(16, "0") };
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
    const { column: index } = this.filterOf({ column, value: null })!;
    const counted = this.answered(() => this.native.partitions(index).map(toPartition));
    const found = counted.flatMap(({ key, rows }) => (key == null || rows === 0 ? [] : [{ value: key, rows }]));
    return found.sort((a, b) => b.rows - a.rows);
  }

  /**
   * Vectors of meaning of at most so many saved rows that have none, the last inserted first, on a worker. It ends soon
   * after `stop[0]` becomes nonzero, with the rows so far.
   */
  encodeMeaning(most: number, stop: Uint32Array, isBackground: boolean): Promise<MeaningBatch> {
    return this.watched(this.native.encodeMeaning(most, stop, isBackground));
  }

  protected filterOf(where: Condition | undefined): NativeFilter | undefined {
    return toFilter(where, this.schema.filterColumns);
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

  /** The answer of a call on this thread. */
  protected answered<T>(query: () => T): T {
    try {
      return query();
    } catch (error) {
      throw fromNative(error, this.name);
    }
  }
}
