/** SQLite's errors as sentences with a remedy. */
import type { Database } from "bun:sqlite";
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { basename } from "node:path";
import { OSError, SvcError, TimeoutError } from "../../../errors.ts";
import { LEDGER_VERSION, ledgerVersion } from "./schema.ts";

/** Whether a ledger did not open, or a statement failed, as another process has it locked. */
export function isLocked(error: unknown): boolean {
  const { code = "" } = error as { code?: string };
  return code === "TimeoutError.locked" || code.startsWith("SQLITE_BUSY");
}

/** The error for a ledger that does not open: only a corrupt one is to be replaced. Our own errors pass unchanged. */
export function unusable(error: unknown, name: string, isOrganisation: boolean): SvcError {
  if (isLocked(error))
    return new TimeoutError(`another process has locked the authority's ${name}: try again`, "locked");
  if (error instanceof SvcError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const code = (error as { code?: string }).code ?? "";
  if (isOrganisation && isBroken(code)) return damaged(name, reason);
  // A full disk is reported as an I/O error where the log cannot grow.
  const isDisk = code === "SQLITE_FULL" || code.startsWith("SQLITE_IOERR");
  const remedy = isBroken(code)
    ? ": move it away and sign in again"
    : isDisk
      ? ": check the disk and its free space"
      : "";
  return new OSError(`the authority's ${name} cannot be used (${reason})${remedy}`);
}

/** The error for an organisation's ledger that is damaged: what it still holds may be worth more than a backup. */
export function damaged(name: string, reason: string): OSError {
  const finding = reason.split("\n")[0]!.slice(0, 200);
  return new OSError(
    `the authority's ${name} is damaged (${finding}): move it away with its -wal, and put the last backup in its place`,
    "damaged",
  );
}

/** @param code of an error of SQLite */
export function isBroken(code: string): boolean {
  return code === "SQLITE_NOTADB" || code.startsWith("SQLITE_CORRUPT");
}

/** An error of a statement as a sentence, where the system caused it; a mistake of ours stays what it is. */
export function statementError(error: unknown, name: string): unknown {
  const { code = "" } = error as { code?: unknown };
  const isOutside = typeof code === "string" && /^SQLITE_(?!ERROR|CONSTRAINT|MISUSE|RANGE|MISMATCH)/.test(code);
  return isOutside ? unusable(error, name, true) : error;
}

/** @throws OSError for tables that a later release has made: they may mean what this one would break */
export function refuseNewer(db: Database, name: string): void {
  const version = ledgerVersion(db);
  if (version <= LEDGER_VERSION) return;
  throw new OSError(
    `the authority's ${name} has version ${version}, of a newer svc; this one knows versions up to ${LEDGER_VERSION}: ` +
      "use the newer svc, or put an earlier backup in its place",
    "other_version",
  );
}

/** Where the header of a SQLite file says whether it has a WAL: 1 for no, 2 for yes. */
const HEADER_WAL = 18;

/**
 * Refuses the WAL of another ledger beside one that was copied into its place: SQLite would write its pages into it. A
 * backup has no WAL, and says so in its header until it is opened here; the header is changed before there is a WAL, so
 * that the WAL is looked for first.
 * @throws OSError with the files to remove
 */
export function refuseForeignLog(path: string): void {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  if (log === undefined || log.size === 0) return;
  const header = new Uint8Array(HEADER_WAL + 1);
  const fd = openSync(path, "r");
  try {
    if (readSync(fd, header, 0, header.length, 0) < header.length || header[HEADER_WAL] !== 1) return;
  } finally {
    closeSync(fd);
  }
  const name = basename(path);
  throw new OSError(
    `beside the authority's ${name} there is the ${name}-wal of another one, which would be written into it: ` +
      `remove ${name}-wal and ${name}-shm`,
    "damaged",
  );
}
