/**
 * The writer's lock of a collection that is not opened: one that is removed, renamed or exchanged as a folder, which
 * may be damaged.
 */
import { closeSync, constants, fstatSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { NativeError, Status } from "../../ffi/status.ts";
import { tryLock, tryShare } from "../../ffi/system/calls.ts";
import type { Environment } from "../../ffi/ty_runtime.ts";
import { shown } from "../checks/kinds.ts";
import { diskError } from "../durable.ts";
import { OSError, ValueError } from "../errors.ts";
import { openRegular } from "../regular-file.ts";
import { fromNative } from "./failure.ts";
import { beginWithin } from "./lock/lock.ts";

/** The lock file of a collection, and of a stage. */
export const LOCK = ".lock";

const OPEN = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;

/** Where a collection is, for its messages and its lock. */
export interface FolderSite {
  readonly env: Environment;
  /** The memory directory. */
  readonly dir: string;
  /** The collection's name. */
  readonly name: string;
  readonly signal?: AbortSignal | undefined;
  /** How long another process's change is waited for at most, in milliseconds. */
  readonly waitMs?: number | undefined;
}

/**
 * Runs `work` with the writer's lock of a collection's folder, once other processes' writes are done.
 * @throws ValueError where the folder is gone; TimeoutError that names who holds the lock; OSError
 */
export async function withFolderLock<T>(
  { env, dir, name, signal, waitMs }: FolderSite,
  work: () => T | Promise<T>,
): Promise<T> {
  const folder = join(dir, name);
  const path = join(folder, LOCK);
  const native = env.collectionAt(folder);
  let fd: number | undefined;
  const begin = () => {
    fd = openLock(path, name);
    // The folder's lock is that of the file which has the name now: the folder may have been exchanged since.
    const isHeld = tryLock(fd);
    if (isHeld && isNamed(fd, path)) return;
    closeSync(fd);
    fd = undefined;
    throw new NativeError(Status.BUSY, isHeld ? 0 : 1, "its folder was removed or replaced just now");
  };
  try {
    await beginWithin(name, { begin, holder: () => native.holder() }, signal, waitMs, path);
    sayHolder(fd!, env.label, "saving");
    return await work();
  } catch (error) {
    throw fromNative(error, name);
  } finally {
    if (fd !== undefined) closeSync(fd);
    native.close();
  }
}

/** Takes the writer's lock of a folder where it is free now: closing the file frees it. @throws the system's error */
export function holdNow(folder: string): number | undefined {
  const path = join(folder, LOCK);
  const { fd } = openRegular(path, OPEN);
  if (tryLock(fd) && isNamed(fd, path)) return fd;
  closeSync(fd);
  return undefined;
}

/**
 * Whether a process holds the writer's lock of a folder, or may hold it. A shared lock is taken for a moment: other
 * looks are not taken for writers, and a writer that comes then tries again.
 */
export function isLocked(folder: string): boolean {
  let fd: number;
  try {
    ({ fd } = openRegular(join(folder, LOCK), constants.O_RDONLY | constants.O_NOFOLLOW));
  } catch (error) {
    return !(error instanceof OSError) && (error as NodeJS.ErrnoException).code !== "ENOENT";
  }
  try {
    return !tryShare(fd);
  } finally {
    closeSync(fd);
  }
}

function openLock(path: string, name: string): number {
  try {
    return openRegular(path, OPEN).fd;
  } catch (error) {
    if (error instanceof OSError) throw new OSError(`collection ${shown(name)}: ${error.message}: remove it`);
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") throw new MissingCollection(name);
    throw diskError(error, "lock", path);
  }
}

/** The bytes that `sayHolder` writes. */
export const HOLDER_BYTES = 96;

/**
 * Writes who holds a lock and what it does, as `ty_lock_take` does: FORMAT.md, .lock. Messages of others are the better
 * for it, nothing else.
 */
export function sayHolder(fd: number, label: string, what: string): void {
  try {
    writeSync(fd, `writer ${String(process.pid).padEnd(24)}\n${`${label} ${what}`.slice(0, 63).padEnd(63)}\n`, 0);
  } catch {
    // The lock is held all the same.
  }
}

/** Whether a path still names an open file. */
export function isNamed(fd: number, path: string): boolean {
  const [mine, named] = [fstatSync(fd), statSync(path, { throwIfNoEntry: false })];
  return named !== undefined && mine.ino === named.ino && mine.dev === named.dev;
}

const CREATE = " (create it first)";

/** There is no collection of a name. */
export class MissingCollection extends ValueError {
  /**
   * @param names the end of the sentence: which names there are
   * @param create what to do; empty where `names` says it
   */
  constructor(
    readonly collection: string,
    names = "",
    create = CREATE,
  ) {
    super(`collection ${shown(collection)} does not exist${create}${names}`, "no_collection");
  }
}
