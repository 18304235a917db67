/**
 * SQLite files of other programs, which may be damaged or made to harm: opened for reading only, without what their
 * schema could run, and only plain tables are read.
 */
import type { Database } from "bun:sqlite";
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { OSError, SvcError, ValueError } from "../../errors.ts";

const MAGIC = "SQLite format 3\0";

/** Whether a file begins as an SQLite database does. */
export function isSqlite(head: Uint8Array): boolean {
  return Buffer.from(head.subarray(0, MAGIC.length)).toString("latin1") === MAGIC;
}

/** An open database; every failure of SQLite is a ValueError that names it. */
export class ForeignDatabase {
  private constructor(
    private readonly db: Database,
    readonly name: string,
    readonly bytes: number,
  ) {}

  /**
   * Nothing is written beside the file either: it is opened as one that does not change.
   * @throws ValueError for what is not a database, is packed, or has changes beside it that are not in it yet
   */
  static async open(path: string, name: string): Promise<ForeignDatabase> {
    for (const suffix of ["-wal", "-journal"]) {
      if (!(statSync(path + suffix, { throwIfNoEntry: false })?.size ?? 0)) continue;
      throw new ValueError(
        `${name} has changes in '…${suffix}' that are not in it yet: end the program that uses it, or copy both ` +
          "files and let that program open the copy once",
      );
    }
    const { Database, constants } = await import("bun:sqlite");
    try {
      const bytes = statSync(path).size;
      if (!isSqlite(beginning(path))) throw new ValueError(`${name} is not an SQLite database`);
      const flags = constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI;
      const db = new Database(`${Bun.pathToFileURL(path)}?immutable=1`, flags);
      const open = new ForeignDatabase(db, name, bytes);
      for (const pragma of ["trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0", "query_only=ON"]) {
        open.all(`PRAGMA ${pragma}`);
      }
      return open;
    } catch (error) {
      throw asValueError(error, name);
    }
  }

  /**
   * Refuses what is not a plain table with these columns: a view or a virtual table of that name runs what its author
   * wrote, and so do columns that are computed.
   */
  check(table: string, columns: readonly string[]): void {
    const [found] = this.all("SELECT type, sql FROM sqlite_master WHERE name = ?", table);
    const isPlain = found?.type === "table" && !/^\s*create\s+virtual/i.test(String(found.sql));
    if (!isPlain) throw new ValueError(`${this.name} has no table '${table}': it is of another program, or damaged`);
    const present = this.all(`PRAGMA table_xinfo("${table}")`);
    const missing = columns.find((column) => !present.some(({ name, hidden }) => name === column && hidden === 0));
    if (missing !== undefined) throw new ValueError(`${this.name}: its table '${table}' has no column '${missing}'`);
  }

  /** Whether there is a plain table of that name. */
  has(table: string): boolean {
    return this.all("SELECT 1 FROM sqlite_master WHERE name = ? AND type = 'table'", table).length > 0;
  }

  /** The rows of a query. @throws ValueError where SQLite finds damage */
  all(sql: string, ...values: (string | number)[]): Record<string, unknown>[] {
    try {
      return this.db.query(sql).all(...values) as Record<string, unknown>[];
    } catch (error) {
      throw asValueError(error, this.name);
    }
  }

  close(): void {
    this.db.close();
  }
}

/** Whether a folder holds a file of this name; false also where that cannot be found out. */
export function holdsFile(folder: string, name: string): boolean {
  try {
    return statSync(join(folder, name)).isFile();
  } catch {
    return false;
  }
}

function beginning(path: string): Uint8Array {
  const fd = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(MAGIC.length);
    return bytes.subarray(0, readSync(fd, bytes));
  } finally {
    closeSync(fd);
  }
}

function asValueError(error: unknown, name: string): unknown {
  if (error instanceof SvcError) return error;
  const { message, syscall, code } = error as NodeJS.ErrnoException;
  if (syscall !== undefined) return new OSError(`cannot read ${name}: ${code}`);
  return new ValueError(`${name} cannot be read as an SQLite database: ${message}`);
}
