/**
 * One open collection: the live rows, questions to them, and changes, each saved before it is answered. Changes of one collection are
 * ordered here; the native side keeps other processes' writers out and follows what they saved.
 */
import type { PartitionInfo, RowRecord, TermShare } from "../../ffi/records.ts";
import {
  type NativeCollection,
  type NativeStats,
  Put,
  type PutMode,
  type Watch,
  With,
} from "../../ffi/ty_collection.ts";
import { packStrings } from "../../ffi/words.ts";
import { ValueError } from "../errors.ts";
import { fromNative } from "./failure.ts";
import { decodeKey, type FilterValue, type Metadata, toFilter } from "./filter.ts";
import { beginWithin } from "./lock.ts";
import { type Manifest, parseManifest, type Schema } from "./manifest.ts";
import { packRows, type Rows } from "./rows.ts";

/** Scans of more bytes of codes than this run on a worker: on the event loop they would hold up other answers for milliseconds. */
const INLINE_SCAN_BYTES = 16 * 1024 * 1024;

/** What an answer carries beside ids and scores. */
export interface Detail {
  metadata?: boolean;
  text?: boolean;
  vector?: boolean;
  explain?: boolean;
}

/** One row of an answer. */
export interface Row {
  id: string;
  found: boolean;
  score: number;
  metadata: Metadata | undefined;
  text: string | undefined;
  vector: Float32Array | undefined;
  terms: TermShare[] | undefined;
}

/** A condition and a bound on a search. */
export interface SearchOptions extends Detail {
  topK: number;
  where?: Metadata | undefined;
  /** 1 is exact; below 1 an IVF index may be used; absent: the collection's default. */
  targetRecall?: number | undefined;
}

/** The best rows and what was read to find them. */
export interface SearchAnswer {
  rows: Row[];
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
}

/** Changes that become visible and durable together; handed to `change`. */
export interface Transaction {
  put(mode: PutMode, rows: Rows, watch?: Watch): Promise<{ inserted: number; replaced: number }>;
  delete(ids: readonly string[]): Promise<number>;
  set(key: "default_target_recall" | "applied_tuner", value: unknown): void;
}

/** A collection; see the class comment of `Store` for how to get one. */
export class Collection {
  private tail: Promise<unknown> = Promise.resolve();
  private scanBytes = 0;
  /** Questions on a worker, which closing waits for. */
  private readonly asked = new Set<Promise<unknown>>();
  private saved: boolean;

  /** Made by `Store` only. */
  constructor(
    readonly name: string,
    readonly schema: Schema,
    private readonly native: NativeCollection,
    private readonly ensureHome: () => void,
  ) {
    this.saved = native.stats().generation > 0;
  }

  /** The manifest as it stands, other processes' saves included. */
  manifest(): Manifest {
    return this.ask(() => parseManifest(this.native.manifest()));
  }

  /** Whether there is a save that this process knows of. Until then the collection exists in its memory only. */
  get isSaved(): boolean {
    return this.saved;
  }

  /** Number of the last save, other processes' included; 0 while the collection was never saved. */
  get generation(): number {
    return this.stats().generation;
  }

