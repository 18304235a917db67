/**
 * A collection with another schema: lexical search, or other filter columns. Rows are read from the old one and put
 * into a new one beside it, which is compared with the old one and then takes its place in one step. The writer's lock
 * is held from the first read on: another process's write waits.
 *
 * Vectors are put as they are read. All but those of int4 are stored as the same bits again.
 */

import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { shown } from "../checks/kinds.ts";
import { REPO_KEY } from "../checks/names.ts";
import { OSError, ValueError } from "../errors.ts";
import { repoIdOfNote } from "../repo/fingerprints/note.ts";
import type { Collection, Row, Transaction } from "../store/collection.ts";
import { replaceCollection } from "../store/moves.ts";
import { completeSchema, type Dtype, type Schema } from "../store/schema.ts";
import { withStaged } from "../store/stages.ts";
import type { Store } from "../store/store.ts";
import { Put } from "../store/writer.ts";
import { putRead } from "../texts/dated.ts";
import { checkHistoryRule, type HistoryRule, historyRuleOf, setHistoryRule } from "../texts/history/history.ts";
import type { SentenceEncoder } from "../texts/meaning/encoder.ts";
import { isMeaningOn, setMeaning } from "../texts/meaning/setting.ts";
import { BM25 } from "../texts/ranking.ts";
import type { Watch } from "./options.ts";

/** Rows that are read and put together: as many as ids, metadata and texts of a MiB or so. */
const ROWS_TOGETHER = 1024;
/** Elements of vectors of them at most. */
const ELEMENTS_TOGETHER = 4 * 1024 * 1024;
/** Where the file system cannot exchange two folders. */
const REMEDY = "'svc mem export' it, and import it into a collection with the schema that you want";

/** What to change of a collection. */
export interface AlterOptions extends Watch {
  /** Allow search by word alone, and build its index. */
  lexical?: boolean | undefined;
  /** Filter columns that it gets. Those that it has are not an error. */
  addColumns?: readonly string[] | undefined;
  /** Filter columns that it loses; not the partition key. */
  dropColumns?: readonly string[] | undefined;
  /** Search it by meaning as well; false also removes the vectors that this takes. */
  meaning?: boolean | undefined;
  /** Days of history that it keeps from now on; 0: none. */
  historyDays?: number | undefined;
  /** Bytes that the history may take, in percent of those of the rows and their indexes. */
  historyPercent?: number | undefined;
}

/** What a collection is afterwards. */
export interface AlteredCollection {
  name: string;
  /** False: it had all that was asked for, and nothing was done. */
  altered: boolean;
  rows: number;
  lexical: boolean;
  filter_columns: string[];
  /** Whether it is searched by meaning as well. */
  meaning: boolean;
  /** How much history it keeps. */
  history: HistoryRule;
}

/**
 * Alters a collection. Ids, texts, metadata, vectors, also those of meaning, times, notes, description, indexes and
 * history stay.
 * @throws ValueError for what cannot be changed; OSError for a damaged collection, which stands as it was
 */
export async function alter(
  store: Store,
  encoder: SentenceEncoder,
  name: string,
  options: AlterOptions,
): Promise<AlteredCollection> {
  const { signal } = options;
  await store.open(name).save();
  let schema = wanted(store.open(name), options);
  let rows = store.open(name).count();
  // Nothing is read for it: what has taken its place is not said to have failed.
  const answer = (altered: boolean): AlteredCollection => {
    const { lexical, filterColumns } = schema;
    return { name, altered, rows, lexical, filter_columns: [...filterColumns], meaning, history };
  };
  const kept = historyRuleOf(store.open(name));
  const history = { days: options.historyDays ?? kept.days, percent: options.historyPercent ?? kept.percent };
  checkHistoryRule(history);
  const had = isMeaningOn(store.open(name));
  const { meaning = had } = options;
  if (meaning !== had) await setMeaning(store.open(name), meaning, signal);
  const isInPlace = meaning !== had || !isDeepStrictEqual(history, kept);
  if (!isDeepStrictEqual(history, kept)) await store.open(name).change(async (t) => setHistoryRule(t, history), signal);
  if (isSame(store.open(name), schema)) return answer(isInPlace);
  // Vectors of meaning are put where the model that made them is loaded.
  if (store.open(name).stats().meaning_bytes > 0) await encoder.load();
  const altered = await withStaged(store.dir, (stage) => {
    const make = async () => {
      const from = store.open(name);
      schema = wanted(from, options);
      if (isSame(from, schema)) return undefined; // another process was faster
      await from.verify({ signal });
      const beside = store.at(stage);
      try {
        const to = beside.createLike(name, schema, from.kept());
        await copyRows(from, to, options);
        await compare(from, to, options);
        await to.adoptHistory(from, signal);
        await to.verify({ signal });
        rows = to.count();
      } finally {
        await beside.close();
      }
      return join(stage, name);
    };
    return replaceCollection(store, name, REMEDY, make, signal);
  });
  return answer(altered || isInPlace);
}

