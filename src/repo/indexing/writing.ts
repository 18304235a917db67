/**
 * The writing half of a run: which files are read and which are gone, with which fingerprints it begins and ends.
 * `file-writer.ts` puts the rows of a file.
 */
import { isDeepStrictEqual } from "node:util";
import type { Breather } from "../../breather.ts";
import { OSError, TimeoutError } from "../../errors.ts";
import { rowId } from "../chunks/identity.ts";
import { readFileOf } from "../files/read.ts";
import { isIn } from "../files/relative.ts";
import type { RepoTree } from "../files/tree.ts";
import type { GitWorkTree } from "../files/work-tree.ts";
import type { Workspace } from "../files/workspace.ts";
import { chunkKey } from "../fingerprints/fingerprints.ts";
import { noteUse } from "../fingerprints/indexed.ts";
import { Journal } from "../fingerprints/journal.ts";
import type { Records } from "../fingerprints/log.ts";
import { settingsOf } from "../fingerprints/settings.ts";
import { Siblings } from "../fingerprints/siblings.ts";
import { BATCH_LARGE, BATCH_SMALL, Batch } from "./batch.ts";
import type { Budget } from "./budget.ts";
import { FileWriter, type ReadFile } from "./file-writer.ts";
import { LiveRows } from "./live.ts";
import type { IndexOptions, SkipCounts } from "./options.ts";
import { WorkLock } from "./work-lock.ts";

/** Files of which nothing but the stamp changed are read again by the next process, unless they are more than these. */
const RENEWED_MAX = 64;

/** A run that reads more files than these waits for another one that indexes the same root. */
const SHARED_MIN = 64;

/** A file that may have changed. */
export interface FoundFile {
  path: string;
  mark: number;
  /** Bytes. */
  size: number;
}

/** The rows and fingerprints of one run. */
export class Writing {
  readonly batch: Batch;
  /** The last path up to which everything is done. */
  reached: string | undefined;
  /** Whether all is chunked again with other parameters than before. */
  isOther = false;

  private readonly workspace: Workspace;
  readonly journal: Journal;
  private readonly siblings: Siblings;
  readonly writer: FileWriter;
  /** Held while this run indexes many files. */
  private lock: WorkLock | undefined;
  /** Files that were removed because the run did not find them. */
  private readonly gone = new Set<string>();
  /** Where a run over all of the root that a limit ended has to go on. */
  reachedBefore: string | undefined;
  /** Whether the last run over all of the root did not get to the end. */
  private wasPartial = false;

  constructor(
    private readonly options: IndexOptions,
    workTree: GitWorkTree | undefined,
    private readonly budget: Budget,
    private readonly breather: Breather,
  ) {
    const { sink, folder, workspace } = options;
    this.workspace = workspace;
    this.siblings = new Siblings(options.force ? undefined : workTree, folder, workspace.repoId, sink);
    this.journal = new Journal(folder, workspace, workTree, sink);
    const limits = budget.isLimited ? BATCH_SMALL : BATCH_LARGE;
    const areLike = () => this.siblings.areUnchanged;
    this.batch = new Batch(sink, this.journal, areLike, (paths) => this.again(paths), limits, budget.deadline);
    const parts = { batch: this.batch, journal: this.journal, siblings: this.siblings, budget };
    this.writer = new FileWriter(workspace.repoId, sink.columns, parts, () => this.reserve());
  }

  /** Loads the fingerprints and compares them with the rows. */
  async begin(): Promise<void> {
    const { journal } = this;
    const previous = journal.load();
    this.reachedBefore = journal.reached = journal.note?.reached;
    this.wasPartial = journal.note?.partial !== undefined;
    journal.found = journal.files.size;
    this.writer.settings = settingsOf(this.options, previous);
    const { chunking, maxFileBytes } = this.writer.settings;
    journal.params = this.siblings.params = chunkKey(chunking);
    journal.maxFileBytes = maxFileBytes;
    await this.compare();
  }

