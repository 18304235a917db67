/**
 * The lock of a memory directory, which a server holds from before it listens until it has ended: a second server is
 * refused with a sentence that names the first one. It is the lock of a folder in the memory directory and made as that
 * of a collection, so that the same native call finds its holder.
 */
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { tryLock } from "../../../../ffi/system/calls.ts";
import { duplicate } from "../../../../ffi/system/process.ts";
import { type Holder, HolderState } from "../../../../ffi/ty_collection.ts";
import type { Environment } from "../../../../ffi/ty_runtime.ts";
import { diskError, readCapped } from "../../../durable.ts";
import { OSError } from "../../../errors.ts";
import { DRAIN_TIMEOUT_S } from "../../../limits.ts";
import { openRegular } from "../../../regular-file.ts";
import { HOLDER_BYTES, isNamed, LOCK, sayHolder } from "../../../store/folder-lock.ts";
import { SERVER, servedError } from "./memory-holder.ts";

/** Names of collections do not begin with a dot. */
const FOLDER = ".serve";

/** How long a server that is ending is waited for: its clients have the first part of it, its last saves the rest. */
const ENDING_WAIT_MS = (DRAIN_TIMEOUT_S + 5) * 1000;
const PAUSE_MS = 20;
/** A holder that the system does not know may have ended just now. */
const UNSEEN_TRIES = 3;

/** The lock while it is held. */
export class MemoryLock {
  private constructor(
    private readonly fd: number,
    private readonly label: string,
  ) {}

  /**
   * Takes the lock of a memory directory, which is made where it is missing.
   * @param inherited the descriptor that has the lock, where this process took it before it became this program
   * @returns undefined where this user can make no file there: such a server cannot change anything either
   * @throws OSError that names the server which has the lock; where something else has the name of the file
   */
  static async take(env: Environment, dir: string, inherited?: number): Promise<MemoryLock | undefined> {
    const path = join(dir, FOLDER, LOCK);
    if (inherited !== undefined && isLockOf(inherited, path)) return new MemoryLock(inherited, env.label);
    const deadline = performance.now() + ENDING_WAIT_MS;
    for (let unseen = 0; ; await Bun.sleep(PAUSE_MS)) {
      const fd = openLock(dir, path);
      if (fd === undefined) return undefined;
      const isHeld = tryLock(fd);
      if (isHeld && isNamed(fd, path)) {
        const lock = new MemoryLock(fd, env.label);
        lock.say(SERVER.starting);
        return lock;
      }
      closeSync(fd);
      if (isHeld) continue; // its folder was removed just now
      const holder = holderOf(env, join(dir, FOLDER));
      if (holder.state === HolderState.UNSEEN && ++unseen < UNSEEN_TRIES) continue;
      if (holder.what === SERVER.ending && performance.now() < deadline) continue;
      throw servedError(holder, addressIn(path));
    }
  }

  /** The server listens. */
  serving(address: string): void {
    this.say(SERVER.serving, address);
  }

  /** The server is about to end. */
  ending(): void {
    this.say(SERVER.ending);
  }

  /** A descriptor that has the lock after `release` too, and in a program that takes this one's place. @throws OSError */
  keep(): number {
    const fd = duplicate(this.fd);
    if (fd < 0) throw new OSError("the lock of the memory directory cannot be kept");
    return fd;
  }

  release(): void {
    closeSync(this.fd);
  }

  private say(what: string, address = ""): void {
    sayHolder(this.fd, this.label, what);
    try {
      ftruncateSync(this.fd, HOLDER_BYTES);
      writeSync(this.fd, address, HOLDER_BYTES);
    } catch {
      // The lock is held all the same.
    }
  }
}

function holderOf(env: Environment, folder: string): Holder {
  const native = env.collectionAt(folder);
  try {
    return native.holder();
  } finally {
    native.close();
  }
}

/** Where the server listens that wrote a lock file. */
function addressIn(path: string): string | undefined {
  try {
    const bytes = readCapped(path, HOLDER_BYTES + 4096, { noFollow: true });
    const address = new TextDecoder().decode(bytes?.subarray(HOLDER_BYTES));
    return /^[\x20-\x7e\u00a0-\uffff]+$/.test(address) ? address : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a descriptor is that of a lock file and has its lock. */
function isLockOf(fd: number, path: string): boolean {
  try {
    return isNamed(fd, path) && tryLock(fd);
  } catch {
    return false;
  }
}

/** Opens the lock file; undefined where there is none and none can be made. @throws OSError */
function openLock(dir: string, path: string): number | undefined {
  const folder = join(dir, FOLDER);
  try {
    if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === false)
      throw new OSError(`'${FOLDER}' is not a folder`);
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const fd = openFor(constants.O_RDWR | constants.O_CREAT, path);
    if (statSync(dir).uid !== process.geteuid?.()) openToOwner(folder, fd);
    return fd;
  } catch (error) {
    return openUnchanged(error, path, folder);
  }
}

/** What a server of another user leaves, such as root's, must not keep the owner of the memory from locking it. */
function openToOwner(folder: string, fd: number): void {
  try {
    chmodSync(folder, 0o755);
    fchmodSync(fd, 0o644);
  } catch {
    // It is the owner's.
  }
}

/** Where nothing can be written: a lock needs no right to write. @param error why */
function openUnchanged(error: unknown, path: string, folder: string): number | undefined {
  if (error instanceof OSError) throw new OSError(`in the memory directory, ${error.message}: remove it`);
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "EROFS" && code !== "EACCES" && code !== "EPERM") throw diskError(error, "lock", folder);
  try {
    return openFor(constants.O_RDONLY, path);
  } catch (unread) {
    if ((unread as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw diskError(unread, "lock", folder);
  }
}

const openFor = (flags: number, path: string, mode?: number) =>
  openRegular(path, flags | constants.O_NOFOLLOW, mode).fd;
