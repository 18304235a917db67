/** What libty_runtime can read of a damaged collection: the rows and operations of its files, and the parts of each row. */

import type { Pointer } from "bun:ffi";
import { isUtf8 } from "node:buffer";
import { cString } from "./packing.ts";
import { Status } from "./status.ts";
import { struct } from "./structs.ts";
import { newError, type Symbols, toError } from "./ty_symbols.ts";

/** Room for a row that most rows fit into. */
const ROW_BYTES = 256 * 1024;
/** `TY_SALVAGE_DAMAGED` and `TY_SALVAGE_ABSENT`. */
const DAMAGED = 0xffff_ffff;
const ABSENT = 0xffff_fffe;

/** Kinds of what `next` finds: `TY_SALVAGE_*`. */
export const Found = { END: 0, ROW: 1, DELETE: 2, LOST: 3 } as const;

/** What the bytes of rows mean; dim 0: not known, so that no vector and no change can be read. */
export type SalvageSchema = Record<"dim" | "dtype" | "columns", number>;

const ITEM = ["kind", "file", "at", "bytes", "row", "replaced", "created", "updated"] as const;

/**
 * A row of the base, an operation, or bytes that say nothing: fields of `ty_salvage_row_args`. What is damaged or absent
 * of them is above 2^53.
 */
export type FoundItem = Record<(typeof ITEM)[number], number>;

/** A part of a row: undefined where it is damaged, null where the row never had it. */
export type Part<T> = T | null | undefined;

/** The parts of a row. */
export interface FoundRow {
  id: string | undefined;
  metadata: Part<string>;
  text: Part<string>;
  vector: Float32Array | undefined;
  /** The encoded filter values, by column; undefined: damaged. */
  keys: (Uint8Array | undefined)[];
  /** It has terms in the word index instead of a text: they cannot be saved. */
  hasTerms: boolean;
  /** When it was put, in milliseconds since 1970. */
  times: { created: number; updated: number } | undefined;
}

/** The files of a damaged collection. */
export class NativeSalvage {
  /** What the base says of itself, else what the manifest says. */
  readonly schema: SalvageSchema;
  /** Bits that were restored so far, as checksums say. */
  restored = 0;
  private readonly handle: Pointer;
  private readonly error = newError();
  private readonly row = struct("ty_salvage_row_args");
  private out: Uint8Array = new Uint8Array(ROW_BYTES);

  constructor(
    private readonly c: Symbols,
    env: Pointer,
    dir: string,
    readonly files: readonly { name: string; bytes: number }[],
    { dim, dtype, columns, written }: SalvageSchema & { written: number },
  ) {
    const sizes = BigUint64Array.from(files, ({ bytes }) => BigInt(bytes));
    const args = struct("ty_salvage_open_args").pointer("dir", cString(dir)).pointer("sizes", sizes);
    args.integer("n", files.length).pointer("names", cString(files.map(({ name }) => name).join("\0")));
    args.integer("dim", dim).integer("dtype", dtype).integer("columns", columns).integer("written", written);
    const out = new BigUint64Array(new ArrayBuffer(8));
    const code = c.ty_salvage_open(env, args.u32, out, this.error);
    args.release();
    if (code !== Status.OK) throw toError(code, this.error);
    this.handle = Number(out[0]) as Pointer;
    this.schema = { dim: args.number("dim"), dtype: args.number("dtype"), columns: args.number("columns") };
  }

  /** The rows of the base, then the operations of the deltas, and between them what is lost; undefined at the end. */
  next(): FoundItem | undefined {
    const { row, error } = this;
    const code = this.c.ty_salvage_next(this.handle, row.u32, error);
    if (code !== Status.OK) throw toError(code, error);
    this.restored = row.number("restored");
    if (row.number("kind") === Found.END) return undefined;
    return Object.fromEntries(ITEM.map((field) => [field, row.number(field)])) as FoundItem;
  }

  /** The parts of a row that was found; of the base, the first file, `at` is its position. */
  read(item: Pick<FoundItem, "file" | "at"> & Partial<FoundItem>): FoundRow {
    const { row } = this;
    const { created = Number.NaN, updated = Number.NaN } = item;
    row.integer("file", item.file).integer("at", item.at);
    for (;;) {
      const code = this.c.ty_salvage_read(this.handle, row.bytes("out", "out_capacity", this.out).u32, this.error);
      if (code === Status.OK) break;
      if (code !== Status.BUFFER) throw toError(code, this.error);
      this.out = new Uint8Array(row.number("out_bytes"));
    }
    const { out } = this;
    const view = new DataView(out.buffer);
    let at = 0;
    const take = (): Part<Uint8Array> => {
      const bytes = view.getUint32(at, true);
      at += 4;
      if (bytes === DAMAGED || bytes === ABSENT) return bytes === DAMAGED ? undefined : null;
      at += bytes;
      return out.slice(at - bytes, at);
    };
    // Bytes that are not UTF-8 are damaged too.
    const text = (): Part<string> => {
      const bytes = take();
      return bytes && (isUtf8(bytes) ? Buffer.from(bytes.buffer).toString() : undefined);
    };
    const vector = take();
    return {
      vector: vector ? new Float32Array(vector.buffer as ArrayBuffer) : undefined,
      id: text() ?? undefined,
      metadata: text(),
      text: text(),
      hasTerms: take() instanceof Uint8Array,
      times: Number.isSafeInteger(created) ? { created, updated } : undefined,
      keys: Array.from({ length: this.schema.columns }, () => take() ?? undefined),
    };
  }

  close(): void {
    this.c.ty_salvage_close(this.handle);
  }
}
