/** Opening files that have to be regular ones: the only way to open a file of a memory that may exist. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats } from "node:fs";
import { basename } from "node:path";
import { OSError } from "./errors.ts";

/** An open file, and what `fstat` says of it. */
export interface OpenFile {
  fd: number;
  stat: Stats;
}

/**
 * Opens a regular file. Anyone who can write into the folder may have put a FIFO there: a plain `open` or
 * `readFileSync` waits for its other end for ever, and no signal ends that. What was opened decides: another process may
 * put something else there between a look and the opening.
 * @param flags as of open(2); with O_NOFOLLOW a link is refused too
 * @param mode permissions of a file that is created
 * @throws OSError that says what has the name where it is not a regular file; else the system's error
 */
export function openRegular(path: string, flags: number, mode = 0o600): OpenFile {
  let fd: number;
  try {
    fd = openSync(path, flags | constants.O_NONBLOCK | constants.O_NOCTTY, mode);
  } catch (error) {
    // A socket, a folder, a link, or a FIFO without a reader.
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat && (flags & constants.O_NOFOLLOW || !stat.isSymbolicLink())) refuseOthers(stat, path);
    throw error;
  }
  try {
    const stat = fstatSync(fd);
    refuseOthers(stat, path);
    return { fd, stat };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function refuseOthers(stat: Stats, path: string): void {
  if (!stat.isFile()) throw new OSError(`'${basename(path)}' is ${kindOf(stat)}, not a regular file`);
}

function kindOf(stat: Stats): string {
  if (stat.isDirectory()) return "a folder";
  if (stat.isSymbolicLink()) return "a link";
  if (stat.isFIFO()) return "a FIFO";
  return stat.isSocket() ? "a socket" : "a device";
}

/** A file that is read piece by piece: one of a collection that may be damaged, replaced by something else, or missing. */
export class RegularFile {
  private constructor(
    private readonly fd: number,
    readonly size: number,
  ) {}

  /** Undefined if it is missing, is not a regular file, or cannot be opened. */
  static open(path: string): RegularFile | undefined {
    try {
      const { fd, stat } = openRegular(path, constants.O_RDONLY | constants.O_NOFOLLOW);
      return new RegularFile(fd, stat.size);
    } catch {
      return undefined;
    }
  }

  /** So many bytes; undefined where the file has fewer or the medium fails. */
  read(at: number, bytes: number): Uint8Array<ArrayBuffer> | undefined {
    if (at < 0 || bytes < 0 || at + bytes > this.size) return undefined;
    const out = new Uint8Array(bytes);
    try {
      for (let done = 0; done < bytes; ) {
        const count = readSync(this.fd, out, done, bytes - done, at + done);
        if (count === 0) return undefined;
        done += count;
      }
    } catch {
      return undefined;
    }
    return out;
  }

  close(): void {
    closeSync(this.fd);
  }
}
