/** A ledger as one file that can be kept elsewhere, and put back. */
import { Database } from "bun:sqlite";
import { closeSync, constants, linkSync, openSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { diskError, syncDirectory, syncFile, writeNew } from "../../../durable.ts";
import { OSError, ValueError } from "../../../errors.ts";
import { damaged, isBroken, unusable } from "./errors.ts";

/**
 * Copies a ledger, as of now and with its WAL, into a new file, 0600, which is complete and durable or not there. Others
 * go on reading and writing meanwhile.
 * @returns how many devices the copy has
 * @throws ValueError where there is a file of that name; OSError where the disk fails, or the ledger is damaged: a copy
 *   would look whole and lack rows
 */
export function backUp(db: Database, path: string, name: string): number {
  requireSound(db, name);
  const staged = join(dirname(path), `.${basename(path)}.${crypto.randomUUID().slice(0, 8)}.tmp`);
  let devices: number;
  try {
    // SQLite writes into an empty file: made by us, it is never readable by others.
    writeNew(staged, new Uint8Array());
    db.query("VACUUM INTO ?").run(staged);
    syncContent(staged);
    devices = devicesOf(staged);
    linkSync(staged, path);
  } catch (error) {
    const { code = "" } = error as { code?: string };
    if (code === "EEXIST") throw new ValueError(`there is a file '${basename(path)}' already: name another one`);
    if (!code.startsWith("SQLITE_")) throw diskError(error, "write", path);
    if (isBroken(code)) throw unusable(error, name, true);
    throw new OSError(`cannot write '${basename(path)}': ${(error as Error).message}`, "io");
  } finally {
    rmSync(staged, { force: true });
  }
  syncDirectory(dirname(path));
  return devices;
}

/** Read from the copy: the ledger may have more by now. */
function devicesOf(path: string): number {
  using copy = new Database(path, { readonly: true });
  return copy.query<{ n: number }, []>("SELECT count(*) AS n FROM devices").get()?.n ?? 0;
}

/** Reads every page, some 50 MB in a second. */
function requireSound(db: Database, name: string): void {
  let found: string | undefined;
  try {
    found = db.query<{ integrity_check: string }, []>("PRAGMA integrity_check(1)").get()?.integrity_check;
  } catch (error) {
    throw unusable(error, name, true);
  }
  if (found !== "ok") throw damaged(name, found ?? "it cannot be read");
}

function syncContent(path: string): void {
  const fd = openSync(path, constants.O_RDWR);
  try {
    syncFile(fd);
  } finally {
    closeSync(fd);
  }
}
