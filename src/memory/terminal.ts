/** The verbs that are not tools, for a person at a terminal. Loaded with the first of them: no tool call needs them. */
import { MEANING_VECTOR_BYTES } from "../../ffi/ty_collection.ts";
import { readDescription } from "../checks/strings.ts";
import { RuntimeError } from "../errors.ts";
import type { SecretGuard } from "../secrets/policy.ts";
import type { Collection } from "../store/collection.ts";
import type { StoreView } from "../store/limited/view.ts";
import type { Embedder } from "../texts/embedder.ts";
import { planUndo, type Undone, type UndoTarget, undo } from "../texts/history/undo.ts";
import { fill } from "../texts/meaning/fill.ts";
import { setMeaning } from "../texts/meaning/setting.ts";
import { type BriefArguments, type BriefPayload, briefOf } from "./brief/brief.ts";
import { type PinArguments, type PinPayload, pin, pinsOf, unpin } from "./brief/pins.ts";
import { deleteMatching, type Matching, type MatchingRows, matchingRows } from "./delete-matching.ts";
import { type DetailPayload, detailOf } from "./detail.ts";
import { type EditArguments, type EditPayload, editableRow, editRow, type RowContent } from "./edit.ts";
import { changesOfIds, type HistoryArguments, historyOf, savesIn } from "./history.ts";
import {
  type LatestArguments,
  type LatestPageArguments,
  type LatestPagePayload,
  type LatestPayload,
  latestPage,
  latestRows,
} from "./latest.ts";
import {
  markReplaced,
  type PairedRow,
  type PairsArguments,
  type PairsPayload,
  pairsIn,
  rowsLike,
} from "./near-copies.ts";
import type * as payload from "./payloads.ts";
import type { RecallArguments, Recalled } from "./recall.ts";
import type { TextReader } from "./repos/sources.ts";
import { type CallContext, watch } from "./requests.ts";
import type { SavedArguments, SavedRow } from "./saved.ts";
import type { ImportArguments } from "./transfer.ts";
import type { FolderArguments, FolderPayload } from "./transfer-folder.ts";
import { fullIds } from "./typed/prefixes.ts";

const DAY_MS = 86_400_000;

/** What `undo` takes. */
interface UndoArguments extends UndoTarget {
  collection: string;
  force: boolean;
  dry_run: boolean;
  planned?: Undone | undefined;
}

/** What these verbs need of a memory. */
export interface TerminalParts {
  readonly store: StoreView;
  readonly embedder: Embedder;
  readonly secrets?: SecretGuard | undefined;
  /** Where the marks of briefs are; absent: none is marked. */
  readonly marksFile?: string | undefined;
  /** A collection, of a repository too. @throws ValueError for one that does not exist */
  readonly open: (name: string) => Collection;
  /** A reader of rows' texts for one call. */
  readonly textReader: (collection: Collection) => Promise<TextReader>;
}

/** The verbs about collections and their rows, over one memory. */
export class Terminal {
  constructor(private readonly parts: TerminalParts) {}

  /** One collection, with its largest partitions. @throws ValueError for one that does not exist */
  async detail(a: { collection: string }): Promise<DetailPayload> {
    const { store, open, embedder } = this.parts;
    return detailOf(store, open, embedder.encoder, a.collection);
  }

  /**
   * Counts the rows that were created on each day in UTC, from the first day with a row until `now`.
   * @returns the first day, counted from 1970-01-01, and the number of rows of each day
   */
  async days(a: { collection: string; now: number }): Promise<{ first: number; rows: number[] }> {
    const rows = this.parts.open(a.collection).days(Math.floor(a.now / DAY_MS) + 1);
    const first = rows.findIndex((count) => count > 0);
    return first < 0 ? { first: 0, rows: [] } : { first, rows: rows.slice(first) };
  }

  /** Ids of which a person may have typed the beginning only. @throws ValueError for a beginning of several ids */
  async full_ids(a: { collection: string; ids: readonly string[] }): Promise<string[]> {
    return fullIds(this.parts.open(a.collection), a.ids);
  }

  /** The rows that were added or changed last. */
  async latest(a: LatestArguments): Promise<LatestPayload> {
    return latestRows(this.parts, a);
  }

  /** A page of the last changed rows of one collection. */
  async latest_page(a: LatestPageArguments): Promise<LatestPagePayload> {
    return latestPage(this.parts, a);
  }

  /** What to know at the beginning of a session. @throws ValueError for a number of tokens that is out of range */
  async brief(a: BriefArguments): Promise<BriefPayload> {
    return briefOf(this.parts, a);
  }