  /** Runtime counters. */
  stats(): NativeStats {
    return this.ask(() => this.native.stats());
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

  /** Saves the collection as it is, so that an empty one is listed too. */
  save(): Promise<void> {
    return this.change(async () => {});
  }

  /**
   * Runs `work` with the writer's lock and saves what it changed. When it throws, nothing of it stays. Changes queue up behind one
   * another; questions asked meanwhile see the state before or after a put, never half of one.
   */
  change<T>(work: (t: Transaction) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.inTurn(async () => {
      await this.begin(signal);
      let result: T;
      try {
        result = await work({
          put: (mode, rows, watch) =>
            this.native.put(mode, packRows(rows, this.schema.dim, this.schema.filterColumns), watch),
          delete: (ids) => this.native.delete(packStrings(ids)),
          set: (key, value) => this.native.set(key, JSON.stringify(value)),
        });
        signal?.throwIfAborted();
      } catch (error) {
        this.native.rollback();
        throw error;
      }
      await this.native.save();
      this.saved = true;
      return result;
    });
  }

  /** Drops deleted and superseded rows and merges the delta into a new base. */
  compact(watch?: Watch): Promise<{ reclaimedRows: number; liveRows: number }> {
    return this.rebuild(watch, () => this.native.compact(watch));
  }

  /** Builds IVF indexes for partitions of at least `minRows`; resolves to how many partitions have one. */
  buildIvf(minRows: number, targetRecall: number, watch?: Watch): Promise<number> {
    return this.rebuild(watch, () => this.native.buildIvf(minRows, targetRecall, watch));
  }

  /** Builds the BM25 index. */
  buildLexical(k1: number, b: number, watch?: Watch): Promise<void> {
    return this.rebuild(watch, () => this.native.buildLexical(k1, b, watch));
  }

  /** The best live rows by inner product with `query`. */
  async search(query: Float32Array, options: SearchOptions): Promise<SearchAnswer> {
    if (query.length !== this.schema.dim) {
      throw new ValueError(
        `the query has ${query.length} numbers; collection '${this.name}' has dim ${this.schema.dim}`,
      );
    }
    const filter = toFilter(options.where, this.schema.filterColumns);
    const off = this.scanBytes > INLINE_SCAN_BYTES;
    try {
      const recall = options.targetRecall ?? 0;
      const answer = await this.watched(this.native.search(query, options.topK, filter, recall, toWhat(options), off));
      this.scanBytes = answer.screenedRows * this.schema.dim;
      return { ...answer, rows: answer.rows.map(toRow) };
    } catch (error) {
      throw fromNative(error, this.name);
    }
  }

  /** The best live rows that hold a word of `query`, by BM25. */
  async searchLexical(query: string, options: SearchOptions): Promise<Row[]> {
    const filter = toFilter(options.where, this.schema.filterColumns);
    try {
      const off = this.scanBytes > INLINE_SCAN_BYTES;
      const rows = await this.watched(this.native.searchLexical(query, options.topK, filter, toWhat(options), off));
      return rows.map(toRow);
    } catch (error) {
      throw fromNative(error, this.name);
    }
  }

  /** One row per id, in the order asked; `found` tells. */
  get(ids: readonly string[], detail: Detail = { metadata: true, text: true }): Row[] {
    return this.ask(() => this.native.get(packStrings(ids), toWhat(detail)).map(toRow));
  }

  /** Ids of live rows in insertion order; `after` and `limit` page through them. */
  ids(
    options: { where?: Metadata | undefined; after?: string | undefined; limit?: number | undefined } = {},
  ): string[] {
    const filter = toFilter(options.where, this.schema.filterColumns);
    return this.ask(() => this.native.ids(filter, options.after, options.limit ?? 0, 0).map((row) => row.id));
  }

  /** How many live rows match. */
  count(where?: Metadata): number {
    const filter = toFilter(where, this.schema.filterColumns);
    return this.ask(() => this.native.count(filter));
  }

  /** Up to `n` live rows' vectors, row by row, chosen by `seed`. */
  sample(n: number, seed: number): Float32Array {
    return this.ask(() => this.native.sample(n, this.schema.dim, seed));
  }

  /** Partitions of live rows, with their IVF index where one is built. */
  partitions(): Partition[] {
    const plain = ({ key, rows, nlist, nprobe }: PartitionInfo) => ({ key: decodeKey(key), rows, nlist, nprobe });
    return this.ask(() => this.native.partitions().map(plain));
  }

  /** Reads every saved byte and compares checksums; an OSError names what is damaged. */
  verify(watch?: Watch): Promise<void> {
    return this.inTurn(() => this.native.verify(watch));
  }

  /** Waits for changes and questions under way, then lets go of everything. */
  async close(): Promise<void> {
    await this.tail.catch(() => {});
    await Promise.allSettled(this.asked);
    this.native.close();
  }

  private async watched<T>(question: Promise<T>): Promise<T> {
    this.asked.add(question);
    try {
      return await question;
    } finally {
      this.asked.delete(question);
    }
  }

  /** A rewrite of the base: it saves and lets go of the lock by itself. */
  private rebuild<T>(watch: Watch | undefined, work: () => Promise<T>): Promise<T> {
    return this.inTurn(async () => {
      await this.begin(watch?.signal);
      try {
        const result = await work();
        this.saved = true;
        return result;
      } finally {
        this.native.rollback();
      }
    });
  }

  private begin(signal: AbortSignal | undefined): Promise<void> {
    this.ensureHome();
    return beginWithin(this.native, signal);
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.tail.then(work).catch((error) => {
      throw fromNative(error, this.name, this.saved ? `; collection '${this.name}' stands as last saved` : "");
    });
    this.tail = turn.catch(() => {});
    return turn;
  }

  private ask<T>(question: () => T): T {
    try {
      return question();
    } catch (error) {
      throw fromNative(error, this.name);
    }
  }
}

function toWhat(detail: Detail): number {
  return (
    (detail.metadata ? With.META : 0) |
    (detail.text ? With.TEXT : 0) |
    (detail.vector ? With.VECTOR : 0) |
    (detail.explain ? With.EXPLAIN : 0)
  );
}

function toRow(record: RowRecord): Row {
  const { id, found, score, meta, text, vector, terms } = record;
  return { id, found, score, metadata: meta === undefined ? undefined : JSON.parse(meta), text, vector, terms };
}
