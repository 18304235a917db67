/**
 * Finds the files of a root to index: by git's listing in a checkout, otherwise by a walk that honours `.gitignore`
 * files. No source file is opened: a walk costs one `lstat` a file, cheap enough before every search. Skipped files are
 * counted by reason.
 *
 * Paths come in string order (a directory sorts as `name/`), so that one path records the progress: a walk that was cut
 * short continues after it the next time.
 */
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { Breather } from "./breather.ts";
import type { Budget } from "./budget.ts";
import { Entries, type SkipCounts, type WalkFile } from "./entries.ts";
import { gitFiles } from "./git.ts";
import { IgnoreRules, NEVER_ENTERED } from "./ignore.ts";
import { Listing, parentOf } from "./listing.ts";
import { prefixed, rulesFor, rulesIn } from "./rules.ts";
import { workTreeOf } from "./worktree.ts";

export interface WalkOptions {
  /** The directory to walk, relative to the root; absent: all of it. */
  below?: string;
  /** 0: `REPO_FILE_BYTES_MAX`. */
  maxFileBytes?: number;
  /** Absolute directories to skip without counting, such as our own memory directory below the root. */
  exclude?: string[];
  signal?: AbortSignal;
  /** Bounds the time that git may take to list the files. */
  budget: Budget;
  /** The last path of an earlier walk: this one begins after it and wraps around. */
  after?: string;
}

/** Paths that are looked at before it is asked whether to yield. */
const PATHS_BETWEEN = 16;

/** One walk over a root, which must be resolved (no links in it), in one or more calls of `advance`. */
export class Walk {
  /** The source of the root's listing. */
  source: "git" | "walk" = "git";
  /** Every path was visited. */
  ended = false;

  /** What ignore rules leave out, as far as it was met: git does not say what it ignores. Folders end in a slash. */
  readonly ignored: string[] = [];

  private readonly entries: Entries;
  private readonly breather: Breather;
  /** From the root down to the current directory. */
  private readonly listings: Listing[] = [];
  private outermost: Listing | undefined;
  /** The last path visited. */
  private at = "";
  /** The path after which the walk began, until it wraps around. */
  private after: string | undefined;
  /** The same path once it has wrapped around: the walk ends there. */
  private turn: string | undefined;
  /** Git had no time to list the files, so a file that the walk did not find may still belong to the root. */
  private isGuess = false;

  private constructor(
    private readonly root: string,
    private readonly options: WalkOptions,
  ) {
    this.entries = new Entries(root, options.maxFileBytes, options.exclude);
    this.breather = new Breather(options.signal);
    this.after = options.after;
  }

  static async begin(root: string, options: WalkOptions): Promise<Walk> {
    const walk = new Walk(root, options);
    const below = options.below ?? "";
    const listed = await walk.listedByGit(below);
    // Git lists nothing in a folder that it ignores as a whole; a caller that names that folder wants it indexed. Such
    // a folder is a root of its own: nothing below a root means that nothing is there.
    if (listed && (below !== "" || listed.path !== undefined || walk.skipped.unreadable > 0)) walk.enter(listed);
    else {
      walk.source = "walk";
      walk.enterDirectory(below, rulesFor(root, below).rules);
    }
    walk.outermost = walk.listings[0];
    walk.turnOrEnd();
    return walk;
  }

  /** Paths that were skipped, with the reason. */
  get left(): ReadonlyMap<string, keyof SkipCounts> {
    return this.entries.left;
  }

  get skipped(): SkipCounts {
    return this.entries.skipped;
  }

  /** Every file was visited that lies in what is walked: the root, or the directory below it. */
  get isComplete(): boolean {
    return this.ended && !this.isGuess;
  }

  /** The last path visited, for {@link WalkOptions.after}. */
  get reached(): string {
    return this.at;
  }

  /**
   * Walks on, to the end or until a callback returns true.
   * @param take called with each file
   * @param isSpent called before each path
   */
  async advance(take: (file: WalkFile) => boolean, isSpent: () => boolean): Promise<void> {
    for (let count = 0; !this.ended && !isSpent(); count++) {
      // A path costs some 10 us, to ask for the time a twentieth of it.
      if (count % PATHS_BETWEEN === 0 && this.breather.due) await this.breather.pause();
      const listing = this.listings.at(-1)!;
      const path = listing.path!;
      listing.step();
      this.at = path;
      const file = path.endsWith("/") ? await this.descend(path.slice(0, -1), listing) : this.look(path, listing);
      const isEnough = file !== undefined && take(file);
      this.turnOrEnd();
      if (isEnough) return;
    }
  }

