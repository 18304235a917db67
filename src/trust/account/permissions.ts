/**
 * Whether another user could have written these files. Every folder from the root of the file system down to them must
 * belong to this user or to root and be closed to other writers; below SVC_HOME links are refused, above it they are
 * followed.
 *
 * This is sshd's rule for a home folder, with two concessions above SVC_HOME: a sticky folder like /tmp, open to all,
 * protects its entries; and a group with the user's own number is the private group that many systems give every user.
 * An attacker with the same user id is out of scope: that one can replace the executable that checks.
 */
import { lstatSync, readFileSync, readlinkSync, type Stats } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { hasAcl } from "../../../ffi/system/calls.ts";
import { diskError, shellPath } from "../../durable.ts";
import { attempt, PermissionError } from "../../errors.ts";
import { bytecodePath, svcHome } from "../../paths.ts";
import { shellWord } from "../../shell-word.ts";

const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;
/** Links followed on the way to SVC_HOME; Linux has the same limit. */
const LINKS_MAX = 40;

/**
 * Refuses folders and files that other users can write, before anything in them is read or made.
 *
 * @param root, paths as for `permissionFaults`
 * @throws PermissionError with the first fault and its remedy
 */
export function requireClosed(root: string, paths: string[]): void {
  const fault = permissionFaults(root, paths)[0];
  if (fault !== undefined) throw new PermissionError(fault);
}

/**
 * The same of one folder that may lie anywhere, and of all above it.
 *
 * @param name   what it is called in sentences, as in "the data folder"
 * @param choose what to do where it cannot be closed, as in "name a folder of your own with --data"
 */
export function requireClosedFolder(path: string, name: string, choose: string): void {
  const fault = parentFaults(path, { name, choose, shown: shellPath(path, svcHome()) })[0];
  if (fault !== undefined) throw new PermissionError(fault);
}

/** A file or folder that was examined. */
export interface Examined {
  /** "SVC_HOME", for it and all folders above it, or the path from there on. */
  name: string;
  /** One sentence for each fault, with its remedy; empty where all is well. */
  faults: string[];
}

/**
 * Checks the permissions of files under SVC_HOME and of the folders above them.
 *
 * @param root  SVC_HOME
 * @param paths folders and files under it, absolute; the folders between are examined too, and what is not there is not
 * @returns each that is there, SVC_HOME first
 */
export function examine(root: string, paths: string[]): Examined[] {
  const home = resolve(root);
  const words = { name: "SVC_HOME", choose: "set SVC_HOME to a folder of your own", shown: shellPath(home, home) };
  const examined: Examined[] = [{ name: "SVC_HOME", faults: parentFaults(home, words) }];
  const inside = new Set<string>();
  for (const path of paths) {
    for (let at = path; at !== home && at.length > home.length && !inside.has(at); at = dirname(at)) inside.add(at);
  }
  for (const path of [...inside].sort()) {
    const stat = statOf(path);
    if (stat) examined.push({ name: relative(home, path), faults: faultsInside(path, stat, home) });
  }
  return examined;
}

/** The faults of `examine` alone. */
export function permissionFaults(root: string, paths: string[]): string[] {
  return examine(root, paths).flatMap(({ faults }) => faults);
}

function faultsInside(path: string, stat: Stats, home: string): string[] {
  const name = relative(home, path);
  const again = name.startsWith("runtime") ? "svc runtime install" : "svc login";
  if (stat.isSymbolicLink()) return [`${name} is a link: remove it and run '${again}'`];
  if (!stat.isDirectory() && !stat.isFile()) return [`${name} is neither a file nor a folder: remove it`];
  if (!ours(stat)) return [`${name} belongs to another user: remove it and run '${again}'`];
  if (!(stat.mode & OTHERS_WRITE)) return [];
  const shown = shellPath(path, home);
  // Nothing verifies what is in it: were it only closed, bytecode that others have put there would run.
  if (path === bytecodePath(home))
    return [`others can write to ${name}, and what is in it may be theirs: run rm -r ${shown}`];
  return [`others can write to ${name}: run chmod go-w ${shown}`];
}

/** @param words the folder in sentences, and in a shell's command */
function parentFaults(home: string, words: { name: string; choose: string; shown: string }): string[] {
  let links = 0;
  let at = "/";
  const faults: string[] = [];
  const ahead = resolve(home).split("/").filter(Boolean);
  examine(at);
  while (ahead.length > 0) {
    const next = join(at, ahead.shift()!);
    const stat = statOf(next);
    if (!stat) break;
    if (!stat.isSymbolicLink()) {
      at = next;
      examine(at, stat);
      continue;
    }
    if (!ours(stat) && !unmapped(stat)) faults.push(`a link on the way to ${words.name} belongs to another user`);
    if (++links > LINKS_MAX) return [...faults, `too many links on the way to ${words.name}`];
    const target = readlinkSync(next);
    if (target.startsWith("/")) at = "/";
    ahead.unshift(...target.split("/").filter(Boolean));
  }
  return faults;

  function examine(path: string, stat: Stats = lstatSync(path)): void {
    const isHome = ahead.length === 0;
    const shown = isHome ? words.shown : shellWord(path);
    const name = isHome ? words.name : `the folder ${shown} above ${words.name}`;
    if (!ours(stat) && (isHome || !unmapped(stat))) {
      faults.push(`${name} belongs to another user: ${words.choose}`);
    } else if (stat.mode & OTHERS_WRITE && !(stat.mode & STICKY && !isHome) && !privateGroup(path, stat)) {
      const run = `run ${isHome || stat.uid === process.getuid?.() ? "" : "sudo "}chmod go-w ${shown}`;
      const remedy = isHome ? run : `move ${words.name} elsewhere, or ${run}`;
      faults.push(`others can write to ${name}: ${remedy}`);
    }
  }
}

/** @throws OSError where a folder on the way cannot be searched, or is not a folder */
function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw diskError(error, "examine", path);
  }
}

function ours(stat: Stats): boolean {
  return stat.uid === 0 || stat.uid === process.getuid?.();
}

/**
 * Whether only the group can write beside the owner, and it is this user's own group. Under an access control list the
 * mode shows that another user may be able to, and not which.
 */
function privateGroup(path: string, stat: Stats): boolean {
  const isOwn = (stat.mode & 0o002) === 0 && stat.gid === process.getgid?.() && stat.gid === process.getuid?.();
  return isOwn && !hasAcl(path);
}

/**
 * In a container with its own user ids, the host's root is shown as the overflow id ("nobody"), as which no process
 * inside can act. Accepted only above SVC_HOME, and only where such a mapping is in force.
 */
function unmapped(stat: Stats): boolean {
  const [overflow, map] = ["/proc/sys/kernel/overflowuid", "/proc/self/uid_map"].map((path) =>
    attempt(() => readFileSync(path, "utf8")),
  );
  if (overflow === undefined || map === undefined) return false;
  return !/^\s*0\s+0\s+4294967295\s*$/.test(map) && stat.uid === Number(overflow);
}
