/**
 * Several collections that are searched as one. The ids of its rows have the names of their collections, `name/id`: a
 * name has no slash, and collections may have rows of the same id.
 */
import type { RowRecord } from "../../ffi/records.ts";
import { NativeError, Status } from "../../ffi/status.ts";
import { FailedIn, type ManyFilter } from "../../ffi/ty_many.ts";
import type { PassagePlace } from "../../ffi/ty_reader.ts";
import type { Condition } from "../checks/where.ts";
import { SvcError } from "../errors.ts";
import { type Detail, type Row, type SearchAnswer, toRow } from "../store/answer.ts";
import type { Collection } from "../store/collection.ts";
import { fromNative } from "../store/failure.ts";
import { encodeKey } from "../store/filter.ts";
import { type Question, type SearchOptions, toQuestion } from "../store/query.ts";
import { Reader } from "../store/reader.ts";

/** A collection and the id of a row in it, of an id as these rows have it. */
export function splitId(id: string): { collection: string; id: string } {
  const slash = id.indexOf("/");
  return { collection: id.slice(0, slash), id: id.slice(slash + 1) };
}

/** Collections whose rows have vectors of one space, for one call. */
export class Collections {
  /** For messages. */
  readonly name = "*";
  /** Those that turned out to be unreadable during the call, by name, with the error. */
  readonly failed = new Map<string, SvcError>();
  /** Those that an answer was made with, and what of each was damaged (`Trouble`). */
  troubles: readonly { collection: Collection; trouble: number }[] = [];
  private readonly byName: ReadonlyMap<string, Collection>;

  /**
   * @param parts in this order rows of equal score are ranked
   * @param where a condition whose column each of them has
   */
  constructor(
    private parts: readonly Collection[],
    private readonly where: Condition | undefined,
    private readonly signal?: AbortSignal,
  ) {
    this.byName = new Map(parts.map((one) => [one.name, one]));
  }

  /** Those that can be read, as far as is known. */
  get all(): readonly Collection[] {
    return this.parts;
  }

  /** As `Collection.ask`, without `under`. The condition is the one of the constructor. */
  async ask(question: Question, options: SearchOptions): Promise<SearchAnswer> {
    while (this.parts.length > 0) {
      const { parts } = this;
      try {
        const query = toQuestion(question, options, parts[0]!.schema.dim);
        const found = await Reader.askMany(parts, this.filter(), query, { signal: this.signal });
        const { rows, places, troubles, ...read } = found;
        this.troubles = parts.map((collection, i) => ({ collection, trouble: troubles[i]! }));
        return { ...read, rows: rows.map((row, i) => toNamed(row, parts, places[i]!)) };
      } catch (error) {
        this.leaveOut(error);
      }
    }
    return NOTHING;
  }

  /** As `Collection.passages`. */
  passages(question: string, _where: Condition | undefined, texts: readonly string[]): PassagePlace[] {
    while (this.parts.length > 0) {
      try {
        return Reader.passagesMany(this.parts, this.filter(), question, texts);
      } catch (error) {
        this.leaveOut(error);
      }
    }
    return texts.map(() => ({ from: 0, best: 0, word: 0, to: 0, questionShare: 1 }));
  }

  /** As `Collection.get`, with the rows' own ids; rows of a collection that cannot be read are not found. */
  get(ids: readonly string[], detail: Detail): Row[] {
    return this.each(ids, ABSENT, (collection, own) => collection.get(own, detail));
  }

  /** As `Collection.neighbours`. */
  neighbours(ids: readonly string[], textMost: number): ReturnType<Collection["neighbours"]> {
    const none = { before: undefined, after: undefined };
    return this.each(ids, none, (collection, own) => collection.neighbours(own, textMost));
  }

  /** As `Collection.termsOf`; no terms where there are no collections. */
  termsOf(texts: readonly string[]): Uint32Array[] {
    return this.parts[0]?.termsOf(texts) ?? texts.map(() => new Uint32Array(0));
  }

  private filter(): ManyFilter | undefined {
    const { where, parts } = this;
    if (where === undefined) return undefined;
    const columns = parts.map(({ schema }) => schema.filterColumns.indexOf(where.column));
    return { columns, key: encodeKey(where.value) };
  }

  /**
   * Drops the collection in which the call failed, so that the caller can try again. A collection that was deleted
   * meanwhile is not reported.
   */
  private leaveOut(error: unknown): void {
    if (!(error instanceof FailedIn)) throw fromNative(error, "*");
    const one = this.parts[error.index]!;
    const isGone = error.cause instanceof NativeError && error.cause.status === Status.NOT_FOUND;
    if (!isGone) this.failed.set(one.name, fromNative(error.cause, one.name));
    this.parts = this.parts.filter((other) => other !== one);
  }

  /** Reads rows of their collections, each in one call; `none` for those of one that cannot be read. */
  private each<T>(ids: readonly string[], none: T, read: (collection: Collection, ids: string[]) => T[]): T[] {
    const places = Map.groupBy(ids.keys(), (i) => splitId(ids[i]!).collection);
    const found: T[] = new Array(ids.length).fill(none);
    for (const [name, of] of places) {
      const collection = this.byName.get(name)!;
      try {
        const rows = read(
          collection,
          of.map((i) => splitId(ids[i]!).id),
        );
        for (const [k, i] of of.entries()) found[i] = rows[k]!;
      } catch (error) {
        if (!(error instanceof SvcError)) throw error;
        this.failed.set(name, error);
      }
    }
    return found;
  }
}

/** @throws FailedIn for damaged metadata */
function toNamed(record: RowRecord, parts: readonly Collection[], index: number): Row {
  const { name } = parts[index]!;
  try {
    const row = toRow(record, name);
    row.id = `${name}/${row.id}`;
    return row;
  } catch (error) {
    throw new FailedIn(index, error as SvcError);
  }
}

/** An answer without rows. */
const NOTHING: SearchAnswer = {
  rows: [],
  fused: false,
  trouble: 0,
  screenedRows: 0,
  scoredRows: 0,
  probedLists: 0,
  words: 0,
  known: 0,
  replaced: [],
  weights: [],
  meaningWeight: undefined,
};

/** A row that is not there. */
const ABSENT: Row = {
  id: "",
  found: false,
  birth: 0,
  score: 0,
  metadata: undefined,
  text: undefined,
  vector: undefined,
  terms: undefined,
  scores: undefined,
  times: undefined,
};
