/** Salvaged rows as a new collection: saved in one transaction, so that it is there whole or not at all. */
import { isDeepStrictEqual } from "node:util";
import { packBytes, packStrings } from "../../ffi/packing.ts";
import type { FoundRow } from "../../ffi/ty_salvage.ts";
import type { Metadata } from "../checks/values.ts";
import { STORED_TIME_MAX } from "../limits.ts";
import { repoIdOfNote } from "../repo/fingerprints/note.ts";
import type { Collection, Transaction } from "../store/collection.ts";
import { encodeKey } from "../store/filter.ts";
import type { PackedRows } from "../store/pack.ts";
import type { Salvage } from "../store/salvage.ts";
import type { Schema } from "../store/schema.ts";
import { Put } from "../store/writer.ts";
import { matrixOf, runsOf } from "../texts/dated.ts";
import type { Embedder } from "../texts/embedder.ts";
import { embeddingOf } from "../texts/put.ts";
import { BM25 } from "../texts/ranking.ts";
import type { Watch } from "./options.ts";

/** Rows that are put together; fewer where their kinds alternate. */
export const ROWS_TOGETHER = 256;
/** Lost parts that are named. */
const LOST_NAMED = 1000;

/** How a row is put: its text embedded, or with the vector that is stored. An empty text is not the same as none. */
type Kind = "embedded" | "with text" | "without text";

/** What was lost of rows, for the caller of a repair. */
export interface Losses {
  lost: { id: string | null; parts: string[] }[];
  lost_rows: number;
}

/** Writes the rows of a salvage into a collection that was never saved. */
export class SalvageWriter {
  private readonly columns: readonly string[];
  private readonly schema: Schema;

  constructor(
    private readonly found: Salvage,
    private readonly to: Collection,
    private readonly embedder: Embedder | undefined,
    private readonly result: Losses,
    private readonly watch: Watch,
  ) {
    this.schema = to.schema;
    this.columns = to.schema.filterColumns;
  }

  /** Puts all rows in one transaction: the new collection is there whole or not at all. */
  async write(): Promise<void> {
    const { found, to, watch } = this;
    const { lexical } = this.schema;
    const work = async (t: Transaction) => {
      for (const run of runsOf(this.readable(), ({ kind }) => kind, ROWS_TOGETHER)) {
        const rows = run.map(({ row }) => row);
        await this.put(t, rows, run[0]!.kind);
      }
      for (const [name, value] of Object.entries(found.manifest.notes)) {
        if (repoIdOfNote(name) === undefined) t.note(name, value);
      }
      await t.delete([]);
    };
    await to.change(work, watch.signal, lexical ? BM25 : undefined);
    // Drops what only gave rows their times.
    await to.compact({ signal: watch.signal });
  }

  /** The rows that can be put. */
  private *readable(): Generator<{ row: FoundRow; kind: Kind }> {
    const { found, watch } = this;
    let done = 0;
    for (const row of found.rows()) {
      const kind = this.kindOf(row);
      if (kind !== undefined) yield { row, kind };
      if (++done % ROWS_TOGETHER > 0) continue;
      watch.signal?.throwIfAborted();
      watch.onProgress?.(done, found.count);
    }
  }

  /** Notes what of a row is lost; undefined where all of it is. */
  private kindOf(row: FoundRow): Kind | undefined {
    const parts: string[] = [];
    if (row.id === undefined || !isId(row.id)) {
      this.lose(null, ["row"]);
      return undefined;
    }
    const text = row.text ?? undefined;
    if (row.text === undefined) parts.push("text");
    if (row.metadata === undefined || (row.metadata !== null && parsed(row.metadata) === undefined)) {
      parts.push("metadata");
    }
    if (row.times === undefined || row.times.updated > STORED_TIME_MAX) parts.push("times");
    if (row.hasTerms) parts.push("terms");
    const embeds = text !== undefined && this.embedder !== undefined;
    // The kernel makes of a text the very vector that was stored; of another embedder the stored one is kept.
    const isKernels = embeds && this.embedder!.kernelModel !== undefined;
    const stored: Kind = text === undefined ? "without text" : "with text";
    const kind = isKernels || (embeds && row.vector === undefined) ? "embedded" : row.vector && stored;
    if (kind === undefined) parts.push("row");
    if (parts.length > 0) this.lose(row.id, parts);
    return kind;
  }

  private lose(id: string | null, parts: string[]): void {
    this.result.lost_rows++;
    if (this.result.lost.length < LOST_NAMED) this.result.lost.push({ id, parts });
  }

  private async put(t: Transaction, rows: readonly FoundRow[], kind: Kind): Promise<void> {
    const { dim } = this.schema;
    const now = Date.now();
    const times = rows.map(({ times: given }) =>
      given && given.updated <= STORED_TIME_MAX ? given : { created: now, updated: now },
    );
    const created = times.map((time) => time.created);
    const updated = times.map((time) => time.updated);
    // A row that was updated once had another version: without it `created` would be when it was updated.
    if (!isDeepStrictEqual(created, updated)) {
      const vectors = new Float32Array(rows.length * dim);
      await t.put(Put.UPSERT, { ...this.pack(rows, created), texts: undefined, vectors });
    }
    const packed = this.pack(rows, updated);
    if (kind === "embedded") {
      const texts = rows.map((row) => row.text!);
      const embedding = await embeddingOf(this.embedder!, texts, this.watch.signal);
      await t.put(Put.UPSERT, { ...packed, texts: packStrings(texts), ...embedding });
      return;
    }
    const texts = kind === "with text" ? packStrings(rows.map((row) => row.text!)) : undefined;
    await t.put(Put.UPSERT, { ...packed, vectors: matrixOf(rows, dim), texts });
  }

  private pack(rows: readonly FoundRow[], times: readonly number[]): PackedRows {
    const metas = rows.map((row) => (typeof row.metadata === "string" ? parsed(row.metadata) : undefined));
    const keys = rows.flatMap((row, i) =>
      this.columns.map((column, at) => row.keys[at] ?? encodeKey(valueIn(metas[i], column))),
    );
    return {
      count: rows.length,
      ids: packStrings(rows.map((row) => row.id!)),
      // As they were stored, byte for byte.
      metas: packStrings(rows.map((row, i) => (metas[i] === undefined ? undefined : row.metadata!))),
      texts: undefined,
      keys: packBytes(keys),
      dropText: false,
      updated: BigUint64Array.from(times, BigInt),
    };
  }
}

function isId(id: string): boolean {
  return id.length > 0 && !id.includes("\0") && Buffer.byteLength(id) <= 512;
}

function parsed(metadata: string): Metadata | undefined {
  try {
    const value: unknown = JSON.parse(metadata);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Metadata) : undefined;
  } catch {
    return undefined;
  }
}

function valueIn(metadata: Metadata | undefined, column: string): unknown {
  return metadata && Object.hasOwn(metadata, column) ? metadata[column] : undefined;
}
