/**
 * One open collection: queries of its live rows, and changes, each saved before it is answered. Changes of one
 * collection are queued by `Writer`; the native side excludes other processes' writers and follows their saves.
 */
import { packStrings } from "../../ffi/packing.ts";
import { type Copied, Put, type Watch } from "../../ffi/ty_collection.ts";
import { BackgroundWriter } from "./background.ts";
import type { Rows } from "./pack.ts";

export type { SaveRecord } from "../../ffi/records.ts";
export type { Change, Detail, Partition, Row, SearchAnswer } from "./answer.ts";
export type { Question, SearchOptions } from "./query.ts";
export type { Transaction } from "./transaction.ts";

/** A collection; see the class comment of `Store` for how to get one. */
export class Collection extends BackgroundWriter {
  /** Whether it is still on disk; cheap. */
  get isThere(): boolean {
    return this.native.isThere();
  }

  /** Adds rows under new ids; an id that is live or repeated is a KeyError and nothing is written. */
  add(rows: Rows, watch?: Watch): Promise<number> {
    return this.changeTogether((t) => t.put(Put.ADD, rows, watch).then((n) => n.inserted), watch?.signal);
  }

  /** Adds or replaces rows by id; of a repeated id the last wins. */
  upsert(rows: Rows, watch?: Watch): Promise<{ inserted: number; replaced: number }> {
    return this.changeTogether((t) => t.put(Put.UPSERT, rows, watch), watch?.signal);
  }

  /** Deletes rows by id; resolves to how many were live. Unknown ids are skipped. */
  delete(ids: readonly string[], watch?: Watch): Promise<number> {
    return this.changeTogether((t) => t.delete(ids), watch?.signal);
  }

  /**
   * Merges the delta into a new base, without deleted and replaced rows.
   * @param keepHistory they stay in the history; otherwise it is dropped with them
   */
  compact(watch?: Watch, keepHistory = false): Promise<{ reclaimedRows: number; liveRows: number }> {
    return this.rewrite(() => this.native.compact(watch, keepHistory), watch?.signal);
  }

  /**
   * Deletes rows, and removes everything that the collection's files have of these ids, the history included, in one
   * step; resolves to how many were live. Unknown ids may have had rows.
   */
  purge(ids: readonly string[], watch?: Watch): Promise<number> {
    const packed = packStrings(ids);
    return this.rewrite(async () => {
      const removed = await this.native.delete(packed);
      await this.native.compact(watch, true, packed);
      return removed;
    }, watch?.signal);
  }

  /** Takes over the history of the collection that this one is a copy of. */
  adoptHistory(from: Collection, signal?: AbortSignal): Promise<void> {
    return this.rewrite(async () => {
      this.native.adoptHistory(from.native);
      await this.native.save();
    }, signal);
  }

  /** Builds IVF indexes for partitions of at least `minRows`; resolves to how many partitions have one. */
  buildIvf(minRows: number, targetRecall: number, watch?: Watch): Promise<number> {
    return this.rewrite(() => this.native.buildIvf(minRows, targetRecall, watch), watch?.signal);
  }

  /** Builds the BM25 index. */
  buildLexical(k1: number, b: number, watch?: Watch): Promise<void> {
    return this.rewrite(() => this.native.buildLexical(k1, b, watch), watch?.signal);
  }

  /**
   * Reads every saved byte and compares checksums, and checks the invariants in memory.
   * @throws OSError that names the damage
   */
  verify(watch?: Watch): Promise<void> {
    return this.inTurn(() => this.native.verify(watch));
  }

  /**
   * Saves staged changes and copies the saved state into an empty directory. Neither queries nor writers wait, of this
   * process or another. After a failure the caller removes the files, which have no manifest.
   * @param link sealed files become further names of the same files where the file system allows that
   */
  async copy(dir: string, link: boolean, watch?: Watch): Promise<Copied> {
    await this.save();
    return this.watched(this.native.copy(dir, link, watch));
  }

  /** Waits for running changes and queries, then closes; staged changes are dropped. */
  async close(): Promise<void> {
    await this.queue.settled();
    await Promise.allSettled(this.running);
    this.native.close();
  }
}
