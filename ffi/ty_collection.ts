/**
 * One open collection of libty_runtime: its changes, a method per native call, no policy. Arguments are taken as
 * checked.
 */
import type { Pointer } from "bun:ffi";
import type { ModelCode } from "./ame_kernel.ts";
import { cString, type PackedStrings } from "./packing.ts";
import { type Damage, decodeDamages } from "./records.ts";
import { NativeError, Status } from "./status.ts";
import { struct } from "./structs.ts";
import { Ahead } from "./ty_ahead.ts";
import type { Watch } from "./ty_handle.ts";
import { NativeReader } from "./ty_reader.ts";
import { Op } from "./ty_symbols.ts";

export type { Watch } from "./ty_handle.ts";

/** Modes of `put`. */
export const Put = { ADD: 0, UPSERT: 1, UPDATE: 2 } as const;
export type PutMode = (typeof Put)[keyof typeof Put];
/** Flag of `put`: keep the tokens of the texts, not the texts. */
const PUT_DROP_TEXT = 1;
/** Another: the rows are as new as those of the put before in the same change. */
const PUT_FOLLOWS = 2;
/** Another: rows get the stored vectors of rows of the history. */
const PUT_CHANGES = 4;
/** Another: short texts get their vectors of meaning in the call. */
const PUT_MEANING = 8;
/** Rows of such a put: `TY_MEANING_ROWS_MAX`. */
export const MEANING_ROWS_MAX = 8;
/** The struct `ty_meaning_record`. */
const MEANING_RECORD_BYTES = 144;
/** The struct `ty_meaning_vector`. */
export const MEANING_VECTOR_BYTES = 152;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What is known of the process that holds a writer's lock: `TY_HOLDER_*`. */
export const HolderState = { UNSEEN: 0, SELF: 1, RUNS: 2, STOPPED: 3, TRACED: 4 } as const;
/** `TY_HOLDER_TEXT` */
const HOLDER_TEXT_BYTES = 64;

/** Who holds the writer's lock of a collection. */
export interface Holder {
  /** 0: not known. */
  pid: number;
  state: (typeof HolderState)[keyof typeof HolderState];
  /** It is another user's process. */
  isForeign: boolean;
  /** What the process is, as `svc serve`; empty where that is not known. */
  label: string;
  /** What it does with the lock: a word of `says`; empty where that is not known. */
  what: string;
}

/** Rows to put, as the native side takes them. */
export interface NativeRows {
  count: number;
  /** Absent: `model` embeds the texts. */
  vectors?: Float32Array | undefined;
  model?: ModelCode | undefined;
  ids: PackedStrings;
  metas: PackedStrings;
  texts: PackedStrings | undefined;
  keys: PackedStrings;
  dropText: boolean;
  /** The rows are as new as those of the put before in the same change. */
  follows?: boolean;
  /** Rows that later puts of the same change will have at most, for which room is made as well. */
  following?: number;
  /** Ids of live rows whose stored vectors the rows get, empty for none. */
  likes?: PackedStrings | undefined;
  /**
   * When each row was put, in milliseconds since 1970, instead of now; raised to the `created` of the row that it
   * replaces.
   */
  updated?: BigUint64Array | undefined;
  /** When each id became live, not after `updated`; of a row that replaces another one, that row's counts. */
  created?: BigUint64Array | undefined;
  /**
   * Indices of changes: each row gets the stored vector of the row before its change, to the bit. `vectors`, `model` and
   * `likes` must be absent then.
   */
  changes?: BigUint64Array | undefined;
  /** Each row's as a run of NUL-ended ones (`packLists`); with `dropText` only. */
  labels?: PackedStrings | undefined;
  /** Short texts get their vectors of meaning, of at most `MEANING_ROWS_MAX` rows. */
  meaning?: boolean | undefined;
}

/** Vectors of meaning of rows, as `encodeMeaning` makes and `putMeaning` takes them. */
export interface MeaningBatch {
  /** `ty_meaning_record`s. */
  records: Uint8Array;
  count: number;
  /** The generation of the base that the row numbers are of. */
  base: number;
  /** Live rows with texts that have no vector and are not in the batch. */
  left: number;
}

/** What `checkFiles` found. */
export interface Checked {
  /** 256 at most; `found` counts all. */
  damages: Damage[];
  found: number;
  /** That were read. */
  bytes: number;
  /** Of the manifest; 0 where it cannot be read. */
  generation: number;
}

