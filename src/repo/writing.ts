/**
 * The writing half of a run: reads files that may have changed, puts their rows, removes those of files that are gone,
 * and keeps the fingerprints in step.
 */
import { isDeepStrictEqual } from "node:util";
import { BATCH_LARGE, BATCH_SMALL, Batch } from "./batch.ts";
import type { Breather } from "./breather.ts";
import type { Budget } from "./budget.ts";
import { chunkBytes, textBytes } from "./chunk.ts";
import type { SkipCounts, WalkFile } from "./entries.ts";
import {
  chunkKey,
  contentHash,
  type Fingerprint,
  type Fingerprints,
  isRacy,
  stampOf,
  voidEntry,
} from "./fingerprints.ts";
import { idBase, parseRowId, rowId } from "./identity.ts";
import { labelsOf } from "./labels.ts";
import { languageOf } from "./language.ts";
import { Ledger } from "./ledger.ts";
import type { GitPlace } from "./linked.ts";
import type { PartialIndex } from "./partial.ts";
import { type ReadResult, readRepoFile } from "./read.ts";
import { FileRows } from "./rows.ts";
import { holdsSecret } from "./secret-content.ts";
import { SETTINGS_DEFAULT, type Settings, settingsOf } from "./settings.ts";
import { Siblings } from "./siblings.ts";
import type { IndexOptions } from "./sink.ts";
import { isIn } from "./walk.ts";
import type { Workspace } from "./workspace.ts";

/** The rows and fingerprints of one run. */
export class Writing {
  readonly batch: Batch;
  /** Text files that this run removed. */
  removed = 0;
  /** The last path up to which everything is done. */
  reached: string | undefined;
  /** Whether all is chunked again with other parameters than before. */
  isOther = false;
  /** Those of the call and of the last run, once {@link begin} has loaded these. */
  settings: Settings = SETTINGS_DEFAULT;

  private readonly workspace: Workspace;
  private readonly ledger: Ledger;
  private readonly siblings: Siblings;
  private previous: Fingerprints | undefined;
  /** Whether the fingerprints match the rows. */
  private isKnown = false;
  /** Live chunk numbers by id base, read from the collection where the cache does not match it. */
  private live: Map<string, number[]> | undefined;

  constructor(
    private readonly options: IndexOptions,
    place: GitPlace | undefined,
    private readonly budget: Budget,
    private readonly breather: Breather,
  ) {
    const { sink, fingerprintPath, workspace } = options;
    this.workspace = workspace;
    this.siblings = new Siblings(options.force ? undefined : place, fingerprintPath);
    this.ledger = new Ledger(fingerprintPath, workspace, place, () => sink.stateOf(workspace.repoId));
    this.batch = new Batch(
      sink,
      () => this.ledger.voidOnDisk(),
      () => {
        this.reserve();
        return this.ledger.checkpoint();
      },
      () => this.siblings.areUnchanged,
      budget.isLimited ? BATCH_SMALL : BATCH_LARGE,
      budget.deadline,
    );
  }

  /** How much is indexed, where the run did not get to the end; once {@link finish} has ended. */
  get partial(): PartialIndex | undefined {
    return this.ledger.partial;
  }

  /** The files that are known, by path. */
  get files(): ReadonlyMap<string, Fingerprint> {
    return this.ledger.files;
  }

  /** Where a run over all of the root that a limit ended has to go on. */
  get reachedBefore(): string | undefined {
    return this.previous?.reached;
  }

  private get wasWhole(): boolean {
    return this.previous !== undefined && this.previous.partial === undefined;
  }

  /** Loads the fingerprints and compares them with the rows. */
  async begin(): Promise<void> {
    const { options } = this;
    const previous = this.ledger.load();
    this.previous = previous;
    this.ledger.found = this.ledger.files.size;
    this.settings = settingsOf(options, previous);
    const { chunking, maxFileBytes } = this.settings;
    const params = chunkKey(chunking);
    this.ledger.params = this.siblings.params = params;
    this.ledger.maxFileBytes = maxFileBytes;
    this.isOther = previous?.params !== params;
    const isForced = options.force === true;
    for (const [path, file] of this.ledger.files) {
      if (this.isOther || (isForced && this.isInside(path))) voidEntry(file);
    }
    const { repoId } = this.workspace;
    this.isKnown = previous?.rows !== undefined && isDeepStrictEqual(previous.rows, options.sink.stateOf(repoId));
    if (!this.isKnown) await this.reconcile();
    this.reserve();
  }

  /** Keeps time for the upkeep behind this run, unless that would take more than half of it. */
  private reserve(): void {
    const { deadline } = this.budget;
    const ms = deadline.isSet ? (this.options.sink.msAfter?.(BATCH_SMALL.rows) ?? 0) : 0;
    this.budget.reservedMs = ms > deadline.ms / 2 ? 0 : ms;
  }

