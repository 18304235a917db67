/**
 * One open collection of libty_runtime: its changes, a method per native call, no policy. Arguments are taken as
 * checked.
 */
import type { ModelCode } from "./ame_kernel.ts";
import { type Damage, decodeDamages } from "./records.ts";
import { Status } from "./status.ts";
import type { Watch } from "./ty_handle.ts";
import { NativeReader } from "./ty_reader.ts";
import { Op } from "./ty_symbols.ts";
import { cString, type PackedStrings, packed, Words } from "./words.ts";

export type { Watch } from "./ty_handle.ts";

/** Modes of `put`. */
export const Put = { ADD: 0, UPSERT: 1, UPDATE: 2 } as const;
export type PutMode = (typeof Put)[keyof typeof Put];
/** Flag of `put`: keep the tokens of the texts, not the texts. */
const PUT_DROP_TEXT = 1;
/** Another: the rows are as new as those of the put before in the same change. */
const PUT_FOLLOWS = 2;
/** Another: rows that the last destructive save superseded get their stored vectors. */
const PUT_UNDO = 4;

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
  /** When each row was put, in milliseconds since 1970, instead of now; raised to the `created` of the row that it replaces. */
  updated?: BigUint64Array | undefined;
  /** A row whose id `superseded` lists gets the stored vector of that row, to the bit; `likes` is not read then. */
  undo?: boolean;
  /** Each row's as a run of NUL-ended ones (`packLists`); with `dropText` only. */
  labels?: PackedStrings | undefined;
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
  /**
   * Whether the collection is still on disk, and no other with another schema has its place; follows other processes'
   * saves (one `stat` where nothing changed). True during a change, and on other failures, which the next query reports.
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

  /** What this process does with the lock, for messages of those that wait: a word; "saving" from `begin` on. */
  says(what: string): void {
    this.c.ty_says(this.handle, cString(what));
  }

  /** Who holds the writer's lock. */
  holder(): Holder {
    const text = new Uint8Array(HOLDER_TEXT_BYTES);
    const words = new Words(5).pointer(0, text);
    this.c.ty_holder(this.handle, words.u32);
    words.release();
    const line = decoder.decode(text.subarray(0, words.number(1)));
    const end = line.lastIndexOf(" ");
    return {
      pid: words.number(2),
      state: words.number(3) as Holder["state"],
      isForeign: words.number(4) === 1,
      label: line.slice(0, Math.max(end, 0)),
      what: line.slice(end + 1),
    };
  }

  /** Makes the changes since `begin` durable. */
  save(): Promise<void> {
    return this.workers.submit(Op.SAVE, this.handle, undefined, undefined);
  }

  /**
   * Puts rows; all or nothing.
   * @param embedMost at most so many bytes of a text are embedded
   */
  async put(
    mode: PutMode,
    rows: NativeRows,
    embedMost: number,
    watch?: Watch,
  ): Promise<{ inserted: number; replaced: number }> {
    const words = new Words(22)
      .integer(0, rows.count)
      .integer(1, mode)
      .integer(2, (rows.dropText ? PUT_DROP_TEXT : 0) | (rows.follows ? PUT_FOLLOWS : 0) | (rows.undo ? PUT_UNDO : 0))
      .integer(20, rows.following ?? 0);
    if (rows.vectors) words.pointer(3, rows.vectors);
    else (rows.model === undefined ? words.none(4) : words.integer(4, rows.model)).integer(5, embedMost);
    packed(words, 6, rows.ids);
    packed(words, 8, rows.metas);
    if (rows.texts) packed(words, 10, rows.texts);
    packed(words, 12, rows.keys);
    if (rows.likes) packed(words, 16, rows.likes);
    if (rows.labels) packed(words, 14, rows.labels);
    if (rows.updated) words.pointer(21, rows.updated);
    await this.workers.submit(Op.PUT, this.handle, words, watch);
    return { inserted: words.number(18), replaced: words.number(19) };
  }

  /** Deletes rows by id; resolves to how many were live. */
  async delete(ids: PackedStrings): Promise<number> {
    const words = packed(new Words(4).integer(0, ids.ends.length), 1, ids);
    await this.workers.submit(Op.DELETE, this.handle, words, undefined);
    return words.number(3);
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
   * Rewrites the base with live rows only; saves and ends the change.
   * @param keep what the last destructive save superseded stays, for 24 hours; nothing may be unsaved then
   */
  async compact(watch?: Watch, keep = false): Promise<{ reclaimedRows: number; liveRows: number }> {
    const words = new Words(3).integer(2, Number(keep));
    await this.workers.submit(Op.COMPACT, this.handle, words, watch);
    return { reclaimedRows: words.number(0), liveRows: words.number(1) };
  }

  /** Builds IVF indexes; saves and ends the change. Resolves to the number of partitions that have one. */
  async buildIvf(minRows: number, targetRecall: number, watch?: Watch): Promise<number> {
    const words = new Words(3).integer(0, minRows).double(1, targetRecall);
    await this.workers.submit(Op.BUILD_IVF, this.handle, words, watch);
    return words.number(2);
  }

  /** Builds the BM25 index; saves and ends the change. */
  async buildLexical(k1: number, b: number, watch?: Watch): Promise<void> {
    await this.workers.submit(Op.BUILD_LEXICAL, this.handle, new Words(2).double(0, k1).double(1, b), watch);
  }

  /** Reads every saved byte and compares checksums; checks the invariants in memory. */
  verify(watch?: Watch): Promise<void> {
    return this.workers.submit(Op.VERIFY, this.handle, undefined, watch);
  }

  /** Reads every byte of the saved files, of a collection too that cannot be opened, and reports all damage. */
  checkFiles(watch?: Watch): Promise<Checked> {
    const words = new Words(6);
    return this.answerOff(Op.CHECK, words, 0, 0, watch, (answer) => ({
      damages: decodeDamages(answer),
      found: words.number(3),
      bytes: words.number(4),
      generation: words.number(5),
    }));
  }

  /**
   * Copies the saved state into an empty directory, beside writers. `mapDiffers`: id_map.npy is not the manifest's, and
   * a compaction of the copy writes it anew.
   * @param link sealed files become further names of the same files where the file system allows that
   */
  async copy(dir: string, link: boolean, watch?: Watch): Promise<Copied> {
    const words = new Words(5).pointer(0, cString(dir)).integer(1, link ? 1 : 0);
    await this.workers.submit(Op.COPY, this.handle, words, watch);
    return { linkedBytes: words.number(2), copiedBytes: words.number(3), mapDiffers: words.number(4) === 1 };
  }
}
