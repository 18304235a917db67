/** The collections of repositories: their schema, the rows that indexing puts into them, and the files of its cache. */
import { join } from "node:path";
import type { Damage } from "../../../ffi/records.ts";
import { Put, type Watch } from "../../../ffi/ty_collection.ts";
import { shown } from "../../checks/kinds.ts";
import { REPO_COLLECTION, REPO_KEY } from "../../checks/names.ts";
import { CancelledError, OSError, ValueError } from "../../errors.ts";
import { textsOf } from "../../repo/chunks/rows.ts";
import { Deadline } from "../../repo/files/deadline.ts";
import { forget } from "../../repo/fingerprints/indexed.ts";
import { noteName, repoIdOfNote } from "../../repo/fingerprints/note.ts";
import type { RowSink } from "../../repo/fingerprints/row-sink.ts";
import type { Collection, Transaction } from "../../store/collection.ts";
import { type Pack, release } from "../../store/packer.ts";
import type { Store } from "../../store/store.ts";
import { checkSpace, type Embedder, isOlderSpace } from "../../texts/embedder.ts";
import { type Embedding, embeddingOf } from "../../texts/put.ts";
import { BM25 } from "../../texts/ranking.ts";

const REPO_COLUMNS = [REPO_KEY, "path", "language"];

/**
 * Every process codes and counts the rows beside the base again, 11 us each. Where they are more than these, and more
 * than those in the base, a run merges them into it.
 */
const DELTA_ROWS = 1024;

/** What a row that is read beside the base costs another process, in milliseconds. */
const DELTA_MS_PER_ROW = 0.011;
/** What a row of a merge took the last time, and takes where none was measured yet. */
let mergeMsPerRow = 0.03;
/** A busy machine does not keep merges off for ever. */
const MERGE_MS_PER_ROW_MAX = 0.1;
/** The time of fewer rows says nothing. */
const ROWS_MEASURED_MIN = 4096;

/** Work on a collection that a run leaves. */
interface Upkeep {
  /** Its word index is to be built; otherwise rows are to be merged into the base. */
  isLexical: boolean;
  /** Rows that are written again. */
  rows: number;
  /** About how long it takes. */
  ms: number;
  /** About how long each process needs that reads the collection meanwhile. */
  readMs: number;
}

/** What there will be to do once a run has put so many rows more; undefined: nothing. */
function upkeepOf(collection: Collection, more: number): Upkeep | undefined {
  if (!collection.isSaved) return undefined;
  const { lexical_built, base_rows, delta_rows } = collection.stats();
  const beside = delta_rows + more;
  const isLexical = lexical_built === 0;
  if (!isLexical && beside <= Math.max(DELTA_ROWS, base_rows)) return undefined;
  const rows = base_rows + beside;
  return { isLexical, rows, ms: rows * mergeMsPerRow, readMs: beside * DELTA_MS_PER_ROW };
}

/** The repository collections of one store. */
export class RepoCollections {
  constructor(
    private readonly store: Store,
    private readonly embedder: Embedder,
  ) {}

  /** The collection of that name, created in memory where there is none. @throws ValueError for one of another kind */
  open(name: string): Collection {
    const { store, embedder } = this;
    const existing = this.current(name);
    if (existing) {
      if (existing.schema.keyName !== REPO_KEY) {
        throw new ValueError(
          `collection ${shown(name)} is partitioned by '${existing.schema.keyName}', ` +
            `but a repository needs '${REPO_KEY}': choose another collection`,
        );
      }
      checkSpace(name, existing.schema.embedderProfile, embedder);
      return existing;
    }
    return store.create(name, {
      dim: embedder.profile.dimension,
      // 4 bits a dimension rank as well as 32.
      dtype: "int4",
      partitionBy: REPO_KEY,
      filterColumns: REPO_COLUMNS,
      lexical: true,
      embedderProfile: embedder.profile,
    });
  }

  /** The folder of a collection, where the fingerprints of its repositories are. */
  folder(collection: string): string {
    return join(this.store.dir, collection);
  }

