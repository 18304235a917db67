/**
 * One folder tree as libty_runtime walks and reads it: what the caller said of its entries, a walk that reports only
 * what differs, and the read of one file. No link below the root is followed. Arguments are taken as checked.
 */
import type { Pointer } from "bun:ffi";
import { Status } from "./status.ts";
import { type Struct, struct } from "./structs.ts";
import { decodeEvents, type TreeEvent } from "./tree_events.ts";
import type { Watch } from "./ty_handle.ts";
import { newError, type Symbols, toError } from "./ty_symbols.ts";

export { EntryType, type TreeEvent, TreeEventKind } from "./tree_events.ts";

/** What a walk does with an entry: `TY_TREE_NONE` and others. */
export const Verdict = {
  /** The next visit reports it as new. */
  NONE: 0,
  /** Never reported, never entered, while its type stays the same. */
  SKIP: 1,
  /** Reported when its mark changes; of a folder, which is not entered, when it is gone or of another type. */
  WATCH: 2,
  /** A folder that is visited. */
  ENTER: 3,
} as const;
export type VerdictCode = (typeof Verdict)[keyof typeof Verdict];

/** What the caller says of the entry at `path`, relative to the root, without empty components, `.` and `..`. */
export interface EntryVerdict {
  path: string;
  verdict: VerdictCode;
  /** Of a watched entry: the mark to compare with, as if it had been reported; 0: none was. Absent: stays as it is. */
  mark?: number | undefined;
}

export interface TreeWalkOptions {
  /** A new walk; else on with the one under way, into folders that are to be entered since, also after `done`. */
  begin: boolean;
  /** With `begin`: the folder to walk, whatever was said of it; absent: the root. */
  below?: string | undefined;
  /** With `begin`: {@link TreeWalk.reached} of an earlier walk; this one goes on after it and then from the start. */
  after?: string | undefined;
  /** Milliseconds that this call may take, from now on. At least one folder that is not above `after` is read. */
  deadlineMs?: number | undefined;
}

/** What one call of a walk found. */
export interface TreeWalk {
  events: TreeEvent[];
  /** No folder is left to visit. */
  done: boolean;
  /** The deadline has passed. */
  late: boolean;
  /** The last folder that was read completely in this walk. */
  reached: string;
  /** Names that are not UTF-8, so far in this walk; they are left out. */
  undecodable: number;
  /** Entries seen so far in this walk. */
  visited: number;
}

/** Why a file was read or not: `TY_TREE_READ_OK` and others. */
export const ReadOutcome = { OK: 1, GONE: 2, UNREADABLE: 3, TOO_LARGE: 4, BINARY: 5 } as const;
export type ReadOutcomeCode = (typeof ReadOutcome)[keyof typeof ReadOutcome];

/** One file. */
export interface TreeFile {
  outcome: ReadOutcomeCode;
  /**
   * Valid until the next read; empty unless the outcome is OK. Shorter than `size` where the file was cut meanwhile.
   */
  bytes: Uint8Array;
  /** Of the open file before it was read, as the next two; 0 where it was not opened. */
  size: number;
  /** As a walk reports it. */
  mark: number;
  changedMs: number;
  /** XXH64 of the bytes, its upper and lower half. */
  hashHigh: number;
  hashLow: number;
  /** Why it is gone or unreadable; 0: it is not a regular file. */
  errno: number;
}

/** What a tree needs of its environment. */
export interface TreeWorkers {
  submitWalk(tree: Pointer, args: Struct<never>, watch: Watch | undefined): Promise<void>;
}

const EVENTS_BYTES = 256 * 1024;
const PATH_BYTES_MAX = 4000;
/** Most source files fit. */
const FILE_BYTES = 64 * 1024;
/** A larger buffer is not kept. */
const FILE_BYTES_KEPT = 4 * 1024 * 1024;
/** A BUFFER outcome: a larger one is needed. */
const READ_BUFFER = 6;
const BUFFER_TRIES = 4;

type WalkArgs = ReturnType<typeof struct<"ty_tree_walk_args">>;

const encoder = new TextEncoder();

/** One open tree; see `Environment.openTree`. One call at a time. Descriptors of folders stay open until `rest`. */
export class NativeTree {
  private pointer: Pointer | undefined;
  private busy = false;
  private readonly error = newError();
  /** Made by the first walk: a tree may be opened to read one file. */
  private events: Uint8Array | undefined;
  private readonly reached = new Uint8Array(new ArrayBuffer(PATH_BYTES_MAX));
  private readonly reading = struct("ty_tree_read_args");
  /** A path of UTF-16 units takes up to three bytes for each; a longer one than the limit is refused natively. */
  private path = new Uint8Array(new ArrayBuffer(PATH_BYTES_MAX * 3));
  private file = new Uint8Array(new ArrayBuffer(FILE_BYTES));
  /** Of a walk that failed: they will not be reported again. */
  private held: TreeEvent[] = [];

  constructor(
    private readonly workers: TreeWorkers,
    private readonly c: Symbols,
    handle: Pointer,
  ) {
    this.pointer = handle;
  }