  /** Whether a file that was found is as it was when it was read; one that is not will be read. */
  isUnchanged(file: WalkFile): boolean {
    const known = this.ledger.files.get(file.path);
    if (known?.stamp === stampOf(file) && !isRacy(file, this.previous?.startedMs ?? 0)) return true;
    if (known) this.ledger.distrust(known);
    else this.ledger.found++;
    return false;
  }

  /**
   * Removes the rows of files that are gone or ignored now.
   * @param seen the files that were found
   * @param isGone whether a path that was not found is gone
   * @param isComplete whether all files were found
   * @returns false if the deadline passed before the last
   */
  async dropMissing(
    seen: ReadonlySet<string>,
    isGone: (path: string) => boolean,
    isComplete: boolean,
  ): Promise<boolean> {
    const gone = [...this.ledger.files.keys()].filter((path) => !seen.has(path) && isGone(path));
    // All before the first drop: rows change on disk whenever the batch is full.
    for (const path of gone) this.ledger.distrust(this.ledger.files.get(path)!);
    for (const [at, path] of gone.entries()) {
      // One at least in each call: otherwise they would never all be gone.
      if (at > 0 && this.budget.msLeft <= 0) return false;
      await this.drop(path);
    }
    if (!this.live || !isComplete) return true;
    const known = new Set([...seen, ...this.ledger.files.keys()].map((path) => this.base(path)));
    for (const [base, numbers] of this.live) {
      if (known.has(base) || !isGone(this.pathIn(base))) continue;
      for (const chunk of numbers) await this.batch.delete(rowId(base, chunk));
    }
    return true;
  }

  /** Every file of what the run is about was found and read. */
  hasVisited(): void {
    this.ledger.hasVisited((path) => this.isInside(path));
  }

  /** Makes all that was put durable. */
  flush(): Promise<void> {
    return this.batch.flush();
  }

  /** After a failure: progress is saved for the next call. */
  async giveUp(): Promise<void> {
    if (this.ledger.dirty) await this.ledger.save().catch(() => {});
  }

  /** Saves the fingerprints where anything changed. */
  async finish(truncated: boolean): Promise<void> {
    // A run over all of the root goes on where another one ended, whatever one over a folder did in between.
    const reachedBefore = this.workspace.below === undefined ? undefined : this.reachedBefore;
    this.ledger.reached = truncated ? this.reached : reachedBefore;
    // Nor does one over a folder make the rest whole.
    this.ledger.isWhole = !truncated && (this.workspace.below === undefined || this.previous?.partial === undefined);
    const complete = this.isAllRecorded(truncated);
    const isSameSize = (this.previous?.maxFileBytes ?? 0) === this.settings.maxFileBytes;
    const isAsBefore =
      this.isKnown &&
      !this.isOther &&
      isSameSize &&
      this.reachedBefore === this.ledger.reached &&
      this.wasWhole === this.ledger.isWhole;
    if (this.ledger.dirty || truncated || !isAsBefore) await this.ledger.saveQuietly(complete);
  }

  /**
   * Another writer changed the collection, or the cache is missing: compares entries with the collection's ids. A file
   * whose chunks differ from its entry is chunked again. Rows that another writer put under our ids are not noticed;
   * `force` replaces them.
   */
  private async reconcile(): Promise<void> {
    const live = new Map<string, number[]>();
    for (const id of await this.options.sink.idsOf(this.workspace.repoId)) {
      const parsed = parseRowId(this.workspace.repoId, id);
      if (!parsed) continue;
      const numbers = live.get(parsed.base);
      if (numbers) numbers.push(parsed.chunk);
      else live.set(parsed.base, [parsed.chunk]);
    }
    for (const [path, file] of this.ledger.files) {
      const numbers = live.get(this.base(path)) ?? [];
      if (numbers.length !== file.chunks || numbers.some((chunk) => chunk >= file.chunks)) voidEntry(file);
    }
    this.live = live;
    this.ledger.dirty = true;
  }

  /**
   * Whether every row of the repository has an entry now. Rows read from the collection may belong to files that a
   * limit kept this run from, or that lie outside of its folder.
   */
  private isAllRecorded(truncated: boolean): boolean {
    if (!this.live || this.live.size === 0) return true;
    if (truncated) return false;
    if (this.workspace.below === undefined) return true;
    const known = new Set([...this.ledger.files.keys()].map((path) => this.base(path)));
    return [...this.live.keys()].every((base) => known.has(base) || this.isInside(this.pathIn(base)));
  }