/** What `copy` did, in bytes of files. */
export interface Copied {
  linkedBytes: number;
  copiedBytes: number;
  mapDiffers: boolean;
}

/** One open collection. Every method checks that it is still open. */
export class NativeCollection extends NativeReader {
  private endCoordination: (() => void) | undefined;

  /**
   * Whether the collection is still on disk, and no other with another schema has its place; follows other processes'
   * saves (one `stat` where nothing changed). True during a change, and on other failures, which the next query
   * reports.
   */
  isThere(): boolean {
    const status = this.c.ty_refresh(this.handle, this.error);
    return status !== Status.NOT_FOUND && status !== Status.INVALID;
  }

  /**
   * Takes the writer's lock; throws a NativeError with `Status.BUSY` and an errno while another writer has it, which
   * `holder` names.
   */
  begin(): void {
    this.check(this.c.ty_begin(this.handle, this.error));
  }

  /** Drops the changes since `begin`. */
  rollback(): void {
    this.c.ty_rollback(this.handle);
  }

  /** Drops the changes since `begin`, keeps the lock, and reads a manifest that this program has written meanwhile. */
  followBegun(): void {
    this.check(this.c.ty_follow_begun(this.handle, this.error));
  }

  /**
   * From now on each save and rewrite of this handle waits, when its files are durable, until `decide` is called for it.
   * Its manifest is not renamed before.
   * @param onPrepared gets the manifest of such a save, as JSON, and must have `decide` called once
   */
  coordinate(onPrepared: (manifest: Uint8Array) => void): void {
    this.endCoordination = this.workers.coordinate(this.handle, () =>
      onPrepared(this.answer("ty_prepared", struct("ty_manifest_args")).slice()),
    );
  }

  /**
   * Commits the save that waits, or has it fail with the message: with `Status.REFUSED` it leaves nothing; with
   * `Status.UNSURE` it may have been committed elsewhere.
   */
  decide(decision: typeof Status.OK | typeof Status.REFUSED | typeof Status.UNSURE, message = ""): void {
    this.check(this.c.ty_decide(this.handle, decision, cString(message), this.error));
  }

  override close(): void {
    super.close();
    this.endCoordination?.();
  }

  /** What this process does with the lock, for messages of those that wait: a word; "saving" from `begin` on. */
  setStatus(what: string): void {
    this.c.ty_says(this.handle, cString(what));
  }

  /** Who holds the writer's lock. */
  holder(): Holder {
    const text = new Uint8Array(HOLDER_TEXT_BYTES);
    const args = struct("ty_holder_args").pointer("text", text);
    this.c.ty_holder(this.handle, args.u32);
    args.release();
    const line = decoder.decode(text.subarray(0, args.number("text_bytes")));
    const end = line.lastIndexOf(" ");
    return {
      pid: args.number("pid"),
      state: args.number("state") as Holder["state"],
      isForeign: args.number("foreign") === 1,
      label: line.slice(0, Math.max(end, 0)),
      what: line.slice(end + 1),
    };
  }

  /** Who makes the change that has begun: a JSON object of at most `ORIGIN_BYTES_MAX`. */
  origin(json: string): void {
    const bytes = encoder.encode(json);
    this.check(this.c.ty_origin(this.handle, bytes, bytes.byteLength, this.error));
  }

  /** The next save gives this saved copy the history of the collection that it is a copy of. */
  adoptHistory(from: NativeCollection): void {
    this.check(this.c.ty_history_adopt(this.handle, from.handle, this.error));
  }

  /** Makes the changes since `begin` durable. */
  save(): Promise<void> {
    return this.workers.submit(Op.SAVE, this.handle, undefined, undefined);
  }

  /** As `save`; where the disk is full or the coordinator refused it, the change goes on, and can be saved again. */
  saveStaged(): Promise<void> {
    return this.workers.submit(Op.SAVE_STAGED, this.handle, undefined, undefined);
  }

  /**
   * Puts rows; all or nothing.
   * @param embedMost at most so many bytes of a text are embedded
   * @param ahead what was made of the texts before, if it is of these rows
   */
  async put(
    mode: PutMode,
    rows: NativeRows,
    embedMost: number,
    watch?: Watch,
    ahead?: Ahead,
  ): Promise<{ inserted: number; replaced: number }> {
    const args = this.putArgs(mode, rows, embedMost);
    if (ahead && ahead.texts === rows.texts) args.integer("ahead", await ahead.take());
    await this.workers.submit(Op.PUT, this.handle, args, watch);
    return { inserted: args.number("inserted"), replaced: args.number("replaced") };
  }