  /** The notes of a collection's repositories; none of a collection that is not there. */
  notesOf(collection: string): Pick<RowSink, "noteOf"> {
    return { noteOf: (repoId) => this.store.find(collection)?.note(noteName(repoId)) };
  }

  /** The collection as indexing sees it. */
  sink(collection: Collection, signal: AbortSignal | undefined): RowSink {
    const { embedder } = this;
    const stateOf = (repoId: string) => collection.digest({ column: REPO_KEY, value: repoId });
    return {
      columns: collection.schema.filterColumns,
      get isSaved() {
        return collection.generation > 0;
      },
      get generation() {
        return collection.generation;
      },
      notes() {
        const notes = new Map<string, unknown>();
        for (const [name, value] of Object.entries(collection.manifest().notes)) {
          const repoId = repoIdOfNote(name);
          if (repoId !== undefined) notes.set(repoId, value);
        }
        return notes;
      },
      noteOf: (repoId) => collection.note(noteName(repoId)),
      stateOf,
      async replace(repoId, { deleteIds, rows, isCurrent, areLike, isFull, note, deadline }) {
        const first = { ...BM25, waitMs: deadline && Math.max(0, deadline.msLeft) };
        // Rows of the first save are written again when the base is: where others follow, they go beside an empty one.
        if (isFull && !collection.isSaved) await collection.buildLexical(BM25.k1, BM25.b, { signal });
        const vectors = await vectorsOf(embedder, rows, signal);
        const work = async (t: Transaction) => {
          if (isCurrent?.() === false) return undefined;
          let upserted = 0;
          // The text stays in the source file; its terms are kept for the lexical index.
          const isLike = areLike?.() !== false;
          let [follows, following] = [false, rows.reduce((count, pack) => count + pack.count, 0)];
          for (let pack = rows.shift(); pack; pack = rows.shift()) {
            if (!isLike) pack.likes = undefined;
            following -= pack.count;
            const put = { ...pack, ...vectors(pack), follows, following };
            const { inserted, replaced } = await t.put(Put.UPSERT, put, { signal });
            upserted += inserted + replaced;
            follows = true;
            release(pack);
          }
          // After the rows, which may be like some of those that go.
          const deleted = deleteIds.length > 0 ? await t.delete(deleteIds) : 0;
          // A digest reads every row's id. A run that is killed between two transactions has them read by the next one.
          if (note) t.note(noteName(repoId), note(isFull ? undefined : stateOf(repoId), collection.generation + 1));
          return { deleted, upserted };
        };
        return collection.change(work, signal, first);
      },
      idsOf: async (repoId) => collection.ids({ where: { column: REPO_KEY, value: repoId } }),
      msAfter: (rows) => upkeepOf(collection, rows)?.ms ?? 0,
    };
  }

  /**
   * What is left to do after a run. Where the deadline leaves no time for it the next call does it, unless other
   * processes would need half of such a call to read the rows that it merges.
   */
  async afterRun(collection: Collection, watch: Watch, deadline = new Deadline()): Promise<void> {
    if (!collection.isSaved) return;
    const upkeep = upkeepOf(collection, 0);
    if (!upkeep) return;
    const isUrgent = upkeep.readMs > deadline.ms / 2;
    if (upkeep.ms > deadline.msLeft && !isUrgent) return;
    const late = deadline.isSet && !isUrgent ? AbortSignal.timeout(Math.max(0, deadline.msLeft)) : undefined;
    const signals = [watch.signal, late].filter((signal) => signal !== undefined);
    const since = performance.now();
    try {
      const watched = { ...watch, signal: signals.length === 0 ? undefined : AbortSignal.any(signals) };
      if (upkeep.isLexical) await collection.buildLexical(BM25.k1, BM25.b, watched);
      else await collection.compact(watched);
      if (upkeep.rows >= ROWS_MEASURED_MIN) mergeMsPerRow = (performance.now() - since) / upkeep.rows;
    } catch (error) {
      // It took longer than expected, and left everything as it was.
      if (!late?.aborted || watch.signal?.aborted || !(error instanceof CancelledError)) throw error;
      mergeMsPerRow = Math.min(2 * mergeMsPerRow, MERGE_MS_PER_ROW_MAX);
    }
  }