  /** Pins a row, unpins it, or lists what is pinned. @throws ValueError for an id that is not live, and a pin too many */
  async pin(a: PinArguments, { signal }: CallContext): Promise<PinPayload> {
    const collection = this.parts.open(a.collection);
    // Of a row that is pinned already, which may be deleted, the id is whole.
    const isWhole = a.id === undefined || pinsOf(collection).includes(a.id);
    return pin(collection, isWhole ? a : { ...a, id: fullIds(collection, [a.id!])[0] }, signal);
  }

  /** Pairs of rows that have the same text or nearly the same, or of which one replaces the other. */
  async pairs(a: PairsArguments, c: CallContext): Promise<PairsPayload> {
    return pairsIn(this.parts.open(a.collection), this.parts.embedder, a, c);
  }

  /** Rows whose texts are most like that of a row. */
  async rows_like(a: { collection: string; id: string; text: string; limit: number }): Promise<PairedRow[]> {
    return rowsLike(this.parts.open(a.collection), this.parts.embedder, a);
  }

  /** Marks a row as replaced by another one. @throws ValueError if one of them does not exist */
  async mark_replaced(a: { collection: string; id: string; by: string }, c: CallContext): Promise<void> {
    await markReplaced(this.parts.open(a.collection), a, c);
  }

  /** A row to be edited. @throws ValueError for one that cannot be */
  async editable_row(a: { collection: string; id: string }): Promise<RowContent> {
    return editableRow(this.parts.open(a.collection), this.parts.embedder, a.id);
  }

  /** Saves an edited row. @throws ValueError where another process changed or deleted it since it was read */
  async edit(a: EditArguments, c: CallContext): Promise<EditPayload> {
    const { open, embedder, secrets } = this.parts;
    return editRow(open(a.collection), embedder, secrets, a, c);
  }

  /** The rows that `delete_matching` would delete. */
  async matching(a: Matching & { collection: string }): Promise<MatchingRows> {
    return matchingRows(this.parts.open(a.collection), a);
  }

  /** @param planned what `matching` returned: a delete of anything else is refused */
  async delete_matching(
    a: Matching & { collection: string; planned?: MatchingRows | undefined },
    c: CallContext,
  ): Promise<payload.DeletePayload> {
    const deleted = await deleteMatching(this.parts.open(a.collection), a, a.planned, c);
    return { deleted, collection: a.collection };
  }

  /** Removes everything that the files of a collection have of these ids. */
  async purge(a: { collection: string; ids: readonly string[] }, c: CallContext): Promise<payload.PurgePayload> {
    const collection = this.parts.open(a.collection);
    const versions = changesOfIds(collection, a.ids);
    await unpin(collection, a.ids, c.signal);
    const deleted = await collection.purge(a.ids, watch(c));
    return { purged: a.ids.length, collection: a.collection, deleted, versions };
  }

  /** Says what a collection is for; undefined: no more. @throws ValueError for a text that is too long, or empty */
  async describe(a: { collection: string; description: string | undefined }, c: CallContext): Promise<void> {
    const description = a.description === undefined ? undefined : readDescription(a.description, "the description");
    await this.parts.store.open(a.collection).change(async (t) => t.set("description", description), c.signal);
  }

  /** The notes that a prompt is about. */
  async recall(a: RecallArguments): Promise<Recalled[]> {
    return (await import("./recall.ts")).recall(this.parts, a);
  }

  /** What a client has saved since a time. */
  async saved_since(a: SavedArguments): Promise<{ rows: SavedRow[]; total: number }> {
    return (await import("./saved.ts")).savedSince(this.parts, a);
  }

  /** Turns meaning on or off for a collection. @throws ValueError for one that cannot have it */
  async set_meaning(a: { collection: string; meaning: boolean }, c: CallContext): Promise<void> {
    await setMeaning(this.parts.store.open(a.collection), a.meaning, c.signal);
  }

  /**
   * Gives every text of a collection its vector of meaning.
   * @throws RuntimeError where this process has no sentence encoder, or the collection is off; CancelledError: what is
   *   done is saved
   */
  async build_meaning(a: { collection: string }, c: CallContext): Promise<payload.BuildMeaningPayload> {
    const { encoder } = this.parts.embedder;
    if (encoder === undefined) throw new RuntimeError("this memory has no sentence encoder");
    const { texts, filled, added } = await fill(this.parts.open(a.collection), encoder, watch(c));
    return { meaning_built: a.collection, texts, with_meaning: filled, added };
  }

  /**
   * @param force also take back rows that later saves changed
   * @param dry_run only say what would be done
   * @param planned what that was: an undo of anything else is refused
   * @throws ValueError where there is nothing to undo, or not without `force`, or not what was planned
   */
  async undo(a: UndoArguments, { signal }: CallContext): Promise<payload.UndoPayload> {
    const { collection: name, force, dry_run, planned, save, since, id, client } = a;
    const collection = this.parts.open(name);
    const target = { save, since, id, client };
    const undone = dry_run ? planUndo(collection, target) : await undo(collection, target, { force, planned, signal });
    const { restored, reverted, removed, changed } = undone;
    const count = restored.length + reverted.length + removed.length + (force ? changed.length : 0);
    return { collection: name, undone: count, ...undone, ...(dry_run ? { dry_run: true } : {}) };
  }

