/**
 * Small files that must be whole or absent: credentials, licences, the runtime install.
 *
 * The danger it removes: `writeFileSync` and `Bun.write` report success on a full disk and leave the tail of the old file, and
 * none of them syncs. Here bytes are written in a loop to a new file beside the old one, synced, renamed over it, and the folder
 * is synced; whoever reads sees the old bytes or the new ones.
 *
 * No message names an absolute path: a file under `SVC_HOME` is named by its last component.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
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

/**
 * Writes a file so that after a crash at any moment either the old or the new one is there, whole.
 *
 * @param mode permission bits, exact whatever the umask says
 * @throws OSError naming the file and what the disk said; the old file stands then. A failed sync is never retried.
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
      // It was never made, or has been renamed already.
    }
    throw diskError(error, "write", path);
  }
}

/** Creates a file that must not exist yet, with its bytes on the medium. The folder is the caller's to sync. @throws OSError */
export function writeNew(path: string, bytes: Uint8Array, mode = 0o600): void {
  try {
    create(path, bytes, mode);
  } catch (error) {
    throw diskError(error, "write", path);
  }
}

/** Makes the names in a folder durable: a rename or a new file counts only after this. @throws OSError */
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

/** Creates a folder and its missing parents, each 0700 and durable in the one above it. An existing one is left as it is. */
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
      // Some places, /proc for one, have a parent and still say that there is none.
      if ((again as NodeJS.ErrnoException).code !== "EEXIST") throw diskError(again, "create", path);
    }
  }
  syncDirectory(dirname(path));
}

/**
 * The same, and what was there already is durable too, up to the root: another process may have been killed between making a folder and syncing
 * its name, and what is acknowledged below it would be gone after a power cut.
 */
export function makeDurableDirectory(path: string, mode = 0o700): void {
  makeDirectory(path, mode);
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    syncExisting(folder);
    if (folder === dirname(folder)) return;
  }
}

/** A folder that we may not open, or of a file system that syncs no folders, holds nothing that could be made more durable. */
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

/** How a file is read: `noFollow` refuses a link as last component; `inspect` sees the open file's stat before a byte is read. */
export interface ReadOptions {
  noFollow?: boolean;
  inspect?: (stat: Stats) => void;
}

/**
 * Reads a regular file of at most `maxBytes` bytes. A FIFO or device is refused without blocking on it.
 *
 * @returns the bytes, or undefined where there is no such file
 * @throws ValueError beyond the limit or where it is no regular file, OSError where the disk fails
 */
export function readCapped(path: string, maxBytes: number, options: ReadOptions = {}): Uint8Array | undefined {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (options.noFollow ? constants.O_NOFOLLOW : 0);
  let fd: number;
  try {
    fd = openSync(path, flags);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "ELOOP") throw new ValueError(`'${basename(path)}' is a link; a regular file is expected`);
    throw diskError(error, "read", path);
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw new ValueError(`'${basename(path)}' is not a regular file`);
    if (stat.size > maxBytes) {
      throw new ValueError(`'${basename(path)}' has ${stat.size} bytes; at most ${maxBytes} are accepted`);
    }
    options.inspect?.(stat);
    const bytes = new Uint8Array(stat.size);
    let filled = 0;
    while (filled < bytes.length) {
      const count = readSync(fd, bytes, filled, bytes.length - filled, filled);
      if (count === 0) break; // it shrank while it was read: the bytes that are there are all there is
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
 * Reads a secret, refusing one that others could have read: the file that is checked is the file that is read.
 *
 * @returns the bytes, or undefined where there is no such file
 * @throws PermissionError with the `chmod` that mends it
 */
export function readSecret(path: string, maxBytes: number, home: string = svcHome()): Uint8Array | undefined {
  return readCapped(path, maxBytes, { inspect: (stat) => refuseShared(stat, path, home) });
}

/** Refuses a secret file that others can read or write, or that belongs to someone else; an absent one passes. @throws PermissionError */
export function checkSecretFile(path: string, home: string = svcHome()): void {
  let stat: Stats | undefined;
  try {
    stat = statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw diskError(error, "examine", path);
  }
  if (stat) refuseShared(stat, path, home);
}

/**
 * Runs `action` while holding the exclusive lock of a file, which is created if need be and never removed: removing it would let
 * two holders lock two files of one name. The lock ends with the process, however that ends.
 *
 * @throws TimeoutError when another process holds it for longer than `waitMs`
 */
export async function withLock<T>(path: string, action: () => Promise<T> | T, waitMs = LOCK_WAIT_MS): Promise<T> {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
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

/** A failure of the file system as our own class, naming the last component only. One of ours passes unchanged. */
export function diskError(error: unknown, verb: string, path: string): SvcError {
  if (error instanceof SvcError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const { code } = error as NodeJS.ErrnoException;
  // Node's text is "ENOSPC: no space left on device, open '/whole/path'": the part before the comma is what we may say.
  const said = /^([A-Z0-9]+: [^,]+),/.exec(message)?.[1] ?? code ?? "input/output error";
  return new OSError(
    `cannot ${verb} '${basename(path)}': ${said}${diskRemedy(code)}`,
    code === "ENOSPC" ? "disk_full" : "io",
  );
}

/** What to do about a cause, as the end of a sentence; empty where we cannot know. @param code a system error's name, as in `ENOSPC` */
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

/** A path under the root as a shell can expand it without our telling where the root is; any other path as the caller named it. */
export function shellPath(path: string, home: string): string {
  const inside = relative(home, path);
  if (inside.startsWith("..")) return `'${path.replaceAll("'", "'\\''")}'`;
  return `"\${SVC_HOME:-$HOME/.svc}${inside && `/${inside}`}"`;
}

function refuseShared(stat: Stats, path: string, home: string): void {
  const uid = process.getuid?.();
  if (uid !== undefined && stat.uid !== uid && stat.uid !== 0) {
    throw new PermissionError(
      `the secret file '${basename(path)}' belongs to another user; remove it and log in again`,
      "secret_exposed",
    );
  }
  if ((stat.mode & 0o077) !== 0) {
    const mode = (stat.mode & 0o777).toString(8);
    throw new PermissionError(
      `others can reach the secret file '${basename(path)}' (mode ${mode}): run chmod 600 ${shellPath(path, home)}`,
      "secret_exposed",
    );
  }
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

function syncFile(fd: number): void {
  if (!fullSync(fd)) fsyncSync(fd);
}