  /** Reads the files of a round; false if the deadline passed before the last. */
  async read(files: readonly WalkFile[], skipped: SkipCounts): Promise<boolean> {
    const { onProgress } = this.options;
    const { budget } = this;
    const { maxFileBytes } = this.settings;
    this.siblings.expect(files.length, this.ledger.files.size);
    for (const { path } of files) {
      if (this.breather.due) {
        await this.breather.pause();
        onProgress?.(budget.tried, budget.found);
      }
      if (budget.isReadingOver(this.batch.waitingMs)) return false;
      budget.tried++;
      this.reached = path;
      const read = readRepoFile(this.workspace.root, path, maxFileBytes);
      if ("failure" in read) {
        await this.leaveOut(path, read, skipped);
        continue;
      }
      const known = this.ledger.files.get(path);
      const hash = contentHash(read.bytes);
      const fresh: Fingerprint = { kind: "text", chunks: known?.chunks ?? 0, stamp: stampOf(read.stamp), hash };
      const isSame = known?.kind === "text" && known.hash === hash;
      if (!isSame && holdsSecret(read.bytes)) {
        await this.leaveOut(path, { failure: "secret", stamp: read.stamp }, skipped);
        continue;
      }
      budget.settled++;
      this.ledger.dirty = true;
      if (isSame) this.ledger.files.set(path, fresh);
      else await this.put(path, textBytes(read.bytes), fresh);
    }
    return true;
  }

  /** Writes the chunks of a file and removes those it no longer has. */
  private async put(path: string, text: Uint8Array, fresh: Fingerprint): Promise<void> {
    const { repoId } = this.workspace;
    const base = this.base(path);
    const language = languageOf(path);
    const chunks = chunkBytes(text, this.settings.chunking);
    const labels = labelsOf(text, language, chunks);
    const before = this.chunksOf(path, base);
    this.budget.chunked++;
    this.ledger.touched.add(path);
    // Until all chunks are durable the entry is void, with every chunk that may exist.
    const reach = before.reduce((most, chunk) => Math.max(most, chunk + 1), chunks.length);
    this.ledger.files.set(path, { kind: "text", chunks: reach, stamp: "", hash: "" });
    const like = this.siblings.baseOf(path, fresh.hash, chunks.length);
    const rows = new FileRows(base, { repo_id: repoId, path, language }, text, this.options.sink.columns);
    for (const [number, chunk] of chunks.entries()) {
      const isFull = this.batch.upsert(rows.row(number, chunk, labels[number]!, like));
      if (isFull) await this.batch.flush(true);
    }
    for (const chunk of before) if (chunk >= chunks.length) await this.batch.delete(rowId(base, chunk));
    this.batch.settle(() => this.ledger.files.set(path, { ...fresh, chunks: chunks.length }));
  }

  /** Handles a file that the walk listed but that could not be indexed. */
  private async leaveOut(
    path: string,
    read: Extract<ReadResult, { failure: string }>,
    skipped: SkipCounts,
  ): Promise<void> {
    const { failure, stamp } = read;
    if (failure === "unreadable") {
      // Its rows stay, if any, and the next run tries again.
      skipped.unreadable++;
      return;
    }
    this.budget.settled++;
    if (failure === "outside" || failure === "too_large") skipped[failure]++;
    if (failure !== "binary" && failure !== "secret") return this.drop(path);
    this.ledger.dirty = true;
    const known: Fingerprint = { kind: failure, chunks: 0, stamp: stamp ? stampOf(stamp) : "", hash: "" };
    await this.drop(path, known);
  }

  /** Removes a file's rows; its entry becomes `instead`. */
  private async drop(path: string, instead?: Fingerprint): Promise<void> {
    const known = this.ledger.files.get(path);
    this.ledger.dirty = true;
    if (!instead) this.ledger.found--;
    if (known?.kind === "text") this.removed++;
    if (known) voidEntry(known);
    this.ledger.touched.add(path);
    const base = this.base(path);
    for (const chunk of this.chunksOf(path, base)) await this.batch.delete(rowId(base, chunk));
    this.batch.settle(() => (instead ? this.ledger.files.set(path, instead) : this.ledger.files.delete(path)));
  }

  /** Numbers of the chunks that a file has in the collection. */
  private chunksOf(path: string, base: string): number[] {
    if (this.live) return this.live.get(base) ?? [];
    return Array.from({ length: this.ledger.files.get(path)?.chunks ?? 0 }, (_, chunk) => chunk);
  }

  private base(path: string): string {
    return idBase(this.workspace.repoId, path);
  }

  /** The path in an id, of which the middle may be replaced. */
  private pathIn(base: string): string {
    return base.slice(this.workspace.repoId.length + 1);
  }

  /** Whether a path lies in what this run is about. */
  private isInside(path: string): boolean {
    return isIn(this.workspace.below ?? "", path);
  }
}
