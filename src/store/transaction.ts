/** What a change may do: put and delete rows, and set what the manifest says. */
import { packStrings } from "../../ffi/packing.ts";
import type { Ahead } from "../../ffi/ty_ahead.ts";
import type { MeaningBatch, NativeCollection, PutMode, Watch } from "../../ffi/ty_collection.ts";
import { SUPERSEDED_BY } from "../checks/names.ts";
import { TEXT_EMBED_BYTES_MAX } from "../limits.ts";
import { type Origin, originJson } from "../origin.ts";
import { checkPacked, type PackedRows, packRows, type Rows } from "./pack.ts";
import { parseManifest, type Schema, SUPERSEDED_NOTE } from "./schema.ts";

/** As JSON has it. */
const QUOTED = JSON.stringify(SUPERSEDED_BY);

/** Texts of fewer bytes are embedded in a third of a millisecond, which another call on a worker is not worth. */
const AHEAD_BYTES_MIN = 32 * 1024;

/** What can be made of rows before their turn; undefined unless their texts are long. */
export function aheadOf(
  native: NativeCollection,
  rows: PackedRows | undefined,
  signal?: AbortSignal,
): Ahead | undefined {
  const isLong = rows?.texts !== undefined && rows.texts.bytes.length >= AHEAD_BYTES_MIN;
  return isLong ? native.ahead(rows, TEXT_EMBED_BYTES_MAX, { signal }) : undefined;
}

/** Changes that become visible and durable together; the argument of the callbacks of `change` and `stage`. */
export class Transaction {
  /**
   * @param count gets the number of rows, ids and keys that each call changed
   * @param ahead what was made of the texts of a put before its turn
   */
  constructor(
    private readonly native: NativeCollection,
    private readonly schema: Schema,
    private readonly count: (changed: number) => void,
    private readonly ahead?: Ahead,
  ) {}

  /** Puts rows, all or none. @throws KeyError, ValueError as the mode says */
  async put(mode: PutMode, rows: Rows | PackedRows, watch?: Watch): Promise<{ inserted: number; replaced: number }> {
    const { dim, filterColumns } = this.schema;
    const packed = "keys" in rows ? rows : packRows(rows, filterColumns);
    checkPacked(packed, dim, filterColumns.length);
    const put = await this.native.put(mode, packed, TEXT_EMBED_BYTES_MAX, watch, this.ahead);
    this.count(put.inserted + put.replaced);
    // Searches look for replaced rows only where there may be some. Text that merely contains the name does no harm.
    if (
      Buffer.from(packed.metas.bytes.buffer, packed.metas.bytes.byteOffset, packed.metas.bytes.length).includes(QUOTED)
    ) {
      if (parseManifest(this.native.manifest()).notes[SUPERSEDED_NOTE] === undefined) this.note(SUPERSEDED_NOTE, true);
    }
    return put;
  }

  /** Deletes rows; resolves to how many were live. */
  async delete(ids: readonly string[]): Promise<number> {
    const removed = await this.native.delete(packStrings(ids));
    this.count(removed);
    return removed;
  }

  /** Sets a key of the manifest to a value that JSON can hold; a description of undefined is removed. */
  set(key: "default_target_recall" | "applied_tuner" | "name" | "description", value: unknown): void {
    this.native.set(key, encoded(value));
    this.count(1);
  }

  /**
   * Sets one of the collection's notes to a value that JSON can hold, or removes it where that is undefined.
   * @param name 1 to 64 letters, digits and `-._:`
   * @throws ValueError for another name, and where all notes would have more than a MiB
   */
  note(name: string, value: unknown): void {
    this.native.note(name, encoded(value));
    this.count(1);
  }

  /** Adds fields to the origin of this change. */
  addOrigin(origin: Origin): void {
    const json = originJson(origin);
    if (json !== undefined) this.native.origin(json);
  }

  /** Adds vectors of meaning. @returns how many: other processes may have added them, or replaced the rows */
  putMeaning(batch: MeaningBatch): number {
    return this.native.putMeaning(batch);
  }

  /** Adds what `meaningOf` returned of these ids, where their rows have the same texts and no vectors. */
  takeMeaning(ids: readonly string[], vectors: Uint8Array): void {
    this.native.takeMeaning(packStrings(ids), vectors);
  }

  /** Removes all vectors of meaning. */
  dropMeaning(): void {
    this.native.dropMeaning();
  }
}

function encoded(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value);
}
