/**
 * One run: updates a collection to a directory's files, reading only those that changed. This file finds what may have
 * changed, `writing.ts` reads and writes it.
 *
 * A run with a deadline looks for a part of its time and reads for the rest; the next run goes on where it ended.
 */

import { Breather } from "../../breather.ts";
import { TimeoutError } from "../../errors.ts";
import { REPO_FILE_BYTES_MAX } from "../../limits.ts";
import { CANCELLED } from "../files/deadline.ts";
import { isIn } from "../files/relative.ts";
import type { RepoTree } from "../files/tree.ts";
import { type GitWorkTree, gitWorkTreeOf } from "../files/work-tree.ts";
import type { Workspace } from "../files/workspace.ts";
import { shownPartial } from "../fingerprints/partial.ts";
import { shownSettings } from "../fingerprints/settings.ts";
import type { Budget } from "./budget.ts";
import { type IndexOptions, type IndexResult, repoMembers, type SkipCounts } from "./options.ts";
import { type FoundFile, Writing } from "./writing.ts";

/** What of the time that is left a look may take. */
const LOOK_SHARE = 0.6;

/** What a look found for a run. */
interface Found {
  /** Files that may have changed, in the order in which they are read. */
  changed: FoundFile[];
  /** Whether a path that belongs to the root may be in the index. */
  has(path: string): boolean;
  /** Everything was visited. */
  isComplete: boolean;
  skipped: SkipCounts;
}

/** One call of `indexRepo`; used once. */
export class IndexRun {
  private readonly workspace: Workspace;
  private readonly breather: Breather;
  private readonly writing: Writing;
  /** The repository of git that the root belongs to. */
  readonly workTree: GitWorkTree | undefined;

  constructor(
    private readonly options: IndexOptions,
    private readonly budget: Budget,
  ) {
    this.breather = new Breather(options.signal, CANCELLED);
    this.workspace = options.workspace;
    this.workTree = gitWorkTreeOf(this.workspace.root);
    this.writing = new Writing(options, this.workTree, budget, this.breather);
  }

  /** Undefined where the deadline passed before the tree was free. */
  run(): Promise<IndexResult | undefined> {
    const { folder, exclude = [], trees } = this.options;
    this.breather.check();
    const work = (tree: RepoTree) => this.runOver(tree);
    return trees.use(this.workspace.root, [folder, ...exclude], work, this.budget.deadline);
  }

  private async runOver(tree: RepoTree): Promise<IndexResult> {
    const { below } = this.workspace;
    const { options, writing, budget } = this;
    await writing.begin();
    const found = await this.find(tree);
    const { isComplete, skipped } = found;
    let truncated: boolean;
    try {
      const isRead = await writing.read(tree, found.changed, skipped);
      // A look that was cut short goes on after the last folder that it visited.
      if (isRead && !isComplete) writing.reached = tree.reached;
      const isGone = (path: string) => isIn(below ?? "", path) && tree.isGone(path, isComplete);
      const isDropped = await writing.dropMissing(found.has, isGone, isComplete);
      truncated = !(isRead && isComplete && isDropped);
      await writing.finish(truncated);
    } catch (error) {
      // Another process's change took until the deadline.
      truncated = error instanceof TimeoutError && budget.msLeft <= 0;
      if (!truncated) {
        writing.release();
        throw error;
      }
      await writing.finish(truncated);
    }

    const counts = { text: 0, binary: 0, secret: 0 };
    const texts: string[] = [];
    for (const [path, file] of writing.journal.files) {
      if (isIn(below ?? "", path)) counts[file.kind]++;
      if (file.kind === "text") texts.push(path);
    }
    options.onIndexed?.(texts);
    const { binary, secret } = counts;
    const { removed, settings } = writing.writer;
    const { deleted, upserted } = writing.batch;
    const hasChanged = budget.chunked + removed + upserted + deleted > 0;
    return {
      status: options.force === true || writing.isOther ? "built" : hasChanged ? "refreshed" : "hit",
      ...repoMembers(options),
      files_tracked: counts.text,
      files_changed: budget.chunked,
      files_removed: removed,
      chunks_added: upserted,
      chunks_deleted: deleted,
      files_skipped: { ...skipped, binary, secret: skipped.secret + secret },
      files_source: tree.source,
      ...(truncated ? { truncated: true as const, ...shownPartial(writing.journal.partial()) } : {}),
      ...shownSettings(settings),
    };
  }

  /** Looks at the files and compares them with what is known of them. */
  private async find(tree: RepoTree): Promise<Found> {
    const { options, writing, budget } = this;
    const { below = "" } = this.workspace;
    const after = budget.isLimited ? writing.reachedBefore : undefined;
    options.onWork?.(budget.work("looking"));
    const isComplete = await tree.look({ below, after, msMax: budget.msLeft * LOOK_SHARE, signal: options.signal });
    const most = Math.min(writing.writer.settings.maxFileBytes || REPO_FILE_BYTES_MAX, REPO_FILE_BYTES_MAX);
    const skipped = { binary: 0, too_large: 0, ...tree.leftIn(below) };
    const changed: FoundFile[] = [];
    for (const [path, file] of tree.files) {
      // What lies in a folder that cannot be read now stays as it is, and is counted with it.
      if (!isIn(below, path) || tree.isUnreadable(path)) continue;
      if (file.size > most) skipped.too_large++;
      else if (!writing.isUnchanged(path, file.mark)) changed.push({ path, mark: file.mark, size: file.size });
    }
    changed.sort((a, b) => (a.path < b.path ? -1 : 1));
    const from = Math.max(
      0,
      changed.findIndex(({ path }) => path > (after ?? "")),
    );
    const has = (path: string) => (tree.files.get(path)?.size ?? Number.POSITIVE_INFINITY) <= most;
    return { changed: [...changed.slice(from), ...changed.slice(0, from)], has, isComplete, skipped };
  }
}
