/**
 * The file that an export writes. It has a temporary name until it is complete and synced, so that an interrupted export
 * leaves no file with the name that you gave. What was written stays under the temporary name, and the same export
 * continues there when it is started again.
 */
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  readdirSync,
  readSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { tryLock } from "../../../ffi/system/calls.ts";
import { isUrl } from "../../checks/folders.ts";
import { LineSplitter, OversizeLine } from "../../checks/lines.ts";
import { diskError, syncDirectory, syncFile } from "../../durable.ts";
import { OSError, TimeoutError, ValueError } from "../../errors.ts";
import { STDIO_LINE_BYTES_MAX } from "../../limits.ts";
import { openRegular } from "../../regular-file.ts";

const CHUNK_BYTES = 1024 * 1024;

/** Which file is written, and by which export. */
export interface ExportPlan {
  readonly path: string;
  /** Whether a file with that name is replaced. */
  readonly force: boolean;
  /** 16 hexadecimal digits that differ for exports of other rows, or of the same rows in another form. */
  readonly key: string;
}

/** @throws ValueError if the path is an address or a folder, or exists and is not to be replaced */
export function refuseExisting(path: string, force: boolean): void {
  if (isUrl(path)) throw new ValueError(`'${path}' is an address, not a file: name a file of this machine`);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) throw new ValueError(`'${path}' is a folder: name a file in it`);
  if (found && !force) throw new ValueError(`'${path}' exists already: name another file, or replace it with --force`);
}

/** One file, open for writing and locked. */
export class ExportFile {
  private bytes = 0;
  private isOpen = true;

  private constructor(
    private readonly plan: ExportPlan,
    private readonly fd: number,
    private readonly partial: string,
  ) {}

  /** @throws ValueError, OSError; TimeoutError while another process writes the same export */
  static open(plan: ExportPlan): ExportFile {
    const partial = join(dirname(plan.path), `.${basename(plan.path)}.${plan.key}.partial`);
    let fd: number;
    try {
      fd = openRegular(partial, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW).fd;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT")
        throw new OSError(`cannot write '${basename(plan.path)}': the folder for it does not exist`);
      throw diskError(error, "write", plan.path);
    }
    // Since it was opened here, the process that wrote it may have given it its name: then it is not the partial file.
    if (tryLock(fd) && fstatSync(fd).ino === statSync(partial, { throwIfNoEntry: false })?.ino) {
      removeOthers(plan.path, partial);
      return new ExportFile(plan, fd, partial);
    }
    closeSync(fd);
    throw new TimeoutError(`another process is writing '${plan.path}': wait for its end, or name another file`);
  }

  /** Removes what an interrupted call has written. */
  clear(): void {
    this.cut(0);
  }

  /**
   * Keeps the lines that an interrupted call has written, up to the first for which `isLine` is false.
   * @param isLine gets each line and its number, from 0
   * @returns how many lines are kept
   */
  keep(isLine: (line: Uint8Array, number: number) => boolean): number {
    let number = 0;
    let end = 0;
    const splitter = new LineSplitter(STDIO_LINE_BYTES_MAX);
    const chunk = new Uint8Array(CHUNK_BYTES);
    try {
      reading: for (let at = 0; ; ) {
        const read = readSync(this.fd, chunk, 0, chunk.length, at);
        if (read === 0) break;
        at += read;
        for (const line of splitter.push(chunk.slice(0, read))) {
          if (line instanceof OversizeLine || !isLine(line, number)) break reading;
          number += 1;
          end += line.length + 1;
        }
      }
    } catch (error) {
      throw diskError(error, "read", this.plan.path);
    }
    this.cut(end);
    return number;
  }

  /** Appends. @throws OSError */
  write(text: string): void {
    const content = new TextEncoder().encode(text);
    try {
      for (let offset = 0; offset < content.length; ) {
        offset += writeSync(this.fd, content, offset, content.length - offset, this.bytes + offset);
      }
    } catch (error) {
      throw diskError(error, "write", this.plan.path);
    }
    this.bytes += content.length;
  }

  /** Bytes in the file, with those of an interrupted call. */
  get size(): number {
    return this.bytes;
  }

  /** Syncs the file and gives it its name. @throws ValueError if a file of that name was made meanwhile; OSError */
  finish(): void {
    const { path, force } = this.plan;
    try {
      syncFile(this.fd);
      if (force) renameSync(this.partial, path);
      else this.nameNew(path);
      syncDirectory(dirname(path));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") refuseExisting(path, false);
      throw diskError(error, "write", path);
    } finally {
      this.close();
    }
  }

  /** Ends after a failure. @param keep whether what was written stays, for a call that continues */
  abandon(keep: boolean): void {
    try {
      try {
        if (!keep) unlinkSync(this.partial);
      } finally {
        this.close();
      }
    } catch {
      // The caller reports the failure that made it call this.
    }
  }

  /** Gives the file its name by a link: a rename would replace a file that another process has made since. */
  private nameNew(path: string): void {
    try {
      linkSync(this.partial, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") throw error;
      // The file system has no links.
      renameSync(this.partial, path);
      return;
    }
    unlinkSync(this.partial);
  }

  private close(): void {
    // Only once: the next file that is opened may get the same number.
    if (!this.isOpen) return;
    this.isOpen = false;
    closeSync(this.fd);
  }

  private cut(bytes: number): void {
    try {
      ftruncateSync(this.fd, bytes);
    } catch (error) {
      throw diskError(error, "write", this.plan.path);
    }
    this.bytes = bytes;
  }
}

/** Removes partial files of other exports to the same path that were interrupted. Those of running ones are locked, and stay. */
function removeOthers(path: string, own: string): void {
  const [before, after] = [`.${basename(path)}.`, ".partial"];
  for (const name of readdirSync(dirname(path))) {
    const other = join(dirname(path), name);
    if (!name.startsWith(before) || !name.endsWith(after) || other === own) continue;
    if (!/^[0-9a-f]{16}$/.test(name.slice(before.length, -after.length))) continue;
    try {
      const { fd } = openRegular(other, constants.O_RDWR | constants.O_NOFOLLOW);
      try {
        if (tryLock(fd)) unlinkSync(other);
      } finally {
        closeSync(fd);
      }
    } catch {
      // It was removed meanwhile, or this user must not open it.
    }
  }
}