  /** What of the loaded fingerprints holds for this run. */
  private async compare(): Promise<void> {
    const { journal, options } = this;
    this.isOther = journal.note?.params !== journal.params;
    if (this.isOther || options.force) {
      for (const path of journal.files.keys()) if (this.isOther || this.isInside(path)) journal.void(path);
    }
    this.writer.live = undefined;
    journal.isComplete = () => this.isAllRecorded(true, new Map());
    if (!journal.matchesRows()) await this.reconcile();
    this.reserve();
  }

  /** Keeps time for the upkeep after this run, unless that would take more than half of it. */
  private reserve(): void {
    const { deadline } = this.budget;
    const ms = deadline.isSet ? (this.options.sink.msAfter?.(BATCH_SMALL.rows) ?? 0) : 0;
    this.budget.reservedMs = ms > deadline.ms / 2 ? 0 : ms;
  }

  /** Whether a file that was found is as it was when it was read; one that is not will be read. */
  isUnchanged(path: string, mark: number): boolean {
    const known = this.journal.files.get(path);
    if (known?.mark === mark) return true;
    // One that is only read again, since it was read so shortly after it changed, counts as done.
    if (!known?.hash || known.mark !== 0) this.journal.waiting.add(path);
    if (!known) this.journal.found++;
    return false;
  }

  /**
   * Removes the rows of files that are gone or ignored now.
   * @param has whether a file was found
   * @param isGone whether a path that was not found is gone
   * @param isComplete whether all files were found
   * @returns false if the deadline passed before the last
   */
  async dropMissing(
    has: (path: string) => boolean,
    isGone: (path: string) => boolean,
    isComplete: boolean,
  ): Promise<boolean> {
    const { writer: files } = this;
    const gone = [...this.journal.files.keys()].filter((path) => !has(path) && isGone(path));
    for (const [at, path] of gone.entries()) {
      // One at least in each call: otherwise they would never all be gone.
      if (at > 0 && this.budget.msLeft <= 0) return false;
      this.gone.add(path);
      await files.drop(path);
    }
    if (!files.live || !isComplete) return true;
    for (const { base, path, numbers } of files.live.others(this.journal.files.keys())) {
      if (has(path) || !isGone(path)) continue;
      for (const chunk of numbers) await this.batch.delete(rowId(base, chunk));
    }
    return true;
  }

  /** Makes what was put durable, and the fingerprints where they differ from those on disk. */
  async finish(truncated: boolean): Promise<void> {
    const { journal } = this;
    // A run over all of the root goes on where another one ended, whatever one over a folder did in between.
    if (truncated) journal.reached = this.reached;
    else if (this.workspace.below === undefined) journal.reached = undefined;
    // Nor does one over a folder make the rest whole.
    journal.isWhole = !truncated && (this.workspace.below === undefined || !this.wasPartial);
    journal.isComplete = (recorded) => this.isAllRecorded(truncated, recorded);
    this.options.onWork?.(this.budget.work("saving"));
    await this.batch.flush();
    const { note } = journal;
    const { pending, renewed } = journal.unsaved;
    const isAsNoted =
      note?.reached === journal.reached &&
      note?.params === journal.params &&
      note?.root === this.workspace.root &&
      isDeepStrictEqual(note?.partial, journal.partial()) &&
      (note?.maxFileBytes ?? 0) === this.writer.settings.maxFileBytes;
    const isMended = !journal.matchesRows() && journal.isComplete(new Map());
    if (!isAsNoted || isMended || pending > 0 || renewed > RENEWED_MAX) await this.saveQuietly();
    const { path } = journal;
    if (path !== undefined) noteUse(path);
    this.release();
  }

  /** Saves the fingerprints alone. The rows are as they should be: a full disk must not fail a search. */
  private async saveQuietly(): Promise<void> {
    try {
      await this.batch.flush(false, true);
    } catch (error) {
      if (!(error instanceof OSError || error instanceof TimeoutError)) throw error;
    }
  }

