/**
 * Rows into a collection as they were in another one, with their times and, where they are of the same embedder, their
 * vectors. A row that is there already as it is given is left alone, so that repeating an import costs little.
 */
import { MEANING_VECTOR_BYTES } from "../../ffi/ty_collection.ts";
import { encodeMetadata } from "../checks/metadata.ts";
import { checkTextSize } from "../checks/texts.ts";
import { checkStoredTime } from "../checks/times.ts";
import type { Metadata } from "../checks/values.ts";
import { checkDim } from "../checks/vectors.ts";
import { CancelledError, SvcError, ValueError } from "../errors.ts";
import type { ForeignRow, ForeignSchema } from "../formats/input/row.ts";
import type { guardRow } from "../secrets/policy.ts";
import type { Collection, Row, Transaction } from "../store/collection.ts";
import type { StoreView } from "../store/limited/view.ts";
import { type PackedRows, packRows } from "../store/pack.ts";
import { DEFAULT_PARTITION, type Dtype } from "../store/schema.ts";
import { Put } from "../store/writer.ts";
import { matrixOf, putDated, type RowDates, runsOf } from "../texts/dated.ts";
import { duplicatesOf, withoutDuplicates } from "../texts/duplicates.ts";
import { checkSpace, type Embedder } from "../texts/embedder.ts";
import { isMeaningOn } from "../texts/meaning/setting.ts";
import { embeddingOf, partitioned } from "../texts/put.ts";
import type { ImportedPayload } from "./payloads.ts";
import type { CallContext } from "./requests.ts";
import { agreeing, newSchema, usesVectors, type WantedSchema } from "./transfer-schema.ts";

/** `guardRow` of a policy. */
type RowGuard = (row: Parameters<typeof guardRow>[1]) => ReturnType<typeof guardRow>;

/** A row that has its id. */
export interface ImportRow extends ForeignRow {
  readonly id: string;
}

/** Rows to import. */
export interface ImportArguments {
  readonly collection: string;
  /** In their order; of an id that stands twice the last one counts. */
  readonly rows: readonly ImportRow[];
  readonly schema: WantedSchema;
  /** What is known of the collection that the rows were exported of. */
  readonly source?: ForeignSchema | undefined;
  /** Whether rows get the times that they have. */
  readonly times: boolean;
  /** Whether a row of a new id whose text another row has is left out. */
  readonly skipDuplicates?: boolean | undefined;
  /** The call for the rows before. These rows are put only after it, and not if it fails. */
  readonly after?: Promise<unknown> | undefined;
  /** Called once the rows are put and their save has begun, if the collection existed before: the next call may begin. */
  readonly whileSaving?: (() => void) | undefined;
  /** Gets what is wrong with a row, which is then left out; absent: the call fails. */
  readonly onBad?: ((error: SvcError) => void) | undefined;
}

/** How a row is put: its text embedded, or with its vector. */
type Kind = "embedded" | "with text" | "vector alone";

type DatedRows = Omit<PackedRows, "updated" | "created"> & RowDates;

/** Puts rows in one change: all of them, or none. @throws ValueError naming where the row stands that is wrong */
export async function importRows(
  store: StoreView,
  embedder: Embedder,
  a: ImportArguments,
  { signal }: CallContext,
  guard?: RowGuard,
): Promise<ImportedPayload> {
  const existing = store.find(a.collection);
  if (existing) return new Import(agreeing(existing, a.schema), embedder, a, guard).put(undefined, signal);
  return store.createWith(a.collection, newSchema(embedder, a), async (made) => {
    const work = new Import(made, embedder, a, guard);
    return work.put(work.description(), signal);
  });
}

class Import {
  private readonly hasVectors: boolean;
  /** Whether the embedder was found to be the collection's. */
  private isOurs = false;
  private readonly result: ImportedPayload = { inserted: 0, replaced: 0, unchanged: 0, embedded_again: 0, bad: 0 };

  constructor(
    private readonly collection: Collection,
    private readonly embedder: Embedder,
    private readonly a: ImportArguments,
    private readonly guard: RowGuard | undefined,
  ) {
    this.hasVectors = usesVectors(collection.schema, a.source);
  }

  /**
   * What the file says that its collection is for, as it may be stored. @throws ValueError for one with a credential
   */
  description(): string | undefined {
    const text = this.a.source?.description;
    if (text === undefined || !this.guard) return text;
    try {
      const { text: guarded, masked } = this.guard({ id: "", text, metadata: undefined });
      if (masked > 0) this.result.masked = (this.result.masked ?? 0) + masked;
      return guarded;
    } catch (error) {
      if (error instanceof SvcError) error.message = `the description of the collection: ${error.message}`;
      throw error;
    }
  }