  /** Makes what a put of these rows needs of their texts, once it is begun; it may run beside a save. */
  ahead(rows: NativeRows, embedMost: number, watch?: Watch): Ahead {
    const make = async () => {
      const args = this.putArgs(Put.ADD, rows, embedMost);
      await this.workers.submit(Op.ENCODE_AHEAD, this.handle, args, watch);
      return args.number("ahead");
    };
    return new Ahead(rows.texts, make, (handle) => this.c.ty_ahead_close(handle as Pointer));
  }

  private putArgs(mode: PutMode, rows: NativeRows, embedMost: number) {
    const flags =
      (rows.dropText ? PUT_DROP_TEXT : 0) |
      (rows.follows ? PUT_FOLLOWS : 0) |
      (rows.changes ? PUT_CHANGES : 0) |
      (rows.meaning ? PUT_MEANING : 0);
    const args = struct("ty_put_args")
      .integer("n", rows.count)
      .integer("mode", mode)
      .integer("flags", flags)
      .integer("embed_most", embedMost)
      .strings("ids", "id_ends", rows.ids)
      .strings("metas", "meta_ends", rows.metas)
      .strings("texts", "text_ends", rows.texts)
      .strings("keys", "key_ends", rows.keys)
      .strings("labels", "label_ends", rows.labels)
      .strings("likes", "like_ends", rows.likes)
      .integer("following", rows.following ?? 0)
      .pointer("updated", rows.updated)
      .pointer("created", rows.created)
      .pointer("changes", rows.changes);
    if (rows.vectors) args.pointer("vectors", rows.vectors);
    else if (rows.model === undefined) args.none("model");
    else args.integer("model", rows.model);
    return args;
  }

  /** Deletes rows by id; resolves to how many were live. */
  async delete(ids: PackedStrings): Promise<number> {
    const args = struct("ty_delete_args").integer("n", ids.ends.length).strings("ids", "id_ends", ids);
    await this.workers.submit(Op.DELETE, this.handle, args, undefined);
    return args.number("removed");
  }

  /** Sets one changeable key of the manifest to a JSON value; an empty text removes the description. */
  set(key: "default_target_recall" | "applied_tuner" | "name" | "description", json: string): void {
    const bytes = encoder.encode(json);
    const data = bytes.byteLength === 0 ? null : bytes;
    this.check(this.c.ty_set(this.handle, cString(key), data, bytes.byteLength, this.error));
  }

  /** Sets one of the notes in the manifest to a JSON value; an empty text removes it. */
  note(name: string, json: string): void {
    const [key, value] = [encoder.encode(name), encoder.encode(json)];
    const data = value.byteLength === 0 ? null : value;
    this.check(this.c.ty_note(this.handle, key, key.byteLength, data, value.byteLength, this.error));
  }

  /**
   * Vectors of meaning of at most so many saved rows that have none, the last inserted first. It ends soon after
   * `stop[0]` becomes nonzero, with the rows so far.
   * @param isBackground at a low priority, so that other programs go first
   */
  async encodeMeaning(most: number, stop: Uint32Array, isBackground: boolean): Promise<MeaningBatch> {
    const records = new Uint8Array(most * MEANING_RECORD_BYTES);
    const args = struct("ty_meaning_encode_args")
      .integer("most", most)
      .integer("background", isBackground ? 1 : 0);
    args.pointer("stop", stop).pointer("out", records);
    try {
      await this.workers.submit(Op.MEANING_ENCODE, this.handle, args, undefined);
    } catch (error) {
      if (!(error instanceof NativeError && error.status === Status.CANCELLED)) throw error;
    }
    return { records, count: args.number("out_count"), base: args.number("base"), left: args.number("left") };
  }

  /** The next save adds these vectors. @returns how many: none where the base is another one by now */
  putMeaning({ records, count, base }: MeaningBatch): number {
    const args = struct("ty_meaning_put_args").pointer("records", records).integer("n", count).integer("base", base);
    this.check(this.c.ty_meaning_put(this.handle, args.u32, this.error));
    args.release();
    return args.number("put");
  }

  /** The next save leaves the collection without vectors of meaning. */
  dropMeaning(): void {
    this.check(this.c.ty_meaning_drop(this.handle, this.error));
  }