  /**
   * Says something of entries, one after the other. Of a folder that is not to be entered it also drops all that is
   * known below it.
   * @throws NativeError with `Status.INVALID` for an invalid path; then nothing is changed
   */
  tell(entries: readonly EntryVerdict[]): void {
    const handle = this.idle;
    const count = entries.length;
    if (count === 0) return;
    let room = 16;
    for (const { path } of entries) room += Buffer.byteLength(path);
    const bytes = new Uint8Array(new ArrayBuffer(room));
    const verdicts = new Uint32Array(new ArrayBuffer(count * 8));
    const ends = new Uint32Array(new ArrayBuffer(count * 8));
    const marks = new Float32Array(new ArrayBuffer(count * 8));
    const marksOf = new Float64Array(marks.buffer);
    let at = 0;
    entries.forEach(({ path, verdict, mark }, i) => {
      at += encoder.encodeInto(path, bytes.subarray(at)).written;
      verdicts[i * 2] = verdict;
      ends[i * 2] = at;
      ends[i * 2 + 1] = at / 2 ** 32;
      marksOf[i] = mark ?? Number.NaN;
    });
    const args = struct("ty_tree_tell_args").integer("n", count).pointer("verdicts", verdicts).pointer("marks", marks);
    args.pointer("paths", bytes).pointer("path_ends", ends);
    const code = this.c.ty_tree_tell(handle, args.u32, this.error);
    args.release();
    if (code !== Status.OK) throw toError(code, this.error);
  }

  /**
   * Walks on this thread until no folder is left, the deadline has passed, or some thousand events were found.
   * @throws NativeError with `Status.IO` where the root or `below` cannot be read: nothing is gone then
   */
  walk(options: TreeWalkOptions): TreeWalk {
    const handle = this.idle;
    const args = this.walkArgs(options);
    const code = this.c.ty_tree_walk(handle, args.u32, null, this.error);
    return this.walked(args, code === Status.OK ? undefined : toError(code, this.error));
  }

  /** The same on a worker; `watch.signal` stops it, and the walk can go on then. */
  async walkAsync(options: TreeWalkOptions, watch?: Watch): Promise<TreeWalk> {
    const handle = this.idle;
    const args = this.walkArgs(options);
    this.busy = true;
    let failure: unknown;
    try {
      await this.workers.submitWalk(handle, args, watch);
    } catch (error) {
      failure = error;
    } finally {
      this.busy = false;
    }
    return this.walked(args, failure);
  }

  /**
   * Reads the regular file at `path`, of at most `most` bytes.
   * @throws NativeError with `Status.IO` where this process lacks descriptors or memory
   */
  read(path: string, most: number): TreeFile {
    const handle = this.idle;
    if (path.length * 3 > this.path.byteLength) this.path = new Uint8Array(new ArrayBuffer(path.length * 3));
    const bytes = encoder.encodeInto(path, this.path).written;
    const args = this.reading.pointer("path", this.path).integer("path_bytes", bytes).integer("most", most);
    let out = this.file;
    // Again where the file grew meanwhile; one that grows at each read is left for later.
    for (let tries = 0; ; tries++) {
      args.bytes("out", "out_capacity", out);
      const code = this.c.ty_tree_read(handle, args.u32, this.error);
      if (code !== Status.OK) {
        args.release();
        throw toError(code, this.error);
      }
      const outcome = args.number("outcome");
      if (outcome !== READ_BUFFER) return this.fileOf(outcome as ReadOutcomeCode, out);
      if (tries === BUFFER_TRIES) return this.fileOf(ReadOutcome.UNREADABLE, out);
      out = new Uint8Array(new ArrayBuffer(Math.min(most, Math.ceil(args.number("size") * 1.25))));
      if (out.byteLength <= FILE_BYTES_KEPT) this.file = out;
    }
  }

  /** Closes the descriptors that are kept for the next call, and ends the walk under way. */
  rest(): void {
    this.c.ty_tree_rest(this.idle);
  }

  /** Not while `walkAsync` is under way. Safe to call twice. */
  close(): void {
    if (this.pointer === undefined) return;
    this.c.ty_tree_close(this.idle);
    this.pointer = undefined;
  }

  private get idle(): Pointer {
    if (this.pointer === undefined) throw new Error("this folder tree is closed");
    if (this.busy) throw new Error("a walk of this folder tree is under way");
    return this.pointer;
  }

  private walkArgs({ begin, below = "", after = "", deadlineMs = 0 }: TreeWalkOptions): WalkArgs {
    const args = struct("ty_tree_walk_args").integer("begin", Number(begin)).pointer("reached", this.reached);
    args.bytes("below", "below_bytes", encoder.encode(below)).bytes("after", "after_bytes", encoder.encode(after));
    // 0 means no deadline; one that has passed is the shortest.
    if (deadlineMs !== 0) args.integer("most_ns", Math.max(1, Math.floor(deadlineMs * 1e6)));
    this.events ??= new Uint8Array(new ArrayBuffer(EVENTS_BYTES));
    return args.bytes("out", "out_capacity", this.events);
  }

  private walked(args: WalkArgs, failure: unknown): TreeWalk {
    args.release();
    const events = this.held;
    decodeEvents(this.events!, args.number("events"), events);
    this.held = failure === undefined ? [] : events;
    if (failure !== undefined) throw failure;
    return {
      events,
      done: args.number("done") === 1,
      late: args.number("late") === 1,
      reached: Buffer.from(this.reached.buffer, 0, args.number("reached_bytes")).toString(),
      undecodable: args.number("undecodable"),
      visited: args.number("visited"),
    };
  }

  private fileOf(outcome: ReadOutcomeCode, out: Uint8Array): TreeFile {
    const args = this.reading;
    args.release();
    const hash = args.bits("hash");
    return {
      outcome,
      bytes: out.subarray(0, args.number("bytes")),
      size: args.number("size"),
      mark: args.float("mark"),
      changedMs: args.float("changed_ms"),
      hashHigh: Number(hash >> 32n),
      hashLow: Number(hash & 0xffff_ffffn),
      errno: args.number("sys_errno"),
    };
  }
}