  /** @param description of a collection that is new */
  async put(description: string | undefined, signal: AbortSignal | undefined): Promise<ImportedPayload> {
    const { collection, result } = this;
    const rows = this.withoutDuplicates(this.fresh());
    // Rows keep their order.
    const runs = [...runsOf(rows, (row) => this.kindOf(row))].map((run) => ({ kind: this.kindOf(run[0]!), rows: run }));
    // What an export of no rows says of its collection is imported as well.
    if (runs.length === 0 && (collection.isSaved || this.a.source === undefined)) return result;
    const puts: DatedRows[] = [];
    for (const { kind, rows } of runs) puts.push(await this.packed(kind, rows, signal));
    const meanings = await this.meaningsOf(rows);
    const work = async (t: Transaction) => {
      await this.a.after?.catch(() => {
        throw new CancelledError("the rows before these could not be imported");
      });
      if (description !== undefined) t.set("description", description);
      for (const rows of puts) {
        const { inserted, replaced } = await putDated(t, Put.UPSERT, rows, { signal });
        result.inserted += inserted;
        result.replaced += replaced;
      }
      if (meanings) t.takeMeaning(meanings.ids, meanings.vectors);
      if (this.a.whileSaving && collection.isSaved) setImmediate(this.a.whileSaving);
    };
    await collection.change(work, signal, undefined, textsOf(puts[0]));
    for (const { kind, rows } of runs) {
      if (kind === "embedded") result.embedded_again += rows.filter((row) => row.vector !== undefined).length;
    }
    return result;
  }

  /** The rows that are right, each id once, and not there yet. */
  private fresh(): ImportRow[] {
    const { a, collection, result } = this;
    const last = new Map<string, ImportRow>();
    for (const given of a.rows) {
      const row = this.good(given);
      if (row) last.set(row.id, row);
    }
    const rows = [...last.values()];
    const detail = { metadata: true, text: true, times: a.times, vector: this.hasVectors };
    const stored = collection.get([...last.keys()], detail);
    const fresh = rows.filter((row, i) => !this.isThere(row, stored[i]!));
    result.unchanged += rows.length - fresh.length;
    return fresh;
  }

  /** Where that is asked for, the rows but for those of new ids whose texts other rows have. */
  private withoutDuplicates(rows: ImportRow[]): ImportRow[] {
    if (!this.a.skipDuplicates) return rows;
    const { collection, result } = this;
    const texts = rows.filter((row) => row.text !== undefined);
    const ids = texts.map(({ id }) => id);
    const duplicates = duplicatesOf(collection, { ids, texts: texts.map(({ text }) => text!) }, true);
    if (duplicates.length === 0) return rows;
    const kept = new Set(withoutDuplicates(collection, ids, duplicates).map((i) => ids[i]!));
    const left = rows.filter(({ id, text }) => text === undefined || kept.has(id));
    if (left.length < rows.length) result.skipped = rows.length - left.length;
    return left;
  }

  /** A row as it may be stored; undefined for one that is left out. */
  private good(row: ImportRow): ImportRow | undefined {
    try {
      this.check(row);
      return this.guarded(row);
    } catch (error) {
      if (!(error instanceof SvcError) || error instanceof CancelledError) throw error;
      error.message = `${row.where}: ${error.message}`;
      if (!this.a.onBad) throw error;
      this.a.onBad(error);
      this.result.bad += 1;
      return undefined;
    }
  }

  /** @throws ValueError for a row with a credential, where such rows are refused */
  private guarded(row: ImportRow): ImportRow {
    if (!this.guard) return row;
    const { id, vector, where, created, updated } = row;
    const { text, metadata, masked } = this.guard({ id, text: row.text, metadata: row.metadata as Metadata });
    if (masked === 0) return row;
    this.result.masked = (this.result.masked ?? 0) + masked;
    // A vector tells of the text that it was made of.
    const kept = text === row.text ? vector : undefined;
    return { id, text, metadata, vector: kept, where, created, updated };
  }