function wanted(collection: Collection, { lexical, addColumns = [], dropColumns = [] }: AlterOptions): Schema {
  const { name, schema } = collection;
  const { keyName, filterColumns } = schema;
  if (keyName === REPO_KEY || Object.keys(collection.manifest().notes).some((note) => repoIdOfNote(note))) {
    throw new ValueError(
      `collection ${shown(name)} is the index of repositories, whose schema is fixed: it cannot be altered`,
    );
  }
  for (const column of dropColumns) {
    if (column === keyName) throw new ValueError(`column ${shown(column)} is the partition key: it cannot be dropped`);
    if (!filterColumns.includes(column)) {
      const others = filterColumns.slice(1).map(shown).join(", ");
      const known = others === "" ? "it has none" : `it has ${others}`;
      throw new ValueError(`collection ${shown(name)} has no filter column ${shown(column)} to drop: ${known}`);
    }
    if (addColumns.includes(column))
      throw new ValueError(`column ${shown(column)} is both added and dropped: name it once`);
  }
  const columns = [...filterColumns.filter((column) => !dropColumns.includes(column)), ...addColumns];
  return completeSchema({
    ...schema,
    metric: schema.embedderProfile ? undefined : schema.metric,
    partitionBy: keyName,
    filterColumns: columns,
    lexical: lexical === true || schema.lexical,
  });
}

function isSame({ schema }: Collection, wanted: Schema): boolean {
  return isDeepStrictEqual([schema.lexical, [...schema.filterColumns]], [wanted.lexical, [...wanted.filterColumns]]);
}

/** Puts all rows in one transaction: the new collection is there whole or not at all. */
async function copyRows(from: Collection, to: Collection, { signal, onProgress }: AlterOptions): Promise<void> {
  const { lexical_built, lexical_k1, lexical_b } = from.stats();
  const total = from.count();
  let done = 0;
  const work = async (t: Transaction) => {
    for (const rows of pagesOf(from)) {
      await putRead(t, Put.ADD, rows, from.schema.dim);
      const ids = rows.map(({ id }) => id);
      t.takeMeaning(ids, from.meaningOf(ids));
      signal?.throwIfAborted();
      done += rows.length;
      onProgress?.(done, 2 * total);
    }
    await t.delete([]); // of no rows it is saved too
  };
  const parameters = lexical_built ? { k1: lexical_k1, b: lexical_b } : BM25;
  // One that was made for search by word alone and has no index yet stays so.
  const isBuilt = to.schema.lexical && (lexical_built || !from.schema.lexical);
  await to.change(work, signal, isBuilt ? parameters : undefined);
  const indexed = from.partitions().filter(({ nlist }) => nlist > 0);
  const recall = from.manifest().defaultTargetRecall;
  if (indexed.length > 0) await to.buildIvf(Math.min(...indexed.map(({ rows }) => rows)), recall, { signal });
}

/** Compares all of the rows, in their order. @throws OSError where they are not the same */
async function compare(from: Collection, to: Collection, { signal, onProgress }: AlterOptions): Promise<void> {
  const others = pagesOf(to);
  const total = from.count();
  let done = total;
  for (const rows of pagesOf(from)) {
    const copies = others.next().value ?? [];
    const differs = rows.findIndex((row, i) => !isCopy(row, copies[i], from.schema.dtype));
    if (differs >= 0) {
      throw new OSError(
        `row ${shown(rows[differs]!.id)} of collection ${shown(from.name)} differs in the new one: ` +
          "the collection stands as it was",
      );
    }
    signal?.throwIfAborted();
    done += rows.length;
    onProgress?.(done, 2 * total);
    // The event loop: what is read here is read at once.
    await Bun.sleep(0);
  }
}

function isCopy(row: Row, copy: Row | undefined, dtype: Dtype): boolean {
  if (copy === undefined) return false;
  const { id, metadata, text, vector, times } = row;
  const others = [copy.id, copy.metadata, copy.text, copy.times];
  return isDeepStrictEqual([id, metadata, text, times], others) && isSameVector(vector!, copy.vector!, dtype);
}

/**
 * The same bits. With int4 what a row decodes to may have other codes, of one row in ten: then no element is farther
 * away than from one code to the next.
 */
function isSameVector(a: Float32Array, b: Float32Array, dtype: Dtype): boolean {
  const bytes = (floats: Float32Array) => Buffer.from(floats.buffer, floats.byteOffset, floats.byteLength);
  if (bytes(a).equals(bytes(b))) return true;
  if (dtype !== "int4" || a.length !== b.length) return false;
  const [least, most] = a.reduce(([low, high], x) => [Math.min(low, x), Math.max(high, x)], [Infinity, -Infinity]);
  return a.every((x, i) => Math.abs(x - b[i]!) <= (most - least) / 15);
}

/** All live rows, in the order in which they were added. */
function* pagesOf(collection: Collection): Generator<Row[], undefined> {
  const limit = Math.max(1, Math.min(ROWS_TOGETHER, Math.floor(ELEMENTS_TOGETHER / collection.schema.dim)));
  const ids = collection.ids();
  for (let at = 0; at < ids.length; at += limit) {
    yield collection.get(ids.slice(at, at + limit), { metadata: true, text: true, vector: true, times: true });
  }
}
