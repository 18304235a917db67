/**
 * Which repository of git a work tree belongs to, and whether a linked one is gone. Read from git's files,
 * without a process. They are untrusted: a `.git` may be a file that names any folder, so a link counts only where both
 * ends name each other, as `git worktree add` makes them.
 */
import { lstatSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { readCapped } from "../../durable.ts";

/** The repository of a work tree. */
export interface GitWorkTree {
  /** Git's common folder, resolved: work trees of one repository have the same. */
  common: string;
  /** In a linked work tree: the name of its folder in `worktrees` of the common one. */
  linked?: string;
}

/** A path and a few words; larger files are not git's. */
const LINK_BYTES_MAX = 8 * 1024;

/** The repository of a resolved work tree; undefined where there is none, or where its files do not agree. */
export function gitWorkTreeOf(root: string): GitWorkTree | undefined {
  try {
    const marker = join(root, ".git");
    const stat = lstatSync(marker, { throwIfNoEntry: false });
    if (stat?.isDirectory()) return isThere(join(marker, "HEAD")) ? { common: marker } : undefined;
    if (!stat?.isFile()) return undefined;
    const named = readLine(marker);
    if (!named?.startsWith("gitdir: ")) return undefined;
    const admin = realpathSync.native(resolve(root, named.slice("gitdir: ".length)));
    const common = dirname(dirname(admin));
    if (basename(dirname(admin)) !== "worktrees" || !isThere(join(common, "HEAD"))) return undefined;
    const [shared, back] = [readLine(join(admin, "commondir")), readLine(join(admin, "gitdir"))];
    if (shared === undefined || realpathSync.native(resolve(admin, shared)) !== common) return undefined;
    if (back === undefined || realpathSync.native(resolve(admin, back)) !== marker) return undefined;
    return { common, linked: basename(admin) };
  } catch {
    // Missing, no permission, a link or too large: no work tree that git made.
    return undefined;
  }
}

/** Another one after git added or removed a linked work tree; `""` where that cannot be read. */
export function linkedStamp({ common }: GitWorkTree): string {
  try {
    return String(lstatSync(join(common, "worktrees"), { bigint: true, throwIfNoEntry: false })?.mtimeNs);
  } catch {
    return "";
  }
}

/** The number of a resolved folder's file system; 0 where it cannot be read. */
export function deviceOf(folder: string): number {
  try {
    return lstatSync(folder, { throwIfNoEntry: false })?.dev ?? 0;
  } catch {
    return 0;
  }
}

/**
 * Whether git no longer has a linked work tree: its root is not there, and git's list lacks it or would prune it. A
 * root that is merely missing is not gone: nor is one that lay on a file system which is not mounted now, or whose
 * repository is missing too.
 * @param device of the root when it was there
 */
export function isGone(root: string, { common, linked }: GitWorkTree, device: number): boolean {
  try {
    if (linked === undefined || linked !== basename(linked) || isThere(root)) return false;
    if (!isThere(join(common, "HEAD"))) return false;
    const admin = join(common, "worktrees", linked);
    const listed = readLine(join(admin, "gitdir"));
    if (listed === undefined) return !isThere(join(admin, "gitdir"));
    const path = resolve(admin, listed);
    if (path !== join(root, ".git") && resolvedAsFar(dirname(path)) !== root) return true;
    // What `git worktree list` calls prunable. A disk that is not mounted looks the same to git, unless it is locked.
    return !isThere(join(admin, "locked")) && deviceOf(existing(root)) === device;
  } catch {
    return false;
  }
}

/** A path with the part of it that exists resolved. */
export function resolvedAsFar(path: string): string {
  const there = existing(resolve(path));
  return join(realpathSync.native(there), resolve(path).slice(there.length));
}

/** The path itself, or the nearest folder above it that exists. */
function existing(path: string): string {
  let at = path;
  while (!isThere(at) && at !== dirname(at)) at = dirname(at);
  return at;
}

/** @throws where that is not known: no permission, a disk that fails */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** The only line of a small file; undefined where there is no such file, or it has more. */
function readLine(path: string): string | undefined {
  const bytes = readCapped(path, LINK_BYTES_MAX, { noFollow: true });
  const line = bytes && new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/\r?\n$/, "");
  return line === undefined || line === "" || /[\n\0]/.test(line) ? undefined : line;
}