  /** The vectors of meaning of rows by id, `MEANING_VECTOR_BYTES` each; all zero where a row has none. */
  meaningOf(ids: PackedStrings): Uint8Array {
    const vectors = new Uint8Array(ids.ends.length * MEANING_VECTOR_BYTES);
    const args = copyArgs(ids, vectors);
    this.check(this.c.ty_meaning_get(this.handle, args.u32, this.error));
    args.release();
    return vectors;
  }

  /** The next save adds what `meaningOf` returned, where rows have the same texts. @returns how many */
  takeMeaning(ids: PackedStrings, vectors: Uint8Array): number {
    const args = copyArgs(ids, vectors);
    this.check(this.c.ty_meaning_take(this.handle, args.u32, this.error));
    args.release();
    return args.number("copied");
  }

  /**
   * Rewrites the base with live rows only; saves and ends the change.
   * @param keep the history stays, but for rows of the ids `purge`; otherwise it is dropped
   */
  async compact(
    watch?: Watch,
    keep = false,
    purge?: PackedStrings,
  ): Promise<{ reclaimedRows: number; liveRows: number }> {
    const args = struct("ty_compact_args").integer("keep", Number(keep));
    if (purge) args.integer("n", purge.ends.length).strings("ids", "id_ends", purge);
    await this.workers.submit(Op.COMPACT, this.handle, args, watch);
    return { reclaimedRows: args.number("reclaimed_rows"), liveRows: args.number("live_rows") };
  }

  /**
   * Compacts while other handles and processes save, and keeps the history. Do not call `begin`, and call nothing else on
   * this handle meanwhile.
   * @throws NativeError with `Status.BUSY` if another process does the same or has compacted it meanwhile
   */
  async compactBeside(watch?: Watch): Promise<{ reclaimedRows: number; liveRows: number }> {
    const args = struct("ty_compact_args").integer("keep", 1);
    await this.workers.submit(Op.COMPACT_BESIDE, this.handle, args, watch);
    return { reclaimedRows: args.number("reclaimed_rows"), liveRows: args.number("live_rows") };
  }

  /** Builds IVF indexes; saves and ends the change. Resolves to the number of partitions that have one. */
  async buildIvf(minRows: number, targetRecall: number, watch?: Watch): Promise<number> {
    const args = struct("ty_ivf_args").integer("min_rows", minRows).double("target_recall", targetRecall);
    await this.workers.submit(Op.BUILD_IVF, this.handle, args, watch);
    return args.number("built");
  }

  /** Builds the BM25 index; saves and ends the change. */
  async buildLexical(k1: number, b: number, watch?: Watch): Promise<void> {
    const args = struct("ty_lexical_args").double("k1", k1).double("b", b);
    await this.workers.submit(Op.BUILD_LEXICAL, this.handle, args, watch);
  }

  /** Reads every saved byte and compares checksums; checks the invariants in memory. */
  verify(watch?: Watch): Promise<void> {
    return this.workers.submit(Op.VERIFY, this.handle, undefined, watch);
  }

  /** Reads every byte of the saved files, of a collection too that cannot be opened, and reports all damage. */
  checkFiles(watch?: Watch): Promise<Checked> {
    const args = struct("ty_check_args");
    return this.answerOff(Op.CHECK, args, 0, watch, (answer) => ({
      damages: decodeDamages(answer),
      found: args.number("found"),
      bytes: args.number("bytes"),
      generation: args.number("generation"),
    }));
  }

  /**
   * Copies the saved state into an empty directory, beside writers. `mapDiffers`: id_map.npy is not the manifest's, and
   * a compaction of the copy writes it again.
   * @param link sealed files become further names of the same files where the file system allows that
   */
  async copy(dir: string, link: boolean, watch?: Watch): Promise<Copied> {
    const args = struct("ty_copy_args").pointer("dir", cString(dir)).integer("link", Number(link));
    await this.workers.submit(Op.COPY, this.handle, args, watch);
    return {
      linkedBytes: args.number("linked"),
      copiedBytes: args.number("copied"),
      mapDiffers: args.number("map_differs") === 1,
    };
  }
}

function copyArgs(ids: PackedStrings, vectors: Uint8Array) {
  const args = struct("ty_meaning_copy_args").integer("n", ids.ends.length);
  return args.strings("ids", "id_ends", ids).pointer("vectors", vectors);
}
