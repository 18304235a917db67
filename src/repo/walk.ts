/**
 * Which files of a root are worth reading. Git answers where the root lies in a checkout, otherwise a walk that honours
 * `.gitignore` files. Nothing is opened here: a walk costs one `lstat` a file, so that asking "has anything changed?"
 * before every search is cheap. What is left out is counted by reason, so that nobody wonders where a file went.
 *
 * Paths come in the order of their strings (a directory stands where `name/` would), so that "how far did it get" is one
 * path: a walk that was cut short goes on behind it the next time.
 */
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { Breather } from "./breather.ts";
import type { Budget } from "./budget.ts";
import { Entries, type SkipCounts, type WalkFile } from "./entries.ts";
import { gitFiles } from "./git.ts";
import { IgnoreRules, NEVER_ENTERED } from "./ignore.ts";
import { Listing, parentOf } from "./listing.ts";
import { readRepoFile } from "./read.ts";
import { workTreeOf } from "./workspace.ts";

export interface WalkOptions {
  /** 0: `REPO_FILE_BYTES_MAX`. */
  maxFileBytes?: number;
  /** Absolute directories to leave out without counting, such as our own memory directory below the root. */
  exclude?: string[];
  signal?: AbortSignal;
  /** Bounds the time that git may take to list the files. */
  budget: Budget;
  /** How far an earlier walk got: this one begins behind it, and what stands before comes last. */
  after?: string;
}

/** One walk over a root, which must be resolved (no links in it). It is taken in stretches. */
export class Walk {
  /** Who said which files belong here. */
  source: "git" | "walk" = "git";
  /** Every path was looked at. */
  ended = false;

  private readonly entries: Entries;
  private readonly breather: Breather;
  /** From the root down to the directory under way. */
  private readonly listings: Listing[] = [];
  private outermost: Listing | undefined;
  /** The last path that was looked at. */
  private at = "";
  /** The place where the walk began, as long as it has not come to the last path. */
  private after: string | undefined;
  /** The same from then on: the place where it ends. */
  private turn: string | undefined;
  /** Git had no time to say which files belong here, so that a file that the walk did not come upon may do so. */
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
    const listed = await walk.listedByGit("");
    // Git says nothing about a folder that it ignores as a whole, but a caller that names exactly that folder means it.
    if (listed && (listed.path !== undefined || walk.skipped.unreadable > 0)) walk.enter(listed);
    else {
      walk.source = "walk";
      walk.enterDirectory("", IgnoreRules.usual());
    }
    walk.outermost = walk.listings[0];
    walk.turnOrEnd();
    return walk;
  }

  get skipped(): SkipCounts {
    return this.entries.skipped;
  }

  /** Everything that belongs here was looked at. */
  get isComplete(): boolean {
    return this.ended && !this.isGuess;
  }

  /** How far it got, for {@link WalkOptions.after}. */
  get reached(): string {
    return this.at;
  }

  /**
   * Goes on until there is nothing more.
   * @param take is handed each file; true ends this stretch
   * @param isSpent asked before each path; true ends this stretch
   */
  async advance(take: (file: WalkFile) => boolean, isSpent: () => boolean): Promise<void> {
    while (!this.ended && !isSpent()) {
      if (this.breather.due) await this.breather.pause();
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

  /** Whether a path that was not among the files is known not to be one: its place was passed, and nothing there was hidden. */
  isGone(path: string): boolean {
    if (this.isGuess || !this.hasPassed(path)) return false;
    return !this.entries.unreadable.some((other) => other === "" || path === other || path.startsWith(`${other}/`));
  }

  private hasPassed(path: string): boolean {
    if (this.ended) return true;
    if (this.turn !== undefined) return path > this.turn || path <= this.at;
    return path <= this.at && (this.after === undefined || path > this.after);
  }

  /** Judges a path that its listing does not call a directory. */
  private look(path: string, listing: Listing): WalkFile | undefined {
    const { rules } = listing;
    if (this.entries.isExcluded(path)) return undefined;
    if (rules) {
      if (NEVER_ENTERED.has(nameOf(path)) || rules.ignores(path, false)) return undefined;
    } else if (!this.entries.isEnterable(parentOf(path))) return undefined;
    const found = this.entries.judge(path);
    if (found !== "directory") return found;
    // A submodule, or a file system that does not say what its entries are.
    listing.insert(`${path}/`);
    return undefined;
  }

  /** Enters a directory; git is asked about a submodule in turn. */
  private async descend(path: string, { rules }: Listing): Promise<undefined> {
    if (NEVER_ENTERED.has(nameOf(path)) || this.entries.isExcluded(path)) return;
    // Ignored first, so that what nobody wants is not even looked at. The question needs the kind: `!bar/` is about
    // folders.
    if (rules?.ignores(path, true) || !this.entries.isEnterable(path)) return;
    if (rules) {
      // Git would not look into another project's checkout either, such as an agent's work tree.
      if (!(this.isGuess && this.hasGit(path))) this.enterDirectory(path, rules);
      return;
    }
    // One that was never checked out is an empty folder, where git would answer for the repository around it.
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

  /** What git lists below a directory, in order; undefined where it has no answer. */
  private async listedByGit(directory: string): Promise<Listing | undefined> {
    this.breather.check();
    const { budget, signal } = this.options;
    const full = join(this.root, directory);
    // Git would find the same, a process later.
    if (workTreeOf(full) === undefined) return undefined;
    const listed = await gitFiles(full, budget.msLeft, signal);
    this.breather.check();
    if (listed === "late") this.isGuess = true;
    if (listed === undefined || listed === "late") return undefined;
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    // A path with an unresolved merge is listed once for each side.
    const paths = new Set<string>();
    for (const bytes of listed) {
      if (this.breather.due) await this.breather.pause();
      try {
        const path = prefixed(directory, decoder.decode(bytes));
        // `nested/` is another project's checkout inside this one (an agent's worktree, a clone): git does not look into it,
        // and neither do we, or every file would be found once for each worktree.
        if (!path.endsWith("/")) paths.add(path);
      } catch {
        this.entries.skipped.unreadable++;
      }
    }
    return new Listing([...paths]);
  }

  /** Begins with what the `.gitignore` files leave of a directory. */
  private enterDirectory(directory: string, outer: IgnoreRules): void {
    const names = this.entries.list(directory);
    if (names === undefined) return;
    let rules = outer;
    // `info/exclude` first: the `.gitignore` beside it speaks later and so wins.
    for (const [name, file] of [
      [".git", ".git/info/exclude"],
      [".gitignore", ".gitignore"],
    ] as const) {
      if (!names.has(name)) continue;
      const read = readRepoFile(this.root, prefixed(directory, file), IGNORE_FILE_BYTES_MAX);
      if ("bytes" in read) rules = rules.within(directory, new TextDecoder().decode(read.bytes));
    }
    const paths = [...names].map(([name, isDirectory]) => prefixed(directory, isDirectory ? `${name}/` : name));
    this.enter(new Listing(paths, rules));
  }

  private enter(listing: Listing): void {
    if (this.after !== undefined) listing.skipPast(this.after);
    this.listings.push(listing);
  }

  /** Leaves the listings that are done with. A walk that began in the middle goes on at the first path after the last. */
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

/** No `.gitignore` written by hand comes near; one that does is not read. */
const IGNORE_FILE_BYTES_MAX = 1024 * 1024;

function prefixed(directory: string, name: string): string {
  return directory === "" ? name : `${directory}/${name}`;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
