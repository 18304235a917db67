/**
 * Which files of a root are worth reading. Git answers where the root lies in a checkout, otherwise a walk that honours
 * `.gitignore` files. Nothing is opened here: a walk costs one `lstat` a file, so that asking "has anything changed?"
 * before every search is cheap. What is left out is counted by reason, so that nobody wonders where a file went.
 */
import { lstatSync, readdirSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { REPO_FILE_BYTES_MAX } from "../limits.ts";
import { Breather } from "./breather.ts";
import { gitFiles } from "./git.ts";
import { IgnoreRules, NEVER_ENTERED } from "./ignore.ts";
import { type FileStamp, readRepoFile } from "./read.ts";
import { isSecret } from "./secrets.ts";

/** A regular file of the root. `path` is relative and `/`-separated. */
export interface WalkFile extends FileStamp {
  path: string;
}

/** Files left out, by reason. A file that cannot be judged without reading it (`binary`) is counted by the reader. */
export interface SkipCounts {
  binary: number;
  secret: number;
  too_large: number;
  unreadable: number;
  outside: number;
}

export interface WalkResult {
  /** Sorted by path. */
  files: WalkFile[];
  skipped: SkipCounts;
  /** Files and directories the system would not show: what was known below them is unknown now, not gone. */
  unreadable: string[];
  source: "git" | "walk";
}

export interface WalkOptions {
  /** 0: {@link REPO_FILE_BYTES_MAX}. */
  maxFileBytes?: number;
  /** Absolute directories to leave out without counting, such as our own memory directory below the root. */
  exclude?: string[];
  signal?: AbortSignal;
}

/** Lists the files of `root`, which must be resolved (no links in it). */
export async function walkRepo(root: string, options: WalkOptions = {}): Promise<WalkResult> {
  const walk = new Walk(root, options);
  const listed = await walk.addFromGit("");
  // Git says nothing about a folder that it ignores as a whole, but whoever asks for exactly that folder means it.
  const source = listed && walk.sawAnything ? "git" : "walk";
  if (source === "walk") await walk.addDirectory("", IgnoreRules.usual());
  walk.files.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  return { files: walk.files, skipped: walk.skipped, unreadable: walk.unreadable, source };
}

class Walk {
  readonly files: WalkFile[] = [];
  readonly skipped: SkipCounts = { binary: 0, secret: 0, too_large: 0, unreadable: 0, outside: 0 };
  readonly unreadable: string[] = [];
  sawAnything = false;

  private readonly bytesMax: number;
  private readonly excluded: Set<string>;
  private readonly signal: AbortSignal | undefined;
  private readonly breather: Breather;
  private readonly realDirectories = new Map<string, boolean>([["", true]]);
  private readonly seen = new Set<string>();

  constructor(
    private readonly root: string,
    options: WalkOptions,
  ) {
    this.bytesMax = Math.min(options.maxFileBytes || REPO_FILE_BYTES_MAX, REPO_FILE_BYTES_MAX);
    const inner = (options.exclude ?? []).map((path) => this.relative(resolved(path)));
    this.excluded = new Set(inner.filter((path) => path !== undefined && path !== "") as string[]);
    this.signal = options.signal;
    this.breather = new Breather(options.signal);
  }

  /** Adds what git lists below `directory`; false where git has no answer. Submodules are asked in turn. */
  async addFromGit(directory: string): Promise<boolean> {
    this.breather.check();
    const listed = await gitFiles(join(this.root, directory), this.signal);
    this.breather.check();
    if (listed === undefined) return false;
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const submodules: string[] = [];
    for (const bytes of listed) {
      if (this.breather.due) await this.breather.pause();
      let path: string;
      try {
        path = prefixed(directory, decoder.decode(bytes));
      } catch {
        this.sawAnything = true;
        this.skipped.unreadable++;
        continue;
      }
      // `nested/` is another project's checkout inside this one (an agent's worktree, a clone): git does not look into it,
      // and neither do we, or every file would be found once for each worktree.
      if (path.endsWith("/")) continue;
      this.sawAnything = true;
      if (this.isExcluded(path) || !this.isRealDirectory(parentOf(path))) continue;
      // A path with an unresolved merge is listed once for each side.
      if (this.seen.has(path)) continue;
      this.seen.add(path);
      if (this.addEntry(path) === "directory") submodules.push(path);
    }
    for (const path of submodules) {
      // One that was never checked out is an empty folder, where git would answer for the repository around it.
      if (!lstatSync(join(this.root, path, ".git"), { throwIfNoEntry: false })) continue;
      if (!(await this.addFromGit(path))) this.cannotRead(path);
    }
    return true;
  }

  /** Adds what the `.gitignore` files leave below `directory`. */
  async addDirectory(directory: string, outer: IgnoreRules): Promise<void> {
    if (this.breather.due) await this.breather.pause();
    const entries = this.list(directory);
    if (entries === undefined) return;
    let rules = outer;
    // `info/exclude` first: the `.gitignore` beside it speaks later and so wins.
    for (const [name, file] of [
      [".git", ".git/info/exclude"],
      [".gitignore", ".gitignore"],
    ] as const) {
      if (!entries.has(name)) continue;
      const read = readRepoFile(this.root, prefixed(directory, file), IGNORE_FILE_BYTES_MAX);
      if ("bytes" in read) rules = rules.within(directory, new TextDecoder().decode(read.bytes));
    }
    const inner: string[] = [];
    for (const [name, kind] of entries) {
      if (this.breather.due) await this.breather.pause();
      const path = prefixed(directory, name);
      if (NEVER_ENTERED.has(name) || this.isExcluded(path)) continue;
      // Ignored first, so that what nobody wants is not even looked at. The question needs the kind: `!bar/` is about
      // folders.
      if (rules.ignores(path, kind === "directory")) continue;
      if (kind === "directory" || (this.addEntry(path) === "directory" && !rules.ignores(path, true))) inner.push(path);
    }
    for (const path of inner) await this.addDirectory(path, rules);
  }

  /** Judges one path: a file worth reading is added, anything else counted. Directories are the caller's business. */
  private addEntry(path: string): "directory" | undefined {
    const full = join(this.root, path);
    let stat: ReturnType<typeof bigStat>;
    try {
      stat = bigStat(full);
    } catch {
      this.cannotRead(path);
      return undefined;
    }
    if (stat === undefined) return undefined; // Deleted, though git still tracks it.
    if (stat.isDirectory()) return "directory";
    if (isSecret(path)) this.skipped.secret++;
    else if (stat.isSymbolicLink()) {
      // A link inside the root is a second name of a file that is listed by its first.
      if (this.leadsOutside(full)) this.skipped.outside++;
    } else if (!stat.isFile()) this.skipped.unreadable++;
    else if (stat.size > this.bytesMax) this.skipped.too_large++;
    else {
      this.files.push({ path, size: Number(stat.size), mtimeNs: stat.mtimeNs, ctimeNs: stat.ctimeNs, ino: stat.ino });
    }
    return undefined;
  }

  /** Names in a directory and what they are. Names that are not UTF-8 cannot be part of an id: counted and dropped. */
  private list(directory: string): Map<string, "directory" | "other"> | undefined {
    const full = join(this.root, directory);
    try {
      const entries = readdirSync(full, { withFileTypes: true });
      const named = new Map(entries.map((entry) => [entry.name, entry.isDirectory() ? "directory" : "other"] as const));
      if (entries.some((entry) => entry.name.includes("\uFFFD"))) this.dropUndecodable(full, named);
      return named;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.cannotRead(directory);
      return undefined;
    }
  }

  /** U+FFFD may stand for bytes that are not UTF-8, or for itself: the bytes decide. */
  private dropUndecodable(full: string, named: Map<string, unknown>): void {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const honest = new Set<string>();
    for (const bytes of readdirSync(full, { encoding: "buffer" })) {
      try {
        honest.add(decoder.decode(bytes));
      } catch {
        this.skipped.unreadable++;
      }
    }
    for (const name of named.keys()) if (!honest.has(name)) named.delete(name);
  }

  private cannotRead(path: string): void {
    this.skipped.unreadable++;
    this.unreadable.push(path);
  }

  private leadsOutside(link: string): boolean {
    try {
      return this.relative(realpathSync.native(link)) === undefined;
    } catch {
      // Dangling or a circle: judged by what it says.
      try {
        return this.relative(resolve(dirname(link), readlinkSync(link))) === undefined;
      } catch {
        return false;
      }
    }
  }

  /** An absolute path relative to the root, undefined outside of it. */
  private relative(path: string): string | undefined {
    if (path === this.root) return "";
    const start = this.root.endsWith(sep) ? this.root : this.root + sep;
    return path.startsWith(start) ? path.slice(start.length) : undefined;
  }

  private isExcluded(path: string): boolean {
    if (path.startsWith(".svc/") || path.includes("/.svc/")) return true;
    if (this.excluded.size === 0) return false;
    for (let at = path; at !== ""; at = parentOf(at)) if (this.excluded.has(at)) return true;
    return false;
  }

  /** Git goes on listing `dir/file` after `dir` was replaced by a link, and `lstat` would follow that link. */
  private isRealDirectory(path: string): boolean {
    const known = this.realDirectories.get(path);
    if (known !== undefined) return known;
    let real = this.isRealDirectory(parentOf(path));
    try {
      if (real) real = lstatSync(join(this.root, path), { throwIfNoEntry: false })?.isDirectory() ?? false;
    } catch {
      // No permission to look: the file below it will say so itself.
    }
    this.realDirectories.set(path, real);
    return real;
  }
}

/** No `.gitignore` written by hand comes near; one that does is not read. */
const IGNORE_FILE_BYTES_MAX = 1024 * 1024;

function resolved(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return resolve(path);
  }
}

function bigStat(path: string) {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false });
}

function prefixed(directory: string, name: string): string {
  return directory === "" ? name : `${directory}/${name}`;
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