  /** Rewrites a collection, without its history unless that is to be kept. */
  async compact(a: { collection: string; keep_history: boolean }, c: CallContext): Promise<payload.CompactedPayload> {
    const collection = this.parts.open(a.collection);
    const [before, saves] = [collection.stats().disk_bytes, savesIn(collection)];
    const { reclaimedRows } = await collection.compact(watch(c), a.keep_history);
    return {
      compacted: a.collection,
      rows_dropped: a.keep_history ? 0 : reclaimedRows,
      saves_dropped: saves - savesIn(collection),
      bytes_freed: Math.max(0, before - collection.stats().disk_bytes),
    };
  }

  /** The history of a collection, of one of its saves, or of a row. @throws ValueError for a save that is not in it */
  async history(a: HistoryArguments): Promise<payload.HistoryPayload> {
    return historyOf(this.parts.open(a.collection), a);
  }

  /** What a collection is, for an export of it. @throws ValueError for one that does not exist */
  async export_head(a: { collection: string }): Promise<payload.ExportHeadPayload> {
    const manifest = this.parts.open(a.collection).manifest();
    const { dim, dtype, metric, keyName, filterColumns, lexical, embedderProfile: embedder, description } = manifest;
    const filter_columns = filterColumns.filter((column) => column !== keyName);
    const schema = { dim, dtype, metric, partition_by: keyName, filter_columns, lexical, embedder, description };
    return { collection: a.collection, schema, rows: manifest.liveRows, generation: manifest.generation };
  }

  /** Rows as they are, without those that are not live, in the order of `ids`. */
  async export_rows(a: {
    collection: string;
    ids: readonly string[];
    with_vectors: boolean;
  }): Promise<payload.ExportRowsPayload> {
    const collection = this.parts.open(a.collection);
    const texts = await this.parts.textReader(collection);
    const notice = texts.noticeOf(a.ids);
    const found = collection
      .get(a.ids, { metadata: true, text: true, times: true, vector: a.with_vectors })
      .filter((row) => row.found);
    const meanings = a.with_vectors ? collection.meaningOf(found.map(({ id }) => id)) : new Uint8Array(0);
    const meaningAt = (i: number) => meanings.subarray(i * MEANING_VECTOR_BYTES, (i + 1) * MEANING_VECTOR_BYTES);
    const rows = found.map((row, i) => ({
      id: row.id,
      metadata: row.metadata,
      text: texts.textOf(row),
      ...row.times,
      ...(row.vector && { vector: row.vector }),
      ...(meaningAt(i).some((byte) => byte !== 0) && { meaning: meaningAt(i) }),
    }));
    return { rows, ...(notice === undefined ? {} : { notice }) };
  }

  /** Rows of an export, or of another program. */
  async import_rows(a: ImportArguments, c: CallContext): Promise<payload.ImportedPayload> {
    const { store, embedder, secrets } = this.parts;
    const { importRows } = await import("./transfer.ts");
    const guardRow = secrets && (await import("../secrets/policy.ts")).guardRow;
    return importRows(store, embedder, a, c, guardRow && ((row) => guardRow(secrets, row)));
  }

  /** Refuses a collection whose rows a person cannot edit. @throws ValueError */
  async check_editable(a: { collection: string }): Promise<void> {
    (await import("./transfer-folder.ts")).checkEditable(this.parts.open(a.collection));
  }

  /** Those of the ids that a collection has; undefined if there is no such collection. */
  async present_ids(a: { collection: string; ids: readonly string[] }): Promise<Set<string> | undefined> {
    const collection = this.parts.store.find(a.collection);
    return collection && new Set(collection.get(a.ids, {}).flatMap(({ found, id }) => (found ? [id] : [])));
  }

  /** Rows that a person edited in a folder. */
  async sync_rows(a: FolderArguments, c: CallContext): Promise<FolderPayload> {
    const { store, embedder, secrets } = this.parts;
    const { syncRows } = await import("./transfer-folder.ts");
    const guardRow = secrets && (await import("../secrets/policy.ts")).guardRow;
    return syncRows(store, embedder, a, c, guardRow && ((row) => guardRow(secrets, row)));
  }

  /** Deletes those of the rows that are still as they were exported. */
  async delete_unchanged(
    a: { collection: string; rows: readonly { id: string; base: string }[]; dryRun: boolean },
    c: CallContext,
  ): Promise<{ deleted: string[]; changed: string[] }> {
    const { deleteUnchanged } = await import("./transfer-folder.ts");
    return deleteUnchanged(this.parts.open(a.collection), a.rows, a.dryRun, c);
  }
}
