/**
 * The audit log of a server: one line of JSON for each write that it has carried out. Where a line cannot be written, no
 * further write is carried out until it can be: the log lacks at most the writes that were under way when it failed and
 * that a crash then took from memory. Lines are not synced.
 */
import { closeSync, constants, fstatSync, readSync, writeSync } from "node:fs";
import { basename } from "node:path";
import { diskError, refuseShared } from "../../durable.ts";
import { errorMessage, OSError } from "../../errors.ts";
import { openRegular } from "../../regular-file.ts";

/** Ids of one line, at most. */
export const AUDITED_IDS_MAX = 10;

/** What a line says of a write. No text, metadata, vector or token is part of it. */
export interface AuditEntry {
  /** The tool of a `call_tool`. */
  tool?: string | undefined;
  collection?: string | undefined;
  /** Rows that were put or deleted. */
  rows?: number | undefined;
  /** The first of their ids. */
  ids?: readonly string[] | undefined;
  /** It failed, and part of it may be in effect. */
  failed?: true | undefined;
}

export class AuditLog {
  /** Undefined once the log is closed. */
  private fd: number | undefined;
  /** Lines that are not written yet. */
  private readonly unwritten: Buffer[] = [];
  /** How many bytes of the first of them are in the file. */
  private begun = 0;

  /** @throws OSError, PermissionError where the file cannot be written, is not a regular one, or others can reach it */
  constructor(private readonly path: string) {
    this.fd = open(path);
  }

  /** Opens the file of that name again: it may have been moved away. @throws as the constructor; it goes on then */
  reopen(): void {
    try {
      this.write(); // the rest of a line belongs into the file with its beginning
    } catch {
      // That line is repeated in the new file.
    }
    const fd = open(this.path);
    this.close();
    this.fd = fd;
  }

  /** @throws OSError where lines cannot be written: a write must not be carried out */
  requireWritable(): void {
    if (this.unwritten.length === 0) return;
    try {
      this.write();
    } catch (error) {
      const why = error instanceof OSError ? error.reason : undefined;
      throw new OSError(
        `the audit log cannot be written (${errorMessage(error)}), and changes are refused until it can; nothing was changed`,
        why,
      );
    }
  }

  /**
   * Adds a line about a write that was carried out, or may have been. After `close` it opens the file for the line.
   * @param name the author; undefined for a client without a name
   * @returns why it could not be written yet
   */
  add(name: string | undefined, op: string, { tool, collection, rows, ids, failed }: AuditEntry): string | undefined {
    const head = { time: new Date().toISOString(), name: name ?? null, op, tool, collection };
    const line = JSON.stringify({ ...head, rows, ids: ids?.slice(0, AUDITED_IDS_MAX), failed });
    this.unwritten.push(Buffer.from(`${line}\n`));
    try {
      this.write();
      return undefined;
    } catch (error) {
      return errorMessage(error);
    }
  }

  close(): void {
    const { fd } = this;
    this.fd = undefined;
    this.begun = 0;
    if (fd !== undefined) closeSync(fd);
  }

  private write(): void {
    if (this.unwritten.length === 0) return;
    const fd = this.fd ?? open(this.path);
    try {
      for (let line = this.unwritten[0]; line !== undefined; line = this.unwritten[0]) {
        this.begun += writeSync(fd, line, this.begun);
        if (this.begun < line.length) continue;
        this.unwritten.shift();
        this.begun = 0;
      }
    } catch (error) {
      throw diskError(error, "write", this.path);
    } finally {
      if (this.fd === undefined) {
        this.begun = 0; // opening ends half a line
        closeSync(fd);
      }
    }
  }
}

function open(path: string): number {
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
  let fd: number;
  try {
    ({ fd } = openRegular(path, flags));
  } catch (error) {
    throw diskError(error, "open", path);
  }
  try {
    const stat = fstatSync(fd);
    refuseShared(stat, path, { what: `the audit log '${basename(path)}'`, remedy: "choose another file" });
    // A crash, or a full disk, may have left half of a line.
    const last = Buffer.alloc(1);
    if (stat.size > 0 && readSync(fd, last, 0, 1, stat.size - 1) === 1 && last[0] !== 0x0a) writeSync(fd, "\n");
    return fd;
  } catch (error) {
    closeSync(fd);
    throw diskError(error, "write", path);
  }
}
