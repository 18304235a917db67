/**
 * The fingerprints of a repository as this process knows them, and how a transaction of rows records what it changes.
 *
 * Records are appended to the log while the collection's writer holds its lock, synced, and count once the note that
 * says so is saved, which is the save of the rows. So a crash at any moment leaves rows and fingerprints of one state.
 * A log of which more is superseded than not is written again under a new name, which the same save makes the one that
 * counts.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { syncDirectory } from "../../durable.ts";
import { deviceOf, type GitWorkTree } from "../files/work-tree.ts";
import type { Workspace } from "../files/workspace.ts";
import { type Fingerprint, voidText } from "./fingerprints.ts";
import { drop, type KnownLog, keep, loadLog, nothing } from "./known-logs.ts";
import { appendLog, createLog, type Extent, type Head, type Records, recordBytes, removeLog } from "./log.ts";
import { isLogName, logName, type Note, readNote } from "./note.ts";
import type { PartialIndex } from "./partial.ts";
import type { RowSink, RowsState } from "./row-sink.ts";

/** Superseded bytes of a log that never make it be written again. */
const SUPERSEDED_MIN = 256 * 1024;
/** So few records are always appended. */
const MOST_MIN = 64;

/** What is recorded and not yet saved. */
interface Step {
  note: Note;
  head: Head;
  records: Records;
  /** A log that this one replaces. */
  replaced: string | undefined;
}

export class Journal {
  /** What the next note says. */
  params = "";
  maxFileBytes = 0;
  reached: string | undefined;
  /** Whether the run got to the end, so that what is saved is whole. */
  isWhole = false;
  /** Files that belong to the repository, as far as it was seen. */
  found = 0;
  /** Those of them that changed and are still to be read. */
  readonly waiting = new Set<string>();
  /** Whether every row of the repository has a record once the paths that a transaction records have theirs. */
  isComplete: (recorded: Records) => boolean = () => true;

  private known: KnownLog = nothing();
  private step: Step | undefined;

  /** @param folder of the collection */
  constructor(
    private readonly folder: string,
    private readonly workspace: Workspace,
    private readonly workTree: GitWorkTree | undefined,
    private readonly sink: RowSink,
  ) {}

  get repoId(): string {
    return this.workspace.repoId;
  }

  /** The records by path. */
  get files(): ReadonlyMap<string, Fingerprint> {
    return this.known.files;
  }

  /** What the last run saved; undefined where there are no fingerprints. */
  get note(): Note | undefined {
    return this.known.note;
  }

  /** The log that counts now. */
  get path(): string | undefined {
    const { note } = this.known;
    return note && join(this.folder, note.file);
  }

  /** How many records differ from those on disk: those that must be written, and those that may be. */
  get unsaved(): { pending: number; renewed: number } {
    return { pending: this.known.pending.size, renewed: this.known.renewed.size };
  }

  /** How much is indexed; undefined where all is. @param records those that differ from the files' */
  partial(records: Records = new Map()): PartialIndex | undefined {
    if (this.isWhole) return undefined;
    let done = 0;
    const isDone = (path: string, file: Fingerprint | undefined) =>
      file !== undefined && (file.kind !== "text" || file.hash !== 0) && !this.waiting.has(path);
    for (const [path, file] of this.known.files) if (!records.has(path) && isDone(path, file)) done++;
    for (const [path, file] of records) if (isDone(path, file)) done++;
    return { done, found: Math.max(done, this.found) };
  }

  /**
   * Reads what the collection's note names, as far as it is not known. The note, whether its log can be read or not.
   */
  load(): Note | undefined {
    this.known = loadLog(this.folder, this.repoId, this.sink);
    return this.known.found;
  }

  /** The same once another process has saved the repository's rows within a run. */
  reload(): void {
    this.load();
    if (this.known.note && this.known.note.params !== this.params)
      for (const path of this.known.files.keys()) this.void(path);
  }

  /**
   * Whether the rows are as the note says. Other processes' saves since are looked into by a digest of the rows' ids:
   * rows that were replaced under their ids are not noticed.
   */
  matchesRows(): boolean {
    const { known, sink } = this;
    const { note } = known;
    if (note?.rows === undefined) return false;
    const { generation } = sink;
    if (generation === note.generation || generation === known.checkedAt) return true;
    if (!isDeepStrictEqual(note.rows, sink.stateOf(this.repoId))) return false;
    known.checkedAt = generation;
    return true;
  }

  /** A file was read and is as it was. */
  renew(path: string, mark: number): void {
    const file = this.known.files.get(path);
    if (!file || file.mark === mark) return;
    file.mark = mark;
    this.known.renewed.add(path);
  }

