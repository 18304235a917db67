/**
 * An authority's records, in one SQLite file: device codes, tokens, API keys, nonces, devices, licences; for an
 * organisation also enrolment keys, administrators, the audit log and LICENSE keys. Secrets are kept as SHA-256 only, so
 * a stolen ledger reveals none but an organisation's LICENSE keys, with which it signs.
 */
import { Database } from "bun:sqlite";
import { basename, dirname } from "node:path";
import { checkSecretFile, writeNew } from "../../../durable.ts";
import { ensurePrivateDirectory } from "../../account/files.ts";
import { Access } from "./access.ts";
import { Admins } from "./admins.ts";
import { Audit } from "./audit.ts";
import { backUp } from "./backup.ts";
import { Codes } from "./codes.ts";
import { Commits } from "./commits.ts";
import { Devices } from "./devices.ts";
import { EnrollKeys } from "./enroll-keys.ts";
import { refuseForeignLog, refuseNewer, unusable } from "./errors.ts";
import { LicenseKeyRecords } from "./license-keys.ts";
import { applySchema } from "./schema.ts";

/**
 * What the WAL is cut to after a checkpoint, which SQLite makes at 4 MB: it grows beyond only while another process
 * reads for long.
 */
const WAL_BYTES_KEPT = 4 * 1024 * 1024;

/** Times are in milliseconds since 1970, passed in by the caller: one clock for one request. */
export class Ledger {
  readonly codes: Codes;
  readonly access: Access;
  readonly devices: Devices;
  readonly enrollKeys: EnrollKeys;
  readonly admins: Admins;
  readonly audit: Audit;
  readonly licenseKeys: LicenseKeyRecords;
  readonly #db: Database;
  readonly #commits: Commits;

  /**
   * Opens or creates the ledger, 0600; SQLite gives its WAL the mode of the file. Every commit is synced:
   * with NORMAL, which syncs a WAL at checkpoints only, a power cut takes back what was answered.
   * @param waitMs how long a statement may wait for another process. Nothing else of this process runs meanwhile
   * @param isOrganisation in a data folder that was checked already, which may lie anywhere; else below `home`
   * @throws PermissionError, OSError; TimeoutError while another process has it locked
   */
  constructor(
    readonly path: string,
    home: string,
    waitMs = 5000,
    isOrganisation = false,
  ) {
    if (!isOrganisation) ensurePrivateDirectory(dirname(path), home);
    checkSecretFile(path, home);
    try {
      writeNew(path, new Uint8Array());
    } catch {
      // It exists, or opening it fails below with its reason.
    }
    let db: Database | undefined;
    try {
      refuseForeignLog(path);
      db = new Database(path, { readwrite: true, strict: true });
      db.run(`PRAGMA busy_timeout = ${waitMs}`);
      refuseNewer(db, basename(path));
      db.run("PRAGMA journal_mode = WAL");
      db.run("PRAGMA synchronous = FULL");
      db.run("PRAGMA foreign_keys = ON");
      db.run(`PRAGMA journal_size_limit = ${WAL_BYTES_KEPT}`);
      applySchema(db);
    } catch (error) {
      db?.close();
      throw unusable(error, basename(path), isOrganisation);
    }
    this.#db = db;
    this.#commits = new Commits(db, waitMs);
    this.codes = new Codes(db);
    this.access = new Access(db);
    this.devices = new Devices(db);
    this.enrollKeys = new EnrollKeys(db);
    this.admins = new Admins(db);
    this.audit = new Audit(db);
    this.licenseKeys = new LicenseKeyRecords(db);
  }

  /** Commits what waits. The last process that closes the ledger removes its WAL. */
  close(): void {
    this.#commits.close();
    this.#db.close();
  }

  /**
   * All of `action`'s changes or, where it throws, none; inside of another transaction a part of that one. It is
   * synchronous: what came after an `await` would be outside.
   */
  transaction<T>(action: () => T): T {
    return this.#db.transaction(action).immediate();
  }

  /**
   * As `transaction`, for a server: changes that are asked for at about the same time share a commit, and another process
   * that has the ledger locked is waited for while requests go on.
   * @returns once the change is durable
   * @throws TimeoutError where the ledger stays locked for five seconds; and what `action` throws
   */
  commit<T>(action: () => T): Promise<T> {
    return this.#commits.run(action);
  }

  /** Deletes entries that have expired. */
  purge(now: number): void {
    this.codes.purge(now);
    this.access.purge(now);
  }

  /** Reads and writes a row. @throws SQLite's error where the ledger cannot do either */
  probe(now: number): void {
    this.#db.query("INSERT INTO probe (id, at) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET at = excluded.at").run(now);
  }

  /** A copy of the ledger as of now, LICENSE keys included, while it is written to; see `backUp`. */
  backup(path: string): number {
    return backUp(this.#db, path, basename(this.path));
  }
}
