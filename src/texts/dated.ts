/** Puts rows that have times of their own: what an undo brings back and what an import brings along. */
import { checkStoredTime } from "../checks/times.ts";
import type { Row, Transaction } from "../store/collection.ts";
import type { PackedRows, Rows } from "../store/pack.ts";
import { DEFAULT_PARTITION } from "../store/schema.ts";
import type { PutMode, Watch } from "../store/writer.ts";

/** When each row was put, in milliseconds since 1970, one entry a row in the order of the rows. */
export interface RowDates {
  /** When its id became live. Absent: `updated`. Of a row that replaces a live one the live one's counts instead. */
  created: readonly (number | undefined)[];
  /** When it was put, raised to `created`. Absent: now. */
  updated: readonly (number | undefined)[];
}

/** Rows to put, packed or not, without their times. */
export type Undated = Omit<Rows, "updated" | "created"> | Omit<PackedRows, "updated" | "created">;

/**
 * Puts rows with the times that they are given, inside a change, which has to be rolled back where this throws.
 * @returns how many ids are new and how many rows were replaced, as `Transaction.put`
 * @throws ValueError for a time that no row can have; and as `Transaction.put`
 */
export async function putDated(
  t: Transaction,
  mode: PutMode,
  rows: Undated & RowDates,
  watch?: Watch,
): Promise<{ inserted: number; replaced: number }> {
  const { created: givenCreated, updated: givenUpdated, ...plain } = rows;
  const isDated = givenCreated.some(isGiven) || givenUpdated.some(isGiven);
  if (!isDated) return t.put(mode, plain, watch);
  const count = "count" in plain ? plain.count : plain.ids.length;
  const now = Date.now();
  const updated = new BigUint64Array(count);
  const created = new BigUint64Array(count);
  for (let i = 0; i < count; i++) {
    const put = checked(givenUpdated[i], "updated", i) ?? now;
    const born = checked(givenCreated[i], "created", i) ?? put;
    created[i] = BigInt(born);
    updated[i] = BigInt(Math.max(put, born));
  }
  return t.put(mode, { ...plain, updated, created }, watch);
}

/**
 * Puts rows that were read, as they were: ids, texts, metadata, vectors and times. A text may be empty, which is not the
 * same as none: rows with and without one are put apart.
 * @param changes `updated`: the time that the rows get; `of`: by id, the change whose row before has the vector that the
 *   row gets; `keepsVectors`: live rows with the texts that they have keep their vectors to the bit
 * @throws as `putDated`
 */
export async function putRead(
  t: Transaction,
  mode: PutMode,
  rows: readonly Row[],
  dim: number,
  changes: { updated?: number; of?: ReadonlyMap<string, number>; keepsVectors?: boolean } = {},
  watch?: Watch,
): Promise<void> {
  const { of } = changes;
  for (const run of runsOf(rows, ({ text }) => text !== undefined)) {
    const ids = run.map(({ id }) => id);
    const vectors = of
      ? { changes: BigUint64Array.from(ids, (id) => BigInt(of.get(id)!)) }
      : { vectors: matrixOf(run, dim), ...(changes.keepsVectors && { likes: ids }) };
    const put = {
      ids,
      metadata: run.map(({ metadata }) => metadata),
      defaultPartition: DEFAULT_PARTITION,
      ...vectors,
      created: run.map(({ times }) => times!.created),
      updated: run.map(({ times }) => changes.updated ?? times!.updated),
    };
    const texts = run[0]!.text === undefined ? {} : { texts: run.map(({ text }) => text!) };
    await putDated(t, mode, { ...put, ...texts }, watch);
  }
}

/** Cuts a list where `kindOf` changes, and after `most` of one kind. */
export function* runsOf<T>(list: Iterable<T>, kindOf: (item: T) => unknown, most = Number.POSITIVE_INFINITY) {
  let run: T[] = [];
  for (const item of list) {
    if (run.length === most || (run.length > 0 && kindOf(item) !== kindOf(run[0]!))) {
      yield run;
      run = [];
    }
    run.push(item);
  }
  if (run.length > 0) yield run;
}

/** The vectors of rows, row-major; zeros for a row without one. */
export function matrixOf(rows: readonly { vector?: Float32Array | undefined }[], dim: number): Float32Array {
  const matrix = new Float32Array(rows.length * dim);
  for (const [i, { vector }] of rows.entries()) if (vector) matrix.set(vector, i * dim);
  return matrix;
}

const isGiven = (time: number | undefined) => time !== undefined;

function checked(time: number | undefined, name: string, at: number): number | undefined {
  checkStoredTime(time, name, at);
  return time;
}
