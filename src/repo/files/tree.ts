/**
 * The files of one root, kept from one look to the next: the native walk reports what differs from what it saw before,
 * and only that is judged. A look that finds no change costs one `fstatat` a file.
 */
import { join } from "node:path";
import { getSystemErrorName } from "node:util";
import { NativeError } from "../../../ffi/status.ts";
import type { Environment } from "../../../ffi/ty_runtime.ts";
import {
  EntryType,
  type NativeTree,
  type TreeEvent,
  TreeEventKind,
  Verdict,
  type VerdictCode,
} from "../../../ffi/ty_tree.ts";
import { Breather } from "../../breather.ts";
import { shown } from "../../checks/kinds.ts";
import { OSError } from "../../errors.ts";
import { isSecret } from "../../secrets/names.ts";
import { CANCELLED } from "./deadline.ts";
import { Membership, RULE_FILES } from "./membership.ts";
import { leadsOutside } from "./outside.ts";
import { pseudoFileSystem } from "./pseudo.ts";
import { type FileRead, readFile } from "./read.ts";
import { isIn, isInAny, isPath, parentOf } from "./relative.ts";
import { type FileStamp, settledMark, stampOf } from "./stamp.ts";
import { WalkProgress } from "./walk-progress.ts";

/**
 * Where the list of a repository's files comes from: git's own index file, git itself, or the folder and its ignore
 * files.
 */
export type FilesSource = "git index" | "git" | "folder";

/** Why an entry that belongs to the root is not among its files. */
export type LeftOut = "secret" | "unreadable" | "outside";

export interface LookOptions {
  /** The folder to look at, relative to the root; absent: all of it. */
  below?: string | undefined;
  /** Folders after this path come first. */
  after?: string | undefined;
  /** Milliseconds that the look may take; at least one folder is looked at. Infinity: no limit. */
  msMax: number;
  signal?: AbortSignal | undefined;
}

/** A walk of more entries runs on a worker: some 10 ms. */
const INLINE_ENTRIES = 5_000;

/** A rule that changes while a look is under way begins it again, at most so many times. */
const AGAIN_MAX = 3;

/** What belongs to a root. One look at a time. */
export class RepoTree {
  /** Regular files by path relative to the root, of any size, as they were last seen. */
  readonly files = new Map<string, FileStamp>();
  /** Other entries that belong to it, and why they are none of its files. */
  readonly left = new Map<string, LeftOut>();
  /** What does not belong to it, without what lies below. An entry that is removed may stay. */
  readonly ignored = new Map<string, "file" | "folder">();

  private native: NativeTree;
  private readonly rules: Membership;
  /** Folders and files that could not be read when they were last visited. */
  private readonly unreadable = new Set<string>();
  /** Files of rules that may have changed again and kept their mark. */
  private readonly racyRules = new Set<string>();
  /** Folders to judge again, with all below them. */
  private readonly stale = new Set<string>();
  /** Folders that were visited whole since the tree was begun; "": the root. */
  private readonly whole = new Set<string>();
  /** The folder of a walk that a deadline ended. */
  private underWay: string | undefined;
  /** How far a walk without an end came in this look. */
  private progress: WalkProgress | undefined;
  private undecodable = 0;
  private lastVisited = "";

  /** @param isExcluded whether a path is this program's own state, which is never indexed */
  constructor(
    private readonly env: Environment,
    private readonly root: string,
    private readonly isExcluded: (path: string) => boolean,
  ) {
    this.native = env.openTree(root);
    this.rules = Membership.open(root);
  }

  /** Where the names of tracked files come from. */
  get source(): FilesSource {
    const { source } = this.rules;
    return source === "index" ? "git index" : source;
  }

  /** The last folder that a walk visited whole. */
  get reached(): string {
    return this.lastVisited;
  }

  /** Why git's index was not read, where it was not. */
  get problem(): string | undefined {
    return this.rules.problem;
  }