  /** @throws ValueError, TypeError for what the collection would refuse */
  private check(row: ImportRow): void {
    const { a, collection, embedder, hasVectors } = this;
    const { dim, embedderProfile } = collection.schema;
    if (row.text !== undefined) checkTextSize(row.text, "text");
    if (row.metadata) encodeMetadata(row.metadata, "metadata");
    if (a.times) {
      checkStoredTime(row.created, "created");
      checkStoredTime(row.updated, "updated");
    }
    if (hasVectors && row.vector) {
      checkDim(row.vector.length, "vector", dim);
      return;
    }
    if (row.text !== undefined && embedderProfile !== null) {
      // Two hashes take longer than all else that is checked of a row.
      if (!this.isOurs) checkSpace(collection.name, embedderProfile, embedder);
      this.isOurs = true;
      return;
    }
    if (embedderProfile === null) {
      throw new ValueError(
        `it has no vector, but collection '${collection.name}' takes only vectors: export with --with-vectors`,
      );
    }
    throw new ValueError(
      `it has no text, and its vector is not from the embedder of collection '${collection.name}': ` +
        "import it into a new collection",
    );
  }

  /** Whether a row is stored as it would be after it was put. */
  private isThere(row: ImportRow, stored: Row): boolean {
    if (!stored.found || stored.text !== row.text) return false;
    const metadata = partitioned(row.metadata, this.collection.schema.keyName);
    if (JSON.stringify(metadata) !== JSON.stringify(stored.metadata)) return false;
    const { created, updated } = datesOf(row);
    // Its created stays, and no row is updated before it.
    if (this.a.times && updated !== undefined && stored.times) {
      if (stored.times.updated !== Math.max(updated, created ?? 0, stored.times.created)) return false;
    }
    if (!this.hasVectors || row.vector === undefined) return true;
    return stored.vector !== undefined && areSame(row.vector, stored.vector, this.collection.schema.dtype);
  }

  private kindOf({ vector, text }: ImportRow): Kind {
    if (!this.hasVectors || vector === undefined) return "embedded";
    return text === undefined ? "vector alone" : "with text";
  }

  /** The vectors of meaning that came with the rows, where this process can read them. */
  private async meaningsOf(rows: readonly ImportRow[]): Promise<{ ids: string[]; vectors: Uint8Array } | undefined> {
    const given = rows.filter(({ meaning }) => meaning?.length === MEANING_VECTOR_BYTES);
    const { encoder } = this.embedder;
    if (given.length === 0 || !isMeaningOn(this.collection) || !(await encoder?.load())) return undefined;
    return { ids: given.map(({ id }) => id), vectors: Buffer.concat(given.map(({ meaning }) => meaning!)) };
  }

  private async packed(kind: Kind, rows: readonly ImportRow[], signal: AbortSignal | undefined): Promise<DatedRows> {
    const { keyName, filterColumns, dim } = this.collection.schema;
    const texts = kind === "vector alone" ? undefined : rows.map((row) => row.text!);
    const {
      updated: _,
      created: __,
      ...packed
    } = packRows(
      {
        ids: rows.map((row) => row.id),
        metadata: rows.map((row) => partitioned(row.metadata, keyName)),
        defaultPartition: DEFAULT_PARTITION,
        ...(texts && { texts }),
      },
      filterColumns,
    );
    const dates = this.a.times ? rows.map(datesOf) : [];
    const timed: RowDates = {
      created: rows.map((_, i) => dates[i]?.created),
      updated: rows.map((_, i) => dates[i]?.updated),
    };
    if (kind === "embedded") return { ...packed, ...timed, ...(await embeddingOf(this.embedder, texts!, signal)) };
    return { ...packed, ...timed, vectors: matrixOf(rows, dim) };
  }
}

/** Packed rows whose vectors are made of their texts, without their times; undefined for others. */
function textsOf(rows: DatedRows | undefined): PackedRows | undefined {
  if (rows?.model === undefined) return undefined;
  const { created: _, updated: __, ...packed } = rows;
  return packed;
}

/** A row that says only when it came in was not changed since. */
function datesOf({ created, updated }: ForeignRow) {
  return { created: created ?? updated, updated: updated ?? created };
}

/**
 * Whether a stored vector is what another one would be stored as. To the bit, but for int4: its sixteen levels are
 * fitted to a row again, and differ in the last digit of single precision.
 */
function areSame(given: Float32Array, stored: Float32Array, dtype: Dtype): boolean {
  if (dtype !== "int4") return Buffer.compare(bytesOf(given), bytesOf(stored)) === 0;
  const largest = given.reduce((most, number) => Math.max(most, Math.abs(number)), 0);
  return given.length === stored.length && given.every((number, i) => Math.abs(number - stored[i]!) <= largest * 1e-5);
}

function bytesOf(floats: Float32Array): Uint8Array {
  return new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength);
}