  /**
   * Whether a path that the walk did not find is gone: it lies in what is walked, its position was passed, and no
   * directory above it was unreadable.
   */
  isGone(path: string): boolean {
    if (this.isGuess || !isIn(this.options.below ?? "", path) || !this.hasPassed(path)) return false;
    return !this.entries.unreadable.some((other) => other === "" || path === other || path.startsWith(`${other}/`));
  }

  private hasPassed(path: string): boolean {
    if (this.ended) return true;
    if (this.turn !== undefined) return path > this.turn || path <= this.at;
    return path <= this.at && (this.after === undefined || path > this.after);
  }

  /** Classifies a path that is not listed as a directory. */
  private look(path: string, listing: Listing): WalkFile | undefined {
    const { rules } = listing;
    if (this.entries.isExcluded(path)) return undefined;
    if (rules) {
      if (NEVER_ENTERED.has(nameOf(path))) return undefined;
      if (rules.ignores(path, false)) {
        this.ignored.push(path);
        return undefined;
      }
    } else if (!this.entries.isEnterable(parentOf(path))) return undefined;
    const found = this.entries.judge(path);
    if (found !== "directory") return found;
    // A submodule, or a file system that does not report its entries' types.
    listing.insert(`${path}/`);
    return undefined;
  }

  /** Enters a directory; git lists a submodule's files. */
  private async descend(path: string, { rules }: Listing): Promise<undefined> {
    if (NEVER_ENTERED.has(nameOf(path)) || this.entries.isExcluded(path)) return;
    // Rules first, so that ignored directories cost no lstat. They need the kind: `!bar/` matches directories only.
    if (rules?.ignores(path, true)) {
      this.ignored.push(`${path}/`);
      return;
    }
    if (!this.entries.isEnterable(path)) return;
    if (rules) {
      // Git would not enter another project's checkout either, such as an agent's work tree.
      if (!(this.isGuess && this.hasGit(path))) this.enterDirectory(path, rules);
      return;
    }
    // A submodule that was never checked out is an empty folder, where git would list the repository around it.
    if (!this.hasGit(path)) return;
    const listed = await this.listedByGit(path);
    if (listed) this.enter(listed);
    else if (this.isGuess) this.enterDirectory(path, IgnoreRules.usual());
    else this.entries.cannotRead(path);
  }

  private hasGit(directory: string): boolean {
    try {
      return lstatSync(join(this.root, directory, ".git"), { throwIfNoEntry: false }) !== undefined;
    } catch {
      return false;
    }
  }

  /** Git's listing below a directory, in order; undefined where it fails. */
  private async listedByGit(directory: string): Promise<Listing | undefined> {
    this.breather.check();
    const { budget, signal } = this.options;
    const full = join(this.root, directory);
    // Without a work tree git would fail: no process is needed.
    if (workTreeOf(full) === undefined) return undefined;
    const listed = await gitFiles(full, budget.msLeft, signal);
    this.breather.check();
    if (listed === "late") this.isGuess = true;
    if (listed === undefined || listed === "late") return undefined;
    this.entries.skipped.unreadable += listed.undecodable;
    // `nested/` is another project's checkout inside this one (an agent's worktree, a clone): skipped as git does, or
    // every file would be found once for each worktree. A path with an unresolved merge is listed once for each side,
    // one behind the other.
    const files = listed.paths.filter((path, i) => !path.endsWith("/") && path !== listed.paths[i - 1]);
    return new Listing(directory === "" ? files : files.map((path) => prefixed(directory, path)));
  }

  /** Enters a directory with the rules of its `.gitignore` files. */
  private enterDirectory(directory: string, outer: IgnoreRules): void {
    const names = this.entries.list(directory);
    if (names === undefined) return;
    const rules = rulesIn(this.root, directory, outer, (name) => names.has(name));
    const paths = [...names].map(([name, isDirectory]) => prefixed(directory, isDirectory ? `${name}/` : name));
    this.enter(new Listing(paths, rules));
  }

  private enter(listing: Listing): void {
    if (this.after !== undefined) listing.skipPast(this.after);
    this.listings.push(listing);
  }

  /** Leaves finished listings. A walk that began in the middle wraps around to the first path. */
  private turnOrEnd(): void {
    for (;;) {
      const listing = this.listings.at(-1);
      if (listing?.path !== undefined) {
        this.ended = this.turn !== undefined && listing.path > this.turn;
        return;
      }
      if (listing) this.listings.pop();
      else if (this.after === undefined || this.outermost === undefined) {
        this.ended = true;
        return;
      } else {
        this.turn = this.after;
        this.after = undefined;
        this.at = "";
        this.outermost.rewind();
        this.listings.push(this.outermost);
      }
    }
  }
}

/** Whether a path lies in a directory of the root; `""` is the root itself. */
export function isIn(directory: string, path: string): boolean {
  return directory === "" || path.startsWith(`${directory}/`);
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