  /** How many entries of a folder are left out, by reason. */
  leftIn(below: string): Record<LeftOut, number> {
    const counts = { secret: 0, unreadable: this.undecodable, outside: 0 };
    for (const [path, reason] of this.left) if (isIn(below, path)) counts[reason]++;
    for (const path of this.unreadable) if (isIn(below, path)) counts.unreadable++;
    return counts;
  }

  /**
   * Brings `files` up to date.
   * @returns whether everything in the folder was visited; where not, the next look goes on
   * @throws CancelledError; OSError where the folder is gone or cannot be read
   */
  async look(options: LookOptions): Promise<boolean> {
    const { below = "", msMax, signal } = options;
    const breather = new Breather(signal, CANCELLED);
    breather.check();
    const deadline = performance.now() + msMax;
    const after = options.after !== undefined && isPath(options.after) ? options.after : undefined;
    this.progress = undefined;
    this.checkRules(below);
    // A walk that a deadline ended is brought to its end first: a large tree would never be seen whole.
    let isBegin = this.underWay !== below;
    try {
      for (let again = 0; ; again++) {
        const isDone = await this.walk({ ...options, below, after }, isBegin, deadline, breather);
        const isSure = isDone && isBegin && this.stale.size === 0;
        if (isSure) return true;
        this.judgeAgain();
        if (!isDone || again === AGAIN_MAX || performance.now() >= deadline) return false;
        isBegin = true;
      }
    } catch (error) {
      this.underWay = undefined;
      // A walk that was cancelled on its worker fails as any other.
      breather.check();
      throw failureOf(error, join(this.root, below));
    } finally {
      // That would end the walk under way.
      if (this.underWay === undefined) this.native.rest();
    }
  }

  /** Whether a path could not be read when it was last visited, or a folder that it lies in. */
  isUnreadable(path: string): boolean {
    return isInAny(this.unreadable, path);
  }

  /** Whether a path that is not among the files is gone or no longer belongs; false where that is not known. */
  isGone(path: string, isComplete: boolean): boolean {
    if (this.isUnreadable(path)) return false;
    return isComplete || isInAny(this.whole, path) || this.progress?.covers(parentOf(path)) === true;
  }

  /** Reads a file: see {@link readFile}. */
  read(path: string, bytesMax: number): FileRead {
    return readFile(this.native, path, bytesMax);
  }

  close(): void {
    this.native.close();
  }

  /** Looks at what decides about entries and is not seen by a walk. */
  private checkRules(below: string): void {
    const changed = this.rules.refresh();
    if (changed === "all") this.stale.add("");
    else for (const path of changed ?? []) this.stale.add(path);
    for (const path of this.racyRules) this.checkRule(path);
    for (let at = below; at !== ""; ) {
      at = parentOf(at);
      for (const name of RULE_FILES) this.checkRule(at === "" ? name : `${at}/${name}`);
    }
    this.racyRules.clear();
    this.judgeAgain();
  }

  private checkRule(path: string): void {
    const folder = this.rules.hasChanged(path);
    if (folder !== undefined) this.stale.add(folder);
  }

  /** Forgets what was said of stale folders: the next walk reports their entries as new. */
  private judgeAgain(): void {
    const { stale } = this;
    if (stale.size === 0) return;
    const isAll = stale.has("");
    for (const known of [this.files, this.left, this.ignored, this.unreadable, this.racyRules]) {
      for (const path of known.keys()) if (isInAny(stale, path)) known.delete(path);
    }
    this.whole.clear();
    this.underWay = undefined;
    if (isAll) {
      this.native.close();
      this.native = this.env.openTree(this.root);
    } else this.native.tell([...stale].map((path) => ({ path, verdict: Verdict.NONE })));
    stale.clear();
  }

