/**
 * One run: updates a collection to a directory's files, reading only those that changed.
 *
 * The order that makes a crash harmless: first the fingerprints of files about to change are voided on disk, then the
 * rows change, then the new fingerprints are written. After a crash in between, the next run chunks the files without a
 * fingerprint again under the same ids.
 *
 * A run with limits walks and reads in rounds, so that neither waits for all of the other; the next run begins where it
 * ended.
 */
import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { BATCH_LARGE, BATCH_SMALL, Batch } from "./batch.ts";
import { Breather } from "./breather.ts";
import type { Budget } from "./budget.ts";
import { type ChunkOptions, chunkText, decodeText } from "./chunk.ts";
import type { SkipCounts, WalkFile } from "./entries.ts";
import { chunkingOf, chunkKey, contentHash, type Fingerprint, isRacy, stampOf, voidEntry } from "./fingerprints.ts";
import { idBase, parseRowId, rowId } from "./identity.ts";
import { labelsOf } from "./labels.ts";
import { languageOf } from "./language.ts";
import { Ledger } from "./ledger.ts";
import { type GitPlace, gitPlaceOf } from "./linked.ts";
import { type ReadResult, readRepoFile } from "./read.ts";
import { holdsSecret } from "./secret-content.ts";
import { Siblings } from "./siblings.ts";
import type { IndexOptions, IndexResult, Row } from "./sink.ts";
import { isIn, Walk } from "./walk.ts";
import type { Workspace } from "./workspace.ts";

/** One call of `indexRepo`; used once. */
export class IndexRun {
  private readonly workspace: Workspace;
  private readonly breather: Breather;
  private readonly batch: Batch;

  private readonly ledger: Ledger;
  private readonly siblings: Siblings;
  /** The repository of git that the root belongs to. */
  readonly place: GitPlace | undefined;
  /** Live chunk numbers by id base, read from the collection where the cache does not match it. */
  private live: Map<string, number[]> | undefined;
  private removed = 0;

  /** Every file that the walk found. */
  private readonly seen = new Set<string>();
  /** Files of the current round that may have changed. */
  private round: WalkFile[] = [];
  /** The last path up to which everything is done. */
  private reached: string | undefined;

  constructor(
    private readonly options: IndexOptions,
    private chunking: ChunkOptions,
    private readonly budget: Budget,
  ) {
    this.breather = new Breather(options.signal);
    const { sink, fingerprintPath, workspace } = options;
    this.workspace = workspace;
    const params = chunkKey(chunking);
    this.place = gitPlaceOf(workspace.root);
    this.siblings = new Siblings(options.force ? undefined : this.place, fingerprintPath, params);
    this.ledger = new Ledger(fingerprintPath, workspace, params, this.place, () => sink.stateOf(workspace.repoId));
    this.batch = new Batch(
      sink,
      () => this.ledger.voidOnDisk(),
      () => this.ledger.checkpoint(),
      () => this.siblings.areUnchanged,
      budget.isLimited ? BATCH_SMALL : BATCH_LARGE,
    );
  }

  async run(): Promise<IndexResult> {
    const { root, repoId, below } = this.workspace;
    const { options } = this;
    this.breather.check();
    const exclude = [dirname(options.fingerprintPath), ...(options.exclude ?? [])];

    const previous = this.ledger.load();
    if (options.keepsChunking && previous) this.keepChunking(previous.params);
    const isForced = options.force === true;
    const isOther = previous?.params !== chunkKey(this.chunking);
    for (const [path, file] of this.ledger.files) if (isOther || (isForced && this.isInside(path))) voidEntry(file);
    const isKnown = previous?.rows !== undefined && isDeepStrictEqual(previous.rows, options.sink.stateOf(repoId));
    if (!isKnown) await this.reconcile();

    const { budget } = this;
    const after = budget.isLimited ? previous?.reached : undefined;
    const { maxFileBytes, signal } = options;
    const walk = await Walk.begin(root, { below, maxFileBytes, exclude, signal, budget, after });
    let truncated: boolean;
    try {
      truncated = !(await this.walkAndRead(walk, previous?.startedMs ?? 0));
      await this.dropMissing(walk);
      await this.batch.flush();
    } catch (error) {
      // Progress is saved for the next call; the caller gets the first failure.
      if (this.ledger.dirty) await this.ledger.save().catch(() => {});
      throw error;
    }
    // A run over all of the root goes on where another one ended, whatever one over a folder did in between.
    const reachedBefore = below === undefined ? undefined : previous?.reached;
    this.ledger.reached = truncated ? this.reached : reachedBefore;
    const complete = this.isAllRecorded(truncated);
    const isAsBefore = isKnown && previous?.reached === this.ledger.reached;
    if (this.ledger.dirty || truncated || !isAsBefore) await this.ledger.saveQuietly(complete);

    const counts = { text: 0, binary: 0, secret: 0 };
    const texts: string[] = [];
    for (const [path, file] of this.ledger.files) {
      if (this.isInside(path)) counts[file.kind]++;
      if (file.kind === "text") texts.push(path);
    }
    options.onIndexed?.(texts);
    const { binary, secret } = counts;
    const { deleted, upserted } = this.batch;
    const hasChanged = budget.chunked + this.removed + upserted + deleted > 0;
    return {
      status: isForced || isOther ? "built" : hasChanged ? "refreshed" : "hit",
      collection: options.collection,
      repo_id: repoId,
      workspace: root,
      ...(below === undefined ? {} : { folder: below }),
      files_tracked: counts.text,
      files_changed: budget.chunked,
      files_removed: this.removed,
      chunks_added: upserted,
      chunks_deleted: deleted,
      files_skipped: { ...walk.skipped, binary, secret: walk.skipped.secret + secret },
      ...(truncated ? { truncated: true as const } : {}),
    };
  }

