/**
 * Downloads that may be interrupted at any moment. What came is kept in one file: a head of fixed size that says of
 * which version of the document the bytes are, then the bytes. A file for each of the two would be simpler to look at,
 * and a kill between their writes would leave bytes beside the validator of others.
 *
 * Nothing is synced: what a power cut leaves is noticed when the whole is verified, and downloaded once more.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { tryLock } from "../../../../ffi/system/calls.ts";
import { diskError, isFull } from "../../../durable.ts";
import { TimeoutError } from "../../../errors.ts";

/** Of which version of a document bytes are. */
export interface Facts {
  /** What `If-Range` takes: a strong entity tag or a date; absent where the server gave neither. */
  readonly validator?: string;
  /** Bytes of the whole, where known. */
  readonly total?: number;
}

const HEAD_BYTES = 2048;
const SUFFIX = ".part";
/** Processes that may download the same at once, each into a file of its own: none waits for another. */
const SLOTS = 8;
const OPEN_TRIES = 20;

/** An open file of a download, locked: it belongs to this process until `close`, or until the process ends. */
export class PartialFile {
  /** Bytes that are kept. */
  length = 0;
  facts: Facts = {};

  private constructor(
    private readonly fd: number,
    private readonly path: string,
  ) {
    const { size } = fstatSync(fd);
    const facts = size > HEAD_BYTES ? parseFacts(this.#read(0, HEAD_BYTES)) : undefined;
    if (facts === undefined || size - HEAD_BYTES > (facts.total ?? size)) return;
    this.facts = facts;
    this.length = size - HEAD_BYTES;
  }

  /**
   * Opens what is kept of a download, or a new file, mode 0600. One that another process is writing is left to it.
   * @param folder of this user, closed to others
   * @param name   of the download: letters and digits
   * @throws OSError; TimeoutError where very many processes download the same
   */
  static open(folder: string, name: string): PartialFile {
    for (let slot = 1; slot <= SLOTS; slot++) {
      const path = join(folder, `${name}-${slot}${SUFFIX}`);
      try {
        const fd = openLocked(path);
        if (fd !== undefined) return new PartialFile(fd, path);
      } catch (error) {
        throw diskError(error, "open", path);
      }
    }
    throw new TimeoutError(`${SLOTS} processes are downloading the same runtime: try again later`, "locked");
  }

  /**
   * Drops what is kept: bytes of another version of the document follow.
   * @param facts at most HEAD_BYTES as JSON
   * @throws OSError
   */
  begin(facts: Facts): void {
    const head = new TextEncoder().encode(JSON.stringify(facts).padEnd(HEAD_BYTES));
    this.#writing(() => {
      this.length = 0;
      this.facts = {};
      // Empty first: a kill between the two leaves no bytes under a head that is not theirs.
      ftruncateSync(this.fd, 0);
      this.#write(head, 0);
      this.facts = facts;
    });
  }

  /** Drops the last byte, to be asked for again. @throws OSError */
  dropLast(): void {
    this.#writing(() => {
      ftruncateSync(this.fd, HEAD_BYTES + this.length - 1);
      this.length--;
    });
  }

  /** Adds bytes at the end. @throws OSError; the file is removed where the disk is full, for the sake of other files */
  append(bytes: Uint8Array): void {
    this.#writing(() => {
      this.#write(bytes, HEAD_BYTES + this.length);
      this.length += bytes.length;
    });
  }

  /** All bytes that are kept. @throws OSError */
  read(): Uint8Array {
    try {
      return this.#read(HEAD_BYTES, this.length);
    } catch (error) {
      throw diskError(error, "read", this.path);
    }
  }

  /** Removes the file; `close` is still to be called. */
  remove(): void {
    this.length = 0;
    this.facts = {};
    rmSync(this.path, { force: true });
  }

  /** Leaves the file to the next run. */
  close(): void {
    closeSync(this.fd);
  }

  #writing(action: () => void): void {
    try {
      action();
    } catch (error) {
      if (isFull((error as NodeJS.ErrnoException).code)) this.remove();
      throw diskError(error, "write", this.path);
    }
  }

  #write(bytes: Uint8Array, at: number): void {
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(this.fd, bytes, done, bytes.length - done, at + done);
    }
  }

  #read(at: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let done = 0; done < length; ) {
      const count = readSync(this.fd, bytes, done, length - done, at + done);
      if (count === 0) return bytes.subarray(0, done);
      done += count;
    }
    return bytes;
  }
}

/**
 * Removes what is kept of downloads, but for those that a process is writing, and those of `name`.
 * Best effort: what cannot be removed now is removed by a later install.
 */
export function removePartials(folder: string, name?: string): void {
  for (const entry of namesIn(folder)) {
    if (!entry.endsWith(SUFFIX) || (name !== undefined && entry.startsWith(`${name}-`))) continue;
    const path = join(folder, entry);
    try {
      const fd = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      try {
        if (tryLock(fd)) rmSync(path, { force: true });
      } finally {
        closeSync(fd);
      }
    } catch {
      // No file of ours, or gone already.
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * Opens and locks a file of this name, a new one where there is none; undefined where another process holds it.
 * Anything else under the name, such as a link, is removed first.
 */
function openLocked(path: string): number | undefined {
  for (let tries = 1; tries <= OPEN_TRIES; tries++) {
    const fd = openRegular(path);
    const state = fd === undefined ? "unusable" : claim(fd, path);
    if (state === "ours") return fd;
    if (fd !== undefined) closeSync(fd);
    if (state === "held") return undefined;
    if (state === "unusable") rmSync(path, { recursive: true, force: true });
  }
  return undefined;
}

/** The descriptor of an existing or a new file; undefined for a link, a folder, or a file that root left here. */
function openRegular(path: string): number | undefined {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  try {
    return openSync(path, flags, 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isClosed = code === "EACCES" || code === "EPERM";
    // Where no file of this name can be made either, it is the folder that is closed, and there is nothing to remove.
    if (isClosed && !lstatSync(path, { throwIfNoEntry: false })) throw error;
    if (isClosed || code === "ELOOP" || code === "EISDIR") return undefined;
    throw error;
  }
}

/** Locks an open file. It is "gone" where its holder before removed it between our opening and our locking. */
function claim(fd: number, path: string): "ours" | "held" | "gone" | "unusable" {
  if (!tryLock(fd)) return "held";
  const opened = fstatSync(fd);
  const named = lstatSync(path, { throwIfNoEntry: false });
  if (named?.ino !== opened.ino || named.dev !== opened.dev) return "gone";
  if (!opened.isFile() || opened.nlink !== 1 || opened.uid !== process.getuid?.()) return "unusable";
  fchmodSync(fd, 0o600);
  return "ours";
}

/** The head's facts; undefined where a kill or a power cut left something else. */
function parseFacts(head: Uint8Array): Facts | undefined {
  try {
    const { validator, total } = JSON.parse(new TextDecoder().decode(head)) as Record<string, unknown>;
    if (typeof validator !== "string" || (total !== undefined && !Number.isSafeInteger(total))) return undefined;
    return { validator, total: total as number | undefined };
  } catch {
    return undefined;
  }
}