  /**
   * Whether rows of repositories were lost to damage: their terms with the lexical index, the only place that has them,
   * or themselves with the base. They are gone now, with what was noted of them, so that indexing makes them again:
   * `repo_symbols`, or another with no other rows, as a whole; of another one the repositories' rows.
   */
  async mend(collection: Collection): Promise<boolean> {
    const { name } = collection;
    if (!collection.isSaved || collection.schema.keyName !== REPO_KEY || !isLost(collection)) return false;
    const { generation, lexical_lost, live_rows } = collection.stats();
    // Another process may have replaced or mended it since this one opened it.
    const now = this.store.reopen(name);
    if (!now || now.stats().generation !== generation) return true;
    if (name === REPO_COLLECTION || lexical_lost === live_rows) this.store.discard(name);
    else await this.forgetAll(now);
    return true;
  }

  /** As `open`, after `mend`. */
  async openWhole(name: string): Promise<{ collection: Collection; isMended: boolean }> {
    const known = this.readable(name);
    const isMended = known === "discarded" || (known !== undefined && (await this.mend(known)));
    return { collection: this.open(name), isMended };
  }

  /** As `current`; `repo_symbols` that cannot be opened is discarded. */
  private readable(name: string): Collection | "discarded" | undefined {
    try {
      return this.current(name);
    } catch (error) {
      if (name !== REPO_COLLECTION || !isDamage(error)) throw error;
      this.store.discard(name);
      return "discarded";
    }
  }

  /**
   * Removes all rows of repositories, and makes the files again. Rows under such a key that have a text are not a
   * repository's.
   */
  private async forgetAll(collection: Collection): Promise<void> {
    const sink = this.sink(collection, undefined);
    const noted = new Set(sink.notes().keys());
    for (const { key } of collection.partitions()) {
      if (typeof key !== "string" || !REPO_ID.test(key)) continue;
      const hasTexts = () =>
        collection.get(collection.ids({ where: { column: REPO_KEY, value: key } }), { text: true });
      if (!noted.has(key) && hasTexts().some(({ text }) => text !== undefined)) continue;
      await forget(this.folder(collection.name), key, sink);
    }
    await collection.compact(); // the texts of the other rows have what is damaged
  }

  /**
   * The collection of that name. `repo_symbols` of an earlier embedder version is discarded: an export, the remedy for
   * other collections, lacks its texts, and each repository is indexed again at its next query.
   */
  private current(name: string): Collection | undefined {
    const { store, embedder } = this;
    const isOlder = (c: Collection) => name === REPO_COLLECTION && isOlderSpace(c.schema.embedderProfile, embedder);
    const known = store.find(name);
    if (!known || !isOlder(known)) return known;
    // Another process may have replaced it since this one opened it.
    const now = store.reopen(name);
    if (!now || !isOlder(now)) return now;
    store.discard(name);
    return undefined;
  }
}

/** An id of a repository, which is the key of its partition. */
const REPO_ID = /^[0-9a-f]{16}$/;

/** Damage in these parts is damage of rows; others follow from them. */
const ROW_PARTS = new Set<Damage["part"]>(["base", "codes", "vectors", "texts", "metadata", "delta"]);

function isLost(collection: Collection): boolean {
  const { lexical_lost, damages } = collection.stats();
  return lexical_lost > 0 || (damages > 0 && collection.damages().some(({ part }) => ROW_PARTS.has(part)));
}

/** Whether a call failed because files are damaged. */
export function isDamage(error: unknown): boolean {
  return error instanceof OSError && error.reason === "damaged";
}

/** What makes the vectors of packs; an embedder outside the kernel makes all of them now, before the lock is taken. */
async function vectorsOf(
  embedder: Embedder,
  packs: readonly Pack[],
  signal: AbortSignal | undefined,
): Promise<(pack: Pack) => Embedding> {
  const { kernelModel } = embedder;
  if (kernelModel !== undefined) return () => ({ model: kernelModel });
  const made = new Map<Pack, Embedding>();
  for (const pack of packs) made.set(pack, await embeddingOf(embedder, textsOf(pack), signal));
  return (pack) => made.get(pack)!;
}
