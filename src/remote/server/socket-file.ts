/**
 * The file of a Unix socket: in a folder that only this user can change, mode 0600 from its creation, and never taken
 * from a server that still answers.
 */
import { closeSync, lstatSync, openSync, realpathSync, renameSync, rmSync, type Stats, unlinkSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { tryLock } from "../../../ffi/system/calls.ts";
import { diskError, makeDirectory } from "../../durable.ts";
import { OSError, PermissionError, TimeoutError, ValueError } from "../../errors.ts";

/** Bytes of a socket's path that the system takes: `sun_path` less its NUL. */
const PATH_BYTES_MAX = process.platform === "darwin" ? 103 : 107;
const STICKY = 0o1000;
const OTHERS_WRITE = 0o022;
const LOCK_WAIT_MS = 5000;

/** A place where a server may listen. */
interface SocketFile {
  path: string;
  /** The path at which the socket is created before it is renamed. */
  temporary: string;
  /** Other users could create a file of this name while no server runs. */
  isShared: boolean;
}

/**
 * Finds out whether a server may listen at `path`. Its folder is created, 0700, where it is missing.
 * @throws ValueError for a path that is too long; PermissionError for a folder that others can change; OSError for a
 *   file that is not a socket
 */
export function checkSocketPath(path: string): SocketFile {
  const absolute = resolve(path);
  const folder = dirname(absolute);
  const temporary = `.svc${process.pid}`;
  const bytes = Math.max(Buffer.byteLength(absolute), Buffer.byteLength(join(folder, temporary)));
  if (bytes > PATH_BYTES_MAX) {
    throw new ValueError(
      `the socket's path has ${bytes} bytes, the system takes ${PATH_BYTES_MAX}: choose a shorter one`,
    );
  }
  makeDirectory(folder, 0o700);
  const real = realpathSync(folder);
  const stat = lstatSync(real);
  const isOurs = stat.uid === process.getuid?.() || stat.uid === 0;
  const isShared = (stat.mode & OTHERS_WRITE) !== 0 && !isPrivateGroup(stat);
  if (!isOurs || (isShared && !(stat.mode & STICKY))) {
    throw new PermissionError(
      `others can change the folder of the socket '${path}': put it into a folder of your own (mkdir -m 700)`,
    );
  }
  const found = lstatSync(absolute, { throwIfNoEntry: false });
  if (found && !found.isSocket()) throw new OSError(`'${path}' exists and is not a socket: it is not replaced`);
  return { path: join(real, basename(absolute)), temporary: join(real, temporary), isShared };
}

/**
 * Listens at a socket's path. The file of a dead server is replaced; servers that start at once take turns, by a lock
 * of the folder that is held only meanwhile.
 * @param listen called with a temporary path in the same folder; the file is renamed afterwards. Bun removes the path
 *   it listened at when it stops, and by then `path` may be another server's socket.
 * @throws OSError where a server answers there
 */
export async function takeSocketPath<T>({ path, temporary }: SocketFile, listen: (path: string) => T): Promise<T> {
  return locked(path, async () => {
    if (lstatSync(path, { throwIfNoEntry: false }) && (await answers(path))) {
      throw new OSError(`another server answers at '${path}': stop it, or choose another socket`);
    }
    clear(temporary, path);
    // bind(2) creates the file with the mode that the umask leaves; a later chmod would come too late.
    const umask = process.umask(0o177);
    let listening: T;
    try {
      listening = listen(temporary);
    } finally {
      process.umask(umask);
    }
    try {
      renameSync(temporary, path);
    } catch (error) {
      throw diskError(error, "make", path);
    }
    return listening;
  });
}

/** Device and inode of a path's file, so that only our own is removed in the end. */
export function socketIdentity(path: string): string | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}`;
}

/** Removes the socket's file if it still has this identity. No effect where its folder is gone. */
export async function leaveSocketPath(path: string, identity: string | undefined): Promise<void> {
  if (identity === undefined || socketIdentity(path) !== identity) return;
  await locked(path, async () => {
    if (socketIdentity(path) === identity) unlinkSync(path);
  });
}

async function locked<T>(path: string, work: () => Promise<T>): Promise<T> {
  const fd = openSync(dirname(path), "r");
  try {
    for (const deadline = performance.now() + LOCK_WAIT_MS; !tryLock(fd); await Bun.sleep(10)) {
      if (performance.now() > deadline) throw new TimeoutError(`another server is starting or ending at '${path}'`);
    }
    return await work();
  } finally {
    closeSync(fd); // which releases the lock
  }
}

/** Removes the file of a process with our number that died before its rename. */
function clear(temporary: string, path: string): void {
  try {
    rmSync(temporary, { force: true });
  } catch (error) {
    throw diskError(error, "make", path);
  }
}

/** Whether a server accepts connections; one with a full backlog counts. */
async function answers(path: string): Promise<boolean> {
  try {
    const socket = await Bun.connect({ unix: path, socket: { data() {} } });
    socket.terminate();
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code !== "ECONNREFUSED" && code !== "ENOENT";
  }
}

/** Whether only the group can write beside the owner, and it is this user's own group. */
function isPrivateGroup(stat: Stats): boolean {
  return (stat.mode & 0o002) === 0 && stat.gid === process.getgid?.() && stat.gid === process.getuid?.();
}