  /**
   * Another writer changed the rows, or the fingerprints are missing: compares records with the collection's ids. A
   * file whose chunks differ from its record is chunked again. Rows that another writer put under our ids are not
   * noticed; `force` replaces them.
   */
  private async reconcile(): Promise<void> {
    const live = await LiveRows.read(this.options.sink, this.workspace.repoId);
    for (const [path, { chunks }] of this.journal.files) if (!live.hasExactly(path, chunks)) this.journal.void(path);
    this.writer.live = live;
  }

  /**
   * Whether every row of the repository has a record now, with those that are being recorded. Rows read from the
   * collection may belong to files that a limit kept this run from, or that lie outside of its folder.
   */
  private isAllRecorded(truncated: boolean, recorded: Records): boolean {
    // What another process saved within this run was not compared with the rows.
    if (this.batch.conflicts > 0) return false;
    const { live } = this.writer;
    if (!live || live.isEmpty) return true;
    if (truncated) return false;
    if (this.workspace.below === undefined) return true;
    const others = live.others([...this.journal.files.keys(), ...recorded.keys()]);
    return [...others].every(({ path }) => this.isInside(path));
  }

  /** Reads files that may have changed; false if a limit was reached before the last. */
  async read(tree: RepoTree, found: readonly FoundFile[], skipped: SkipCounts): Promise<boolean> {
    const readFile: ReadFile = (path, most) => tree.read(path, most);
    const files = await this.share(found);
    if (files === undefined) return false;
    const { onProgress, onWork } = this.options;
    const { budget } = this;
    this.siblings.expect(files.length, this.journal.files.size);
    budget.found = files.length;
    budget.foundBytes = files.reduce((sum, { size }) => sum + size, 0);
    this.batch.expect(budget.foundBytes);
    for (const { path, size } of files) {
      if (this.breather.due) {
        await this.breather.pause();
        onProgress?.(budget.tried, budget.found);
        onWork?.(budget.work("reading"));
      }
      if (budget.isReadingOver(this.batch.waitingMs)) return false;
      budget.tried++;
      budget.triedBytes += size;
      this.reached = path;
      await this.writer.index(path, skipped, readFile);
    }
    onProgress?.(budget.found, budget.found);
    return true;
  }

  /** Reads files again of which another process saved something first. */
  private async again(paths: readonly string[]): Promise<void> {
    const { journal, budget } = this;
    // They were counted before.
    const { chunked, settled } = budget;
    const { found } = journal;
    const { removed } = this.writer;
    const skipped = { binary: 0, secret: 0, too_large: 0, unreadable: 0, outside: 0 };
    const { root } = this.workspace;
    // Into memory of its own: rows of the file that was read last may still be put.
    const readAgain: ReadFile = (path, most) => readFileOf(this.options.trees.env, root, path, most);
    const { writer } = this;
    writer.live = undefined;
    for (const path of paths) {
      if (this.gone.has(path)) await writer.drop(path);
      else await writer.index(path, skipped, readAgain);
    }
    [budget.chunked, budget.settled, writer.removed, journal.found] = [chunked, settled, removed, found];
  }

  /**
   * Which of the files are still to be read: where they are many, once no other process indexes the same root. What
   * that has done is not done again. Undefined where there was no time to wait for it.
   */
  private async share(found: readonly FoundFile[]): Promise<readonly FoundFile[] | undefined> {
    if (this.lock || found.length <= SHARED_MIN) return found;
    const { options, budget } = this;
    const { folder, signal, sink } = options;
    const { repoId } = this.workspace;
    const progress = () => JSON.stringify(sink.noteOf(repoId));
    const waited = await WorkLock.take(folder, repoId, { msLeft: () => budget.msLeft, progress, signal });
    if (waited === "late") return undefined;
    this.lock = waited.lock;
    if (!waited.isLate) return found;
    this.journal.load();
    await this.compare();
    return found.filter(({ path, mark }) => this.journal.files.get(path)?.mark !== mark);
  }

  /** Ends the run; what was saved stays. */
  release(): void {
    this.lock?.release();
    this.lock = undefined;
  }

  /** Whether a path lies in what this run is about. */
  private isInside(path: string): boolean {
    return isIn(this.workspace.below ?? "", path);
  }
}
