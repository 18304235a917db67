/**
 * The file that an export writes: under another name until it is whole and on the disk, so that an interrupted one
 * leaves nothing under its own. What such a one has written stays for a repeated call that goes on with it.
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

/** What the file is to be. */
export interface ExportPlan {
  readonly path: string;
  /** Replace a file that is there. */
  readonly force: boolean;
  /** Hexadecimal digits that tell this export from every other one, in its rows and in how they are written. */
  readonly key: string;
}

/** @throws ValueError where something is there that is not to be replaced */
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

  /** @throws ValueError, OSError; TimeoutError while another process writes the same */
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
    // Another one may have given the file its name since it was opened here.
    if (tryLock(fd) && fstatSync(fd).ino === statSync(partial, { throwIfNoEntry: false })?.ino) {
      removeOthers(plan.path, partial);
      return new ExportFile(plan, fd, partial);
    }
    closeSync(fd);
    throw new TimeoutError(`another process is writing '${plan.path}': wait for its end, or name another file`);
  }

  /** Begins again. */
  clear(): void {
    this.cut(0);
  }

  /**
   * Keeps the lines that an interrupted call has written, as far as each is what `isLine` expects of its number from 0.
   * @returns how many
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

  /** So many were written, by earlier calls too. */
  get size(): number {
    return this.bytes;
  }

  /** Gives the file its name. @throws ValueError where something has it meanwhile; OSError */
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

  /** Ends without the file; what was written is kept for a call that goes on, or is removed. */
  abandon(keep: boolean): void {
    try {
      if (!keep) unlinkSync(this.partial);
      this.close();
    } catch {
      // It is the failure before that counts.
    }
  }

  /** A rename would replace what another process has put there since. */
  private nameNew(path: string): void {
    try {
      linkSync(this.partial, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") throw error;
      // A file system without links.
      renameSync(this.partial, path);
      return;
    }
    unlinkSync(this.partial);
  }

  private close(): void {
    // Not twice: the number may be another file's by then.
    if (this.isOpen) closeSync(this.fd);
    this.isOpen = false;
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

/** What interrupted calls for other rows have left of the same file; of a call that runs it stays. */
function removeOthers(path: string, own: string): void {
  const [before, after] = [`.${basename(path)}.`, ".partial"];
  for (const name of readdirSync(dirname(path))) {
    const other = join(dirname(path), name);
    if (!name.startsWith(before) || !name.endsWith(after) || other === own) continue;
    if (!/^[0-9a-f]{16}$/.test(name.slice(before.length, -after.length))) continue;
    try {
      const { fd } = openRegular(other, constants.O_RDWR | constants.O_NOFOLLOW);
      if (tryLock(fd)) unlinkSync(other);
      closeSync(fd);
    } catch {
      // Gone meanwhile, or not ours to remove.
    }
  }
}