  /** Walks to the end, true, or to the deadline. */
  private async walk(
    { below, after, signal }: LookOptions & { below: string },
    isBegin: boolean,
    deadline: number,
    breather: Breather,
  ): Promise<boolean> {
    if (isBegin) for (const path of this.unreadable) if (isIn(below, path)) this.unreadable.delete(path);
    this.underWay = below;
    for (let begin = isBegin; ; begin = false) {
      const msLeft = deadline - performance.now();
      const deadlineMs = msLeft === Number.POSITIVE_INFINITY ? undefined : Math.max(msLeft, 0.001);
      const request = { begin, below, after, deadlineMs };
      const isLarge = this.files.size > INLINE_ENTRIES;
      const step = isLarge ? await this.native.walkAsync(request, { signal }) : this.native.walk(request);
      const enters = this.take(step.events);
      // What is entered next may lie before the last folder that was visited.
      this.progress = enters ? undefined : new WalkProgress(below, after ?? "", step.reached);
      this.undecodable = step.undecodable;
      this.lastVisited = step.reached;
      if (step.done && !enters) break;
      // The root alone is not progress: the next process would begin with it again.
      if (step.late && !(enters && step.reached === "")) return false;
      if (breather.due) await breather.pause();
    }
    this.underWay = undefined;
    if (this.stale.size === 0) this.whole.add(below);
    return true;
  }

  /** Takes what a walk found and says what is to be watched and entered; whether there is a folder to enter. */
  private take(events: readonly TreeEvent[]): boolean {
    const verdicts = [];
    let enters = false;
    for (const event of events) {
      const { kind, path } = event;
      // Whether the root's own `.git` changed is asked before each walk.
      if (path !== ".git" && kind !== TreeEventKind.UNREADABLE && this.rules.isRuleFile(path)) this.takeRule(event);
      if (kind === TreeEventKind.UNREADABLE) this.unreadable.add(path);
      else if (kind === TreeEventKind.CHANGED) this.takeChanged(event);
      else {
        this.files.delete(path);
        this.left.delete(path);
        this.ignored.delete(path);
        if (kind === TreeEventKind.GONE) continue;
        const verdict = this.judge(event);
        verdicts.push({ path, verdict });
        enters ||= verdict === Verdict.ENTER;
      }
    }
    this.native.tell(verdicts);
    return enters;
  }

  private takeRule(event: TreeEvent): void {
    const { kind, path } = event;
    this.checkRule(path);
    if (kind !== TreeEventKind.GONE && settledMark(event, Date.now()) === 0) this.racyRules.add(path);
  }

  private takeChanged(event: TreeEvent): void {
    const { path, type } = event;
    if (this.files.has(path)) this.files.set(path, stampOf(event));
    else if (type === EntryType.LINK && !this.ignored.has(path) && this.left.get(path) !== "secret")
      this.takeLink(path);
  }

  private takeLink(path: string): void {
    if (leadsOutside(this.root, path)) this.left.set(path, "outside");
    else this.left.delete(path);
  }

  /** What is to be done with an entry that is new, or of another type than it was. */
  private judge(event: TreeEvent): VerdictCode {
    const { path, type } = event;
    const isDirectory = type === EntryType.DIRECTORY;
    if (this.isExcluded(path)) return Verdict.SKIP;
    const belongs = this.rules.judge(path, isDirectory);
    if (belongs !== "in") {
      if (belongs !== "internal") this.ignored.set(path, isDirectory ? "folder" : "file");
      return this.rules.isRuleFile(path) ? Verdict.WATCH : Verdict.SKIP;
    }
    if (isDirectory) {
      // Only a mount point has another device than its parent: others need no statfs.
      return event.deviceChanged && pseudoFileSystem(join(this.root, path)) ? Verdict.SKIP : Verdict.ENTER;
    }
    if (isSecret(path)) this.left.set(path, "secret");
    else if (type === EntryType.LINK) this.takeLink(path);
    else if (type === EntryType.FILE) this.files.set(path, stampOf(event));
    else this.left.set(path, "unreadable");
    return Verdict.WATCH;
  }
}

/** What the caller sees of a walk's failure. */
function failureOf(error: unknown, folder: string): unknown {
  if (!(error instanceof NativeError)) return error;
  const why = error.errno > 0 ? getSystemErrorName(-error.errno) : error.message;
  return new OSError(
    `the folder ${shown(folder)} cannot be read (${why}): check that it is there, and its permissions`,
  );
}
