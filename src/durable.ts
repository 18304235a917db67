/**
 * Small files that must be complete or absent: credentials, licences, the runtime install.
 *
 * `writeFileSync` and `Bun.write` report success on a full disk, leave the tail of the old file, and do not sync. Here
 * bytes are written in a loop to a new file beside the old one, synced, renamed over it, and the folder is synced; a
 * reader gets the old bytes or the new ones.
 *
 * No message names an absolute path: a file under `SVC_HOME` is named by its last component.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  type Stats,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fullSync, tryLock } from "../ffi/system/calls.ts";
import { OSError, PermissionError, SvcError, TimeoutError, ValueError } from "./errors.ts";
import { LOCK_WAIT_MS } from "./limits.ts";
import { svcHome } from "./paths.ts";
import { type OpenFile, openRegular } from "./regular-file.ts";

/**
 * Writes a file so that a crash at any moment leaves either the old or the new one, complete.
 *
 * @param mode permission bits, regardless of the umask
 * @throws OSError naming the file and the system's error; the old file stands then. A failed sync is never retried.
 */
export function writeDurable(path: string, bytes: Uint8Array | string, mode = 0o600): void {
  const content = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
  const temporary = join(dirname(path), `.${basename(path)}.${crypto.randomUUID().slice(0, 8)}.tmp`);
  try {
    create(temporary, content, mode);
    renameSync(temporary, path);
    syncDirectory(dirname(path));
  } catch (error) {
    try {
      unlinkSync(temporary);
    } catch {
      // It was never created, or is renamed already.
    }
    throw diskError(error, "write", path);
  }
}

/** The file for which `writeDurable` made a temporary one of this name; `undefined` for every other name. */
export function temporaryFor(name: string): string | undefined {
  return /^\.(.+)\.[0-9a-f]{8}\.tmp$/.exec(name)?.[1];
}

/** Creates a file that must not exist yet, and syncs it. The caller syncs the folder. @throws OSError */
export function writeNew(path: string, bytes: Uint8Array, mode = 0o600): void {
  try {
    create(path, bytes, mode);
  } catch (error) {
    throw diskError(error, "write", path);
  }
}

/** Removes a file for good; none is fine. @returns whether there was one @throws OSError naming the file */
export function removeDurable(path: string): boolean {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw diskError(error, "remove", path);
  }
  syncDirectory(dirname(path));
  return true;
}

/** Makes the names in a folder durable: a rename or a new file is durable only after this. @throws OSError */
export function syncDirectory(path: string): void {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      syncFile(fd);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    throw diskError(error, "sync", path);
  }
}

/**
 * Creates a folder and its missing parents, each with `mode` and durable in its parent. An existing one is unchanged.
 */
export function makeDirectory(path: string, mode = 0o700): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || dirname(path) === path) throw diskError(error, "create", path);
    makeDirectory(dirname(path), mode);
    try {
      mkdirSync(path, { mode });
    } catch (again) {
      // Some file systems, such as /proc, report ENOENT although the parent exists.
      if ((again as NodeJS.ErrnoException).code !== "EEXIST") throw diskError(again, "create", path);
    }
  }
  syncDirectory(dirname(path));
}

/**
 * As `makeDirectory`, and syncs existing parents up to the root too: another process may have been killed between
 * creating a folder and syncing its name, and acknowledged files below it would be lost in a power cut.
 */
export function makeDurableDirectory(path: string, mode = 0o700): void {
  makeDirectory(path, mode);
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    syncExisting(folder);
    if (folder === dirname(folder)) return;
  }
}

/** Syncs a folder; ignores one that we may not open, or of a file system that syncs no folders. */
function syncExisting(folder: string): void {
  let fd: number;
  try {
    fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  } catch {
    return;
  }
  try {
    syncFile(fd);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EINVAL" && code !== "EROFS" && code !== "ENOTSUP") throw diskError(error, "sync", folder);
  } finally {
    closeSync(fd);
  }
}

/** `noFollow` refuses a link as last component; `inspect` is called with the open file's stat before a byte is read. */
export interface ReadOptions {
  noFollow?: boolean;
  inspect?: (stat: Stats) => void;
}

/**
 * Reads a regular file of at most `maxBytes` bytes. A FIFO or device is refused without blocking on it.
 *
 * @returns the bytes, or undefined where there is no such file
 * @throws ValueError beyond the limit or where it is not a regular file, OSError where the disk fails
 */
export function readCapped(path: string, maxBytes: number, options: ReadOptions = {}): Uint8Array | undefined {
  let opened: OpenFile;
  try {
    opened = openRegular(path, constants.O_RDONLY | (options.noFollow ? constants.O_NOFOLLOW : 0));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (error instanceof OSError) throw new ValueError(error.message);
    throw diskError(error, "read", path);
  }
  const { fd, stat } = opened;
  try {
    if (stat.size > maxBytes) {
      throw new ValueError(`'${basename(path)}' has ${stat.size} bytes; at most ${maxBytes} are accepted`);
    }
    options.inspect?.(stat);
    const bytes = new Uint8Array(stat.size);
    let filled = 0;
    while (filled < bytes.length) {
      const count = readSync(fd, bytes, filled, bytes.length - filled, filled);
      if (count === 0) break; // the file shrank while it was read
      filled += count;
    }
    return filled === bytes.length ? bytes : bytes.slice(0, filled);
  } catch (error) {
    throw diskError(error, "read", path);
  } finally {
    closeSync(fd);
  }
}