  /** The chunks of a file must be put again, whatever it holds. */
  void(path: string): void {
    const file = this.known.files.get(path);
    if (!file || (file.mark === 0 && file.hash === 0)) return;
    this.apply(new Map([[path, file.kind === "text" ? voidText(file.chunks) : { ...file, mark: 0, hash: 0 }]]));
    this.known.pending.add(path);
  }

  /** Whether the note in the collection is the one that is known; asked while no other process can change it. */
  get isCurrent(): boolean {
    return isDeepStrictEqual(readNote(this.sink.noteOf(this.repoId), this.repoId), this.known.found);
  }

  /**
   * Writes the records of files whose rows a transaction has changed, with all that waits, and returns the note that it
   * has to save. Called while the collection's writer holds its lock, and followed by {@link settle} or {@link forget}.
   */
  record(changed: Records, rows: RowsState | undefined, generation: number): Note {
    const { known, workspace } = this;
    const head: Head = {
      repoId: workspace.repoId,
      root: workspace.root,
      device: deviceOf(workspace.root),
      ...(this.workTree ? { git: this.workTree } : {}),
    };
    const records = new Map<string, Fingerprint | undefined>();
    for (const path of [...known.pending, ...known.renewed]) records.set(path, known.files.get(path));
    for (const [path, file] of changed) records.set(path, file);

    const { note } = known;
    const superseded = note ? note.bytes - known.live : 0;
    // Records of most files are as many bytes in a new log, and leave nothing to write again with the next edit.
    const isMost = records.size > MOST_MIN && records.size > known.files.size / 2;
    const isGrown = isMost || superseded > Math.max(SUPERSEDED_MIN, known.live);
    const isNew = !note || isGrown || !isDeepStrictEqual(head, known.head);
    let file = note?.file ?? "";
    let extent: Extent = note ?? { bytes: 0, sum: 0 };
    if (isNew) {
      this.removeUnnamed();
      file = logName(workspace.repoId);
      const all = new Map(known.files);
      for (const [path, record] of records) {
        if (record) all.set(path, record);
        else all.delete(path);
      }
      extent = createLog(join(this.folder, file), head, all);
      syncDirectory(this.folder);
    } else if (records.size > 0) extent = appendLog(join(this.folder, file), note, records);

    let tracked = 0;
    for (const [path, file] of known.files) if (file.kind === "text" && !records.has(path)) tracked++;
    for (const file of records.values()) if (file?.kind === "text") tracked++;
    const next: Note = {
      file,
      bytes: extent.bytes,
      sum: extent.sum,
      root: workspace.root,
      generation,
      params: this.params,
      ...(this.maxFileBytes > 0 ? { maxFileBytes: this.maxFileBytes } : {}),
      ...(rows && this.isComplete(changed) ? { rows } : {}),
      tracked,
      ...(this.isWhole ? {} : { partial: this.partial(records) }),
      ...(this.reached === undefined ? {} : { reached: this.reached }),
    };
    this.step = { note: next, head, records, replaced: isNew ? known.found?.file : undefined };
    return next;
  }

  /** The transaction was saved: what it recorded counts. */
  settle(): void {
    const { known, step } = this;
    if (!step) return;
    this.step = undefined;
    this.apply(step.records);
    known.note = known.found = step.note;
    known.head = step.head;
    known.checkedAt = step.note.generation;
    known.pending.clear();
    known.renewed.clear();
    keep(this.folder, this.repoId, known);
    if (step.replaced !== undefined) removeLog(join(this.folder, step.replaced));
  }

  /** Takes records that no save needs: of a collection without any rows, which is not on disk. */
  apply(records: Records): void {
    const { known } = this;
    for (const [path, file] of records) {
      const before = known.files.get(path);
      if (before) known.live -= recordBytes(path, before);
      if (file) {
        known.files.set(path, file);
        known.live += recordBytes(path, file);
      } else known.files.delete(path);
    }
  }

  /** What was recorded may be saved or not: the next run reads it again. */
  forget(): void {
    this.step = undefined;
    drop(this.folder, this.repoId);
  }

  /** Removes logs that no note names: of runs that were killed, and of earlier formats. */
  private removeUnnamed(): void {
    const named = new Set<string>();
    for (const [repoId, value] of this.sink.notes()) named.add(readNote(value, repoId)?.file ?? "");
    for (const name of readdirSync(this.folder)) {
      if (isLogName(name) && !named.has(name)) removeLog(join(this.folder, name));
    }
  }
}
