/** Classifies paths below a root: a file to read, a directory to enter, or an entry to skip and count. */
import { lstatSync, readdirSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, resolve, sep } from "node:path";
import { REPO_FILE_BYTES_MAX } from "../limits.ts";
import { parentOf } from "./listing.ts";
import { pseudoFileSystem } from "./pseudo.ts";
import { isSecret } from "./secrets.ts";
import { type FileStamp, stampOf } from "./stamp.ts";

/** A regular file of the root. `path` is relative and `/`-separated. */
export interface WalkFile extends FileStamp {
  path: string;
}

/** Files skipped, by reason. The reader counts those recognised only by reading (`binary`, and `secret` by content). */
export interface SkipCounts {
  binary: number;
  secret: number;
  too_large: number;
  unreadable: number;
  outside: number;
}

/** The paths below one root, which must be resolved and not `/`. */
export class Entries {
  readonly skipped: SkipCounts = { binary: 0, secret: 0, too_large: 0, unreadable: 0, outside: 0 };
  /** The paths of those that have one, with the reason. */
  readonly left = new Map<string, keyof SkipCounts>();
  /** Files and directories that could not be read: entries below them are unknown, not gone. */
  readonly unreadable: string[] = [];

  private readonly bytesMax: number;
  private readonly excluded: Set<string>;
  /** Device of each directory; null where it must not be entered. */
  private readonly devices = new Map<string, number | null>();

  /**
   * @param maxFileBytes 0: {@link REPO_FILE_BYTES_MAX}
   * @param exclude absolute directories to skip without counting, such as our own memory directory below the root
   */
  constructor(
    private readonly root: string,
    maxFileBytes = 0,
    exclude: readonly string[] = [],
  ) {
    this.bytesMax = Math.min(maxFileBytes || REPO_FILE_BYTES_MAX, REPO_FILE_BYTES_MAX);
    const inner = exclude.map((path) => this.relative(resolved(path)));
    this.excluded = new Set(inner.filter((path) => path !== undefined && path !== "") as string[]);
    this.devices.set("", lstatSync(root, { throwIfNoEntry: false })?.dev ?? null);
  }

  /** Classifies one path: returns a file to read or "directory", counts anything else as skipped. */
  judge(path: string): WalkFile | "directory" | undefined {
    const full = this.fullPath(path);
    let stat: ReturnType<typeof bigStat>;
    try {
      stat = bigStat(full);
    } catch {
      this.cannotRead(path);
      return undefined;
    }
    if (stat === undefined) return undefined; // Deleted, though git still tracks it.
    if (stat.isDirectory()) return "directory";
    if (isSecret(path)) this.leave(path, "secret");
    else if (stat.isSymbolicLink()) {
      // A link inside the root is a second name of a file that is listed itself.
      if (this.leadsOutside(full)) this.leave(path, "outside");
    } else if (!stat.isFile()) this.leave(path, "unreadable");
    else if (stat.size > this.bytesMax) this.leave(path, "too_large");
    else return { path, ...stampOf(stat) };
    return undefined;
  }

  /**
   * Names in a directory and whether they are directories. Names that are not UTF-8 cannot be in an id: skipped,
   * counted.
   */
  list(directory: string): Map<string, boolean> | undefined {
    const full = this.fullPath(directory);
    try {
      const entries = readdirSync(full, { withFileTypes: true });
      const named = new Map(entries.map((entry) => [entry.name, entry.isDirectory()]));
      if (entries.some((entry) => entry.name.includes("\uFFFD"))) this.dropUndecodable(full, named);
      return named;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.cannotRead(directory);
      return undefined;
    }
  }

  /**
   * Whether a path is a directory of files: not a link (git still lists `dir/file` after a link has replaced `dir`, and
   * `lstat` of the file would follow it), and not below the mount of a pseudo file system.
   */
  isEnterable(directory: string): boolean {
    return this.deviceOf(directory) !== null;
  }

  isExcluded(path: string): boolean {
    if (path.startsWith(".svc/") || path.includes("/.svc/")) return true;
    if (this.excluded.size === 0) return false;
    for (let at = path; at !== ""; at = parentOf(at)) if (this.excluded.has(at)) return true;
    return false;
  }

  cannotRead(path: string): void {
    this.leave(path, "unreadable");
    this.unreadable.push(path);
  }

  private leave(path: string, reason: keyof SkipCounts): void {
    this.skipped[reason]++;
    this.left.set(path, reason);
  }

  private deviceOf(directory: string): number | null {
    const known = this.devices.get(directory);
    if (known !== undefined) return known;
    const around = this.deviceOf(parentOf(directory));
    let device = around;
    try {
      if (around !== null) {
        const full = this.fullPath(directory);
        const stat = lstatSync(full, { throwIfNoEntry: false });
        device = stat?.isDirectory() ? stat.dev : null;
        // Only a mount point has another device than its parent: others need no statfs.
        if (device !== around && device !== null && pseudoFileSystem(full)) device = null;
      }
    } catch {
      // No permission: entries below it will fail by themselves.
    }
    this.devices.set(directory, device);
    return device;
  }

  /** U+FFFD may replace invalid UTF-8, or be itself in the name: the bytes decide. */
  private dropUndecodable(full: string, named: Map<string, unknown>): void {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const valid = new Set<string>();
    for (const bytes of readdirSync(full, { encoding: "buffer" })) {
      try {
        valid.add(decoder.decode(bytes));
      } catch {
        this.skipped.unreadable++;
      }
    }
    for (const name of named.keys()) if (!valid.has(name)) named.delete(name);
  }

  private leadsOutside(link: string): boolean {
    try {
      return this.relative(realpathSync.native(link)) === undefined;
    } catch {
      // Dangling or a cycle: by the link's own text.
      try {
        return this.relative(resolve(dirname(link), readlinkSync(link))) === undefined;
      } catch {
        return false;
      }
    }
  }

  /** Not `path.join`, which normalises and costs a third of an `lstat`. */
  private fullPath(path: string): string {
    return path === "" ? this.root : `${this.root}/${path}`;
  }

  /** An absolute path relative to the root, undefined outside of it. */
  private relative(path: string): string | undefined {
    if (path === this.root) return "";
    return path.startsWith(this.root + sep) ? path.slice(this.root.length + 1) : undefined;
  }
}

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