/**
 * Reads a secret, refusing one that others can read: the opened file is the one that is checked.
 *
 * @returns the bytes, or undefined where there is no such file
 * @throws PermissionError with the `chmod` that fixes it
 */
export function readSecret(path: string, maxBytes: number, home: string = svcHome()): Uint8Array | undefined {
  return readCapped(path, maxBytes, { inspect: (stat) => refuseSharedSecret(stat, path, home) });
}

/**
 * Refuses a secret file that others can read or write, or that another user owns; none is fine. @throws PermissionError
 */
export function checkSecretFile(path: string, home: string = svcHome()): void {
  let stat: Stats | undefined;
  try {
    stat = statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw diskError(error, "examine", path);
  }
  if (stat) refuseSharedSecret(stat, path, home);
}

/**
 * Runs `action` while holding the exclusive lock of a file, which is created if absent and never removed: after a
 * removal two processes could lock two files of one name. The lock ends with the process, even if killed.
 *
 * @throws TimeoutError when another process holds it for longer than `waitMs`
 */
export async function withLock<T>(path: string, action: () => Promise<T> | T, waitMs = LOCK_WAIT_MS): Promise<T> {
  let fd: number;
  try {
    fd = openRegular(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW).fd;
  } catch (error) {
    throw diskError(error, "lock", path);
  }
  try {
    const deadline = performance.now() + waitMs;
    while (!tryLock(fd)) {
      if (performance.now() > deadline) {
        throw new TimeoutError(
          `another process has held '${basename(path)}' for ${waitMs / 1000} s; try again`,
          "locked",
        );
      }
      await Bun.sleep(20);
    }
    return await action();
  } finally {
    closeSync(fd);
  }
}

/** A file system error as our own class, naming the last component only. Our own errors pass unchanged. */
export function diskError(error: unknown, verb: string, path: string): SvcError {
  if (error instanceof SvcError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const { code } = error as NodeJS.ErrnoException;
  // Node's text is "ENOSPC: no space left on device, open '/whole/path'": only the part before the comma has no path.
  const cause = /^([A-Z0-9]+: [^,]+),/.exec(message)?.[1] ?? code ?? "input/output error";
  return new OSError(
    `cannot ${verb} '${basename(path)}': ${cause}${diskRemedy(code)}`,
    isFull(code) ? "disk_full" : "io",
  );
}

/** Whether a system error means that there is no room: on the file system, or in the user's part of it. */
export function isFull(code: string | undefined): boolean {
  return code === "ENOSPC" || code === "EDQUOT";
}

/**
 * The remedy for a system error, as the end of a sentence; empty where unknown. @param code its name, as in `ENOSPC`
 */
export function diskRemedy(code: string | undefined): string {
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return ": free some space and try again";
    case "EROFS":
      return ": it is on a read-only file system, choose another place";
    case "EACCES":
    case "EPERM":
      return ": check who may write there";
    default:
      return "";
  }
}

/**
 * A path for a shell command: below `home` relative to $SVC_HOME, so that `home` itself is not shown. A name may hold
 * anything: between double quotes one like `$(command)` would run.
 */
export function shellPath(path: string, home: string): string {
  const inside = relative(home, path);
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  if (inside.startsWith("..")) return quoted(path);
  if (/^[\w@%+=:,./-]*$/.test(inside)) return `"\${SVC_HOME:-$HOME/.svc}${inside && `/${inside}`}"`;
  return `"\${SVC_HOME:-$HOME/.svc}"/${quoted(inside)}`;
}

/**
 * Refuses a file that others can read or write, or that another user owns.
 * @param what the file in a message
 * @param remedy what to do about one of another user
 * @throws PermissionError
 */
export function refuseShared(
  { uid, mode }: Pick<Stats, "uid" | "mode">,
  path: string,
  { what, remedy, home = svcHome() }: { what: string; remedy: string; home?: string },
): void {
  const own = process.getuid?.();
  if (own !== undefined && uid !== own && uid !== 0)
    throw new PermissionError(`${what} belongs to another user: ${remedy}`, "secret_exposed");
  if ((mode & 0o077) === 0) return;
  const shownMode = (mode & 0o777).toString(8);
  throw new PermissionError(
    `others can reach ${what} (mode ${shownMode}): run chmod 600 ${shellPath(path, home)}`,
    "secret_exposed",
  );
}

function refuseSharedSecret(stat: Stats, path: string, home: string): void {
  const what = `the secret file '${basename(path)}'`;
  refuseShared(stat, path, { what, remedy: "remove it and log in again", home });
}

function create(path: string, bytes: Uint8Array, mode: number): void {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const fd = openSync(path, flags, mode);
  try {
    fchmodSync(fd, mode);
    for (let offset = 0; offset < bytes.length; ) offset += writeSync(fd, bytes, offset, bytes.length - offset);
    syncFile(fd);
  } finally {
    closeSync(fd);
  }
}

/** Makes what was written to an open file durable. @throws the system's error */
export function syncFile(fd: number): void {
  if (!fullSync(fd)) fsyncSync(fd);
}