  /** Takes the parameters that the repository was chunked with. */
  private keepChunking(key: string): void {
    this.chunking = chunkingOf(key) ?? this.chunking;
    this.ledger.params = this.siblings.params = chunkKey(this.chunking);
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

  /** Walks and reads in rounds to the end; false if a limit ended it early. */
  private async walkAndRead(walk: Walk, startedMs: number): Promise<boolean> {
    const { budget } = this;
    const take = (file: WalkFile) => this.consider(file, startedMs);
    while (!walk.ended) {
      await walk.advance(take, () => budget.isSpent(this.round.length));
      if (!(await this.readRound(walk.skipped))) return false;
      this.round = [];
      this.reached = walk.reached;
      if (!walk.ended && budget.isSpent(0)) return false;
    }
    if (!walk.isComplete) return false;
    this.ledger.hasVisited((path) => this.isInside(path));
    this.options.onProgress?.(budget.found, budget.found);
    return true;
  }

  /** Adds a file to the round if it may have changed; true if the round is full. */
  private consider(file: WalkFile, startedMs: number): boolean {
    this.seen.add(file.path);
    const known = this.ledger.files.get(file.path);
    if (known?.stamp === stampOf(file) && !isRacy(file, startedMs)) return false;
    if (known) this.ledger.distrust(known);
    this.budget.found++;
    this.round.push(file);
    return this.round.length >= this.budget.roundFilesMax;
  }

  /**
   * Removes the rows of files that are gone or ignored now; not of those that cannot be read this time, or that the
   * walk did not reach.
   */
  private async dropMissing(walk: Walk): Promise<void> {
    const gone = [...this.ledger.files.keys()].filter((path) => !this.seen.has(path) && walk.isGone(path));
    // All before the first drop: rows change on disk whenever the batch is full.
    for (const path of gone) this.ledger.distrust(this.ledger.files.get(path)!);
    for (const path of gone) await this.drop(path);
    if (!this.live || !walk.isComplete) return;
    const known = new Set([...this.seen, ...this.ledger.files.keys()].map((path) => this.base(path)));
    for (const [base, numbers] of this.live) {
      if (known.has(base) || !walk.isGone(this.pathIn(base))) continue;
      for (const chunk of numbers) await this.batch.delete(rowId(base, chunk));
    }
  }

  /** Reads the files of a round; false if the deadline passed before the last. */
  private async readRound(skipped: SkipCounts): Promise<boolean> {
    const { maxFileBytes, onProgress } = this.options;
    const { budget } = this;
    this.siblings.expect(this.round.length, this.ledger.files.size);
    for (const { path } of this.round) {
      if (this.breather.due) {
        await this.breather.pause();
        onProgress?.(budget.tried, budget.found);
      }
      if (budget.isReadingOver) return false;
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
      else await this.put(path, decodeText(read.bytes), fresh);
    }
    return true;
  }

  /** Writes the chunks of a file and removes those it no longer has. */
  private async put(path: string, text: string, fresh: Fingerprint): Promise<void> {
    const { repoId } = this.workspace;
    const base = this.base(path);
    const language = languageOf(path);
    const chunks = chunkText(text, this.chunking);
    const labels = labelsOf(text, language, chunks);
    const before = this.chunksOf(path, base);
    this.budget.chunked++;
    this.ledger.touched.add(path);
    // Until all chunks are durable the entry is void, with every chunk that may exist.
    const reach = before.reduce((most, chunk) => Math.max(most, chunk + 1), chunks.length);
    this.ledger.files.set(path, { kind: "text", chunks: reach, stamp: "", hash: "" });
    const like = this.siblings.baseOf(path, fresh.hash, chunks.length);
    for (const [chunk, { text, startLine, endLine, piece }] of chunks.entries()) {
      const lines = { chunk, start_line: startLine, end_line: endLine, ...(piece === undefined ? {} : { piece }) };
      // The path precedes the text like a title: a file's name often tells its subject.
      const row: Row = {
        id: rowId(base, chunk),
        text: `${path}\n${text}`,
        labels: labels[chunk]!,
        metadata: { repo_id: repoId, path, language, ...lines },
        ...(like === undefined ? {} : { like: rowId(like, chunk) }),
      };
      await this.batch.upsert(row);
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
