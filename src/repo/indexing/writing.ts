/**
 * The writing half of a run: which files are read and which are gone, with which fingerprints it begins and ends.
 * `file-writer.ts` puts the rows of a file.
 */
import { isDeepStrictEqual } from "node:util";
import type { Breather } from "../../breather.ts";
import { OSError, TimeoutError } from "../../errors.ts";
import { rowId } from "../chunks/identity.ts";
import type { GitPlace } from "../files/linked.ts";
import { readRepoFile } from "../files/read.ts";
import { isIn } from "../files/relative.ts";
import type { RepoTree } from "../files/tree.ts";
import type { Workspace } from "../files/workspace.ts";
import { chunkKey, contentHash, type Fingerprint } from "../fingerprints/fingerprints.ts";
import { noteUse } from "../fingerprints/indexed.ts";
import { Ledger } from "../fingerprints/journal.ts";
import type { Records } from "../fingerprints/log.ts";
import type { PartialIndex } from "../fingerprints/partial.ts";
import { type Settings, settingsOf } from "../fingerprints/settings.ts";
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
  private readonly ledger: Ledger;
  private readonly siblings: Siblings;
  private readonly writer: FileWriter;
  /** Held while this run indexes many files. */
  private lock: WorkLock | undefined;
  /** Files that were removed because the run did not find them. */
  private readonly gone = new Set<string>();
  /** {@link reachedBefore} */
  private wasReached: string | undefined;
  /** Whether the last run over all of the root did not get to the end. */
  private wasPartial = false;

  constructor(
    private readonly options: IndexOptions,
    place: GitPlace | undefined,
    private readonly budget: Budget,
    private readonly breather: Breather,
  ) {
    const { sink, folder, workspace } = options;
    this.workspace = workspace;
    this.siblings = new Siblings(options.force ? undefined : place, folder, workspace.repoId, sink);
    this.ledger = new Ledger(folder, workspace, place, sink);
    const limits = budget.isLimited ? BATCH_SMALL : BATCH_LARGE;
    const areLike = () => this.siblings.areUnchanged;
    this.batch = new Batch(sink, this.ledger, areLike, (paths) => this.again(paths), limits, budget.deadline);
    const parts = { batch: this.batch, ledger: this.ledger, siblings: this.siblings, budget };
    this.writer = new FileWriter(workspace.repoId, sink.columns, parts, () => this.reserve());
  }

  /** Those of the call and of the last run, once {@link begin} has loaded these. */
  get settings(): Settings {
    return this.writer.settings;
  }

  /** Text files that this run removed. */
  get removed(): number {
    return this.writer.removed;
  }

  /** How much is indexed, where the run did not get to the end; once {@link finish} has ended. */
  get partial(): PartialIndex | undefined {
    return this.ledger.partial();
  }

  /** The files that are known, by path. */
  get files(): ReadonlyMap<string, Fingerprint> {
    return this.ledger.files;
  }

  /** Where a run over all of the root that a limit ended has to go on. */
  get reachedBefore(): string | undefined {
    return this.wasReached;
  }

  /** Loads the fingerprints and compares them with the rows. */
  async begin(): Promise<void> {
    const { ledger } = this;
    const previous = ledger.load();
    this.wasReached = ledger.reached = ledger.note?.reached;
    this.wasPartial = ledger.note?.partial !== undefined;
    ledger.found = ledger.files.size;
    this.writer.settings = settingsOf(this.options, previous);
    const { chunking, maxFileBytes } = this.settings;
    ledger.params = this.siblings.params = chunkKey(chunking);
    ledger.maxFileBytes = maxFileBytes;
    await this.compare();
  }

  /** What of the loaded fingerprints holds for this run. */
  private async compare(): Promise<void> {
    const { ledger, options } = this;
    this.isOther = ledger.note?.params !== ledger.params;
    if (this.isOther || options.force) {
      for (const path of ledger.files.keys()) if (this.isOther || this.isInside(path)) ledger.void(path);
    }
    this.writer.live = undefined;
    ledger.isComplete = () => this.isAllRecorded(true, new Map());
    if (!ledger.matchesRows()) await this.reconcile();
    this.reserve();
  }

  /** Keeps time for the upkeep behind this run, unless that would take more than half of it. */
  private reserve(): void {
    const { deadline } = this.budget;
    const ms = deadline.isSet ? (this.options.sink.msAfter?.(BATCH_SMALL.rows) ?? 0) : 0;
    this.budget.reservedMs = ms > deadline.ms / 2 ? 0 : ms;
  }

  /** Whether a file that was found is as it was when it was read; one that is not will be read. */
  isUnchanged(path: string, mark: number): boolean {
    const known = this.ledger.files.get(path);
    if (known?.mark === mark) return true;
    // One that is only read again, since it was read so shortly after it changed, counts as done.
    if (!known?.hash || known.mark !== 0) this.ledger.waiting.add(path);
    if (!known) this.ledger.found++;
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
    const gone = [...this.ledger.files.keys()].filter((path) => !has(path) && isGone(path));
    for (const [at, path] of gone.entries()) {
      // One at least in each call: otherwise they would never all be gone.
      if (at > 0 && this.budget.msLeft <= 0) return false;
      this.gone.add(path);
      await files.drop(path);
    }
    if (!files.live || !isComplete) return true;
    for (const { base, path, numbers } of files.live.others(this.ledger.files.keys())) {
      if (has(path) || !isGone(path)) continue;
      for (const chunk of numbers) await this.batch.delete(rowId(base, chunk));
    }
    return true;
  }

  /** Makes what was put durable, and the fingerprints where they differ from those on disk. */
  async finish(truncated: boolean): Promise<void> {
    const { ledger, settings } = this;
    // A run over all of the root goes on where another one ended, whatever one over a folder did in between.
    if (truncated) ledger.reached = this.reached;
    else if (this.workspace.below === undefined) ledger.reached = undefined;
    // Nor does one over a folder make the rest whole.
    ledger.isWhole = !truncated && (this.workspace.below === undefined || !this.wasPartial);
    ledger.isComplete = (recorded) => this.isAllRecorded(truncated, recorded);
    this.options.onWork?.(this.budget.work("saving"));
    await this.batch.flush();
    const { note } = ledger;
    const { pending, renewed } = ledger.unsaved;
    const isAsNoted =
      note?.reached === ledger.reached &&
      note?.params === ledger.params &&
      note?.root === this.workspace.root &&
      isDeepStrictEqual(note?.partial, ledger.partial()) &&
      (note?.maxFileBytes ?? 0) === settings.maxFileBytes;
    const isMended = !ledger.matchesRows() && ledger.isComplete(new Map());
    if (!isAsNoted || isMended || pending > 0 || renewed > RENEWED_MAX) await this.saveQuietly();
    const { path } = ledger;
    if (path !== undefined) noteUse(path);
    this.release();
  }

  /** After a failure: what was saved stays. */
  giveUp(): void {
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
   * Another writer changed the rows, or the fingerprints are missing: compares records with the collection's ids. A file
   * whose chunks differ from its record is chunked again. Rows that another writer put under our ids are not noticed;
   * `force` replaces them.
   */
  private async reconcile(): Promise<void> {
    const live = await LiveRows.read(this.options.sink, this.workspace.repoId);
    for (const [path, { chunks }] of this.ledger.files) if (!live.hasExactly(path, chunks)) this.ledger.void(path);
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
    const others = live.others([...this.ledger.files.keys(), ...recorded.keys()]);
    return [...others].every(({ path }) => this.isInside(path));
  }

  /** Reads files that may have changed; false if a limit was reached before the last. */
  async read(tree: RepoTree, found: readonly FoundFile[], skipped: SkipCounts): Promise<boolean> {
    const readFile: ReadFile = (path, most) => tree.read(path, most);
    const files = await this.share(found);
    if (files === undefined) return false;
    const { onProgress, onWork } = this.options;
    const { budget } = this;
    this.siblings.expect(files.length, this.ledger.files.size);
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
    const { ledger, budget } = this;
    // They were counted before.
    const { chunked, settled } = budget;
    const { found } = ledger;
    const { removed } = this.writer;
    const skipped = { binary: 0, secret: 0, too_large: 0, unreadable: 0, outside: 0 };
    const { root } = this.workspace;
    // Into memory of its own: rows of the file that was read last may still be put.
    const readAgain: ReadFile = (path, most) => {
      const read = readRepoFile(root, path, most);
      return "failure" in read ? read : { ...read, hash: contentHash(read.bytes) };
    };
    const { writer } = this;
    writer.live = undefined;
    for (const path of paths) {
      if (this.gone.has(path)) await writer.drop(path);
      else await writer.index(path, skipped, readAgain);
    }
    [budget.chunked, budget.settled, writer.removed, ledger.found] = [chunked, settled, removed, found];
  }

  /**
   * Which of the files are still to be read: where they are many, once no other process indexes the same root. What that
   * has done is not done again. Undefined where there was no time to wait for it.
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
    this.ledger.load();
    await this.compare();
    return found.filter(({ path, mark }) => this.ledger.files.get(path)?.mark !== mark);
  }

  private release(): void {
    this.lock?.release();
    this.lock = undefined;
  }

  /** Whether a path lies in what this run is about. */
  private isInside(path: string): boolean {
    return isIn(this.workspace.below ?? "", path);
  }
}
