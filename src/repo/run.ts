/**
 * One run: updates a collection to a directory's files, reading only those that changed.
 *
 * A file's rows and its fingerprint are saved together, so that a crash at any moment leaves both as they were or both
 * as they are.
 *
 * A run with limits walks and reads in rounds, so that neither waits for all of the other; the next run begins where it
 * ended. This file finds what may have changed, `writing.ts` reads and writes it.
 */
import { TimeoutError } from "../errors.ts";
import { Breather } from "./breather.ts";
import type { Budget } from "./budget.ts";
import type { WalkFile } from "./entries.ts";
import { type GitPlace, gitPlaceOf } from "./linked.ts";
import { shownPartial } from "./partial.ts";
import { shownSettings } from "./settings.ts";
import type { IndexOptions, IndexResult } from "./sink.ts";
import { isIn, Walk } from "./walk.ts";
import type { Workspace } from "./workspace.ts";
import { Writing } from "./writing.ts";

/** One call of `indexRepo`; used once. */
export class IndexRun {
  private readonly workspace: Workspace;
  private readonly breather: Breather;
  private readonly writing: Writing;
  /** The repository of git that the root belongs to. */
  readonly place: GitPlace | undefined;

  /** Every file that the walk found. */
  private readonly seen = new Set<string>();
  /** Files of the current round that may have changed. */
  private round: WalkFile[] = [];

  constructor(
    private readonly options: IndexOptions,
    private readonly budget: Budget,
  ) {
    this.breather = new Breather(options.signal);
    this.workspace = options.workspace;
    this.place = gitPlaceOf(this.workspace.root);
    this.writing = new Writing(options, this.place, budget, this.breather);
  }

  async run(): Promise<IndexResult> {
    const { root, repoId, below } = this.workspace;
    const { options, writing, budget } = this;
    this.breather.check();
    const exclude = [options.folder, ...(options.exclude ?? [])];

    await writing.begin();
    const after = budget.isLimited ? writing.reachedBefore : undefined;
    const { maxFileBytes } = writing.settings;
    const { signal } = options;
    const walk = await Walk.begin(root, { below, maxFileBytes, exclude, signal, budget, after });
    let truncated: boolean;
    try {
      truncated = !(await this.walkAndRead(walk));
      if (!(await writing.dropMissing(this.seen, (path) => walk.isGone(path), walk.isComplete))) truncated = true;
      await writing.finish(truncated);
    } catch (error) {
      // Another process's change took until the deadline.
      truncated = error instanceof TimeoutError && budget.msLeft <= 0;
      if (truncated) await writing.finish(truncated);
      else {
        writing.giveUp();
        throw error;
      }
    }

    const counts = { text: 0, binary: 0, secret: 0 };
    const texts: string[] = [];
    for (const [path, file] of writing.files) {
      if (isIn(below ?? "", path)) counts[file.kind]++;
      if (file.kind === "text") texts.push(path);
    }
    options.onIndexed?.(texts);
    const { binary, secret } = counts;
    const settings = shownSettings(writing.settings);
    const { removed } = writing;
    const { deleted, upserted } = writing.batch;
    const hasChanged = budget.chunked + removed + upserted + deleted > 0;
    return {
      status: options.force === true || writing.isOther ? "built" : hasChanged ? "refreshed" : "hit",
      collection: options.collection,
      repo_id: repoId,
      workspace: root,
      ...(below === undefined ? {} : { folder: below }),
      files_tracked: counts.text,
      files_changed: budget.chunked,
      files_removed: removed,
      chunks_added: upserted,
      chunks_deleted: deleted,
      files_skipped: { ...walk.skipped, binary, secret: walk.skipped.secret + secret },
      files_source: walk.source === "git" ? "git" : "folder",
      ...(truncated ? { truncated: true as const, ...shownPartial(writing.partial) } : {}),
      ...(settings === undefined ? {} : { settings }),
    };
  }

  /** Walks and reads in rounds to the end; false if a limit ended it early. */
  private async walkAndRead(walk: Walk): Promise<boolean> {
    const { budget, writing } = this;
    while (!walk.ended) {
      await walk.advance(
        (file) => this.consider(file),
        () => budget.isSpent(this.round.length),
      );
      if (!(await writing.read(this.round, walk.skipped))) return false;
      this.round = [];
      writing.reached = walk.reached;
      if (!walk.ended && budget.isSpent(0)) return false;
    }
    if (!walk.isComplete) return false;
    this.options.onProgress?.(budget.found, budget.found);
    return true;
  }

  /** Adds a file to the round if it may have changed; true if the round is full. */
  private consider(file: WalkFile): boolean {
    this.seen.add(file.path);
    if (this.writing.isUnchanged(file)) return false;
    this.budget.found++;
    this.round.push(file);
    return this.round.length >= this.budget.roundFilesMax;
  }
}
