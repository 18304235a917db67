/**
 * An authority's records: device codes, tokens, API keys, nonces, devices, licences. Secrets are kept as SHA-256 only,
 * so a stolen ledger reveals none: each secret has at least 128 random bits, except the user code, which is valid for
 * minutes.
 */
import { Database } from "bun:sqlite";
import { createHash, timingSafeEqual } from "node:crypto";
import { basename, dirname } from "node:path";
import { ensurePrivateDirectory } from "../account/files.ts";
import { checkSecretFile, writeNew } from "../durable.ts";
import { OSError, TimeoutError } from "../errors.ts";
import { applySchema } from "./schema.ts";

type CodeState = "pending" | "approved" | "denied";
export type PollOutcome =
  | { readonly kind: "approved"; readonly account: string }
  | { readonly kind: "pending" | "slow_down" | "expired" | "denied" | "unknown" };

/** A request for a code. Times in milliseconds since 1970. */
export interface NewCode extends PendingCode {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly intervalMs: number;
  readonly expiresAt: number;
  /** What limits count as one address. */
  readonly addressGroup: string;
}

/** What a person is shown of a request, to recognise it. */
export interface PendingCode {
  /** Empty where it is not known. */
  readonly address: string;
  /** What the device says of itself, not verified; empty where it says nothing. */
  readonly platform: string;
  readonly askedAt: number;
}

export interface DeviceRecord {
  readonly deviceId: string;
  readonly thumbprint: string;
  readonly publicKey: string;
  readonly platform: string;
  readonly hostHash: string;
  readonly account: string;
}

/** Times are in milliseconds since 1970, passed in by the caller: one clock for one request. */
export class Ledger {
  readonly #db: Database;

  /**
   * Opens or creates the ledger, 0600; SQLite gives its WAL the mode of the file.
   * @param waitMs how long a statement may wait for another process. Nothing else of this process runs meanwhile
   * @throws PermissionError, OSError; TimeoutError while another process has it locked
   */
  constructor(path: string, home: string, waitMs = 5000) {
    ensurePrivateDirectory(dirname(path), home);
    checkSecretFile(path, home);
    try {
      writeNew(path, new Uint8Array());
    } catch {
      // It exists, or opening it fails below with its reason.
    }
    let db: Database | undefined;
    try {
      db = new Database(path, { readwrite: true, strict: true });
      db.run(`PRAGMA busy_timeout = ${waitMs}`);
      db.run("PRAGMA journal_mode = WAL");
      db.run("PRAGMA foreign_keys = ON");
      applySchema(db);
      this.#db = db;
    } catch (error) {
      db?.close();
      throw unusable(error, basename(path));
    }
  }

  close(): void {
    this.#db.close();
  }

  /**
   * How many codes have not expired, and when the first of them does; of one group of addresses, or of all. A decided
   * one is among them until its device has fetched the decision: else denying one's own codes would fill the ledger.
   */
  openCodes(now: number, addressGroup?: string): { count: number; firstEnds: number | null } {
    const open = "SELECT count(*) AS count, min(expires_at) AS firstEnds FROM codes WHERE expires_at > ?1";
    const sql = addressGroup === undefined ? open : `${open} AND address_group = ?2`;
    const values = addressGroup === undefined ? [now] : [now, addressGroup];
    const row = this.#db.query<{ count: number; firstEnds: number | null }, (number | string)[]>(sql).get(...values);
    return row ?? { count: 0, firstEnds: null };
  }

  addCode(code: NewCode): void {
    this.#db
      .query(
        `INSERT INTO codes (hash, user_hash, state, interval_ms, asked_at, expires_at, address, address_group, platform)
         VALUES (?, ?, 'pending', ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        digest(code.deviceCode),
        digest(code.userCode),
        code.intervalMs,
        code.askedAt,
        code.expiresAt,
        code.address,
        code.addressGroup,
        code.platform,
      );
  }

  /** Removes a code, whatever its state. */
  withdrawCode(deviceCode: string): void {
    this.#db.query("DELETE FROM codes WHERE hash = ?").run(digest(deviceCode));
  }

  /** The request of a user code that has neither expired nor been decided. */
  pendingCode(userCode: string, now: number): PendingCode | undefined {
    const sql = `SELECT address, platform, asked_at AS askedAt FROM codes
      WHERE user_hash = ? AND state = 'pending' AND expires_at > ?`;
    return this.#db.query<PendingCode, [string, number]>(sql).get(digest(userCode), now) ?? undefined;
  }

  /** Decides a pending code, once. False if it is unknown, expired or decided. */
  decide(userCode: string, state: "approved" | "denied", account: string, now: number): boolean {
    const sql = "UPDATE codes SET state = ?, account = ? WHERE user_hash = ? AND state = 'pending' AND expires_at > ?";
    return this.#db.query(sql).run(state, account, digest(userCode), now).changes === 1;
  }

  /**
   * One poll (RFC 8628 §3.5). An approved code is redeemed once. Polling sooner than the interval, less a fifth for the
   * network's jitter, makes the interval 5 s longer.
   */
  poll(deviceCode: string, now: number): PollOutcome {
    const hash = digest(deviceCode);
    return this.#db
      .transaction((): PollOutcome => {
        const code = this.#db.query<CodeRow, [string]>("SELECT * FROM codes WHERE hash = ?").get(hash);
        if (code === null || !sameDigest(code.hash, hash)) return { kind: "unknown" };
        if (code.expires_at <= now) return { kind: "expired" };
        if (code.state !== "pending") {
          this.#db.query("DELETE FROM codes WHERE hash = ?").run(hash);
          return code.state === "approved" ? { kind: "approved", account: code.account ?? "" } : { kind: "denied" };
        }
        const hasty = code.polled_at !== null && now - code.polled_at < code.interval_ms * 0.8;
        this.#db
          .query("UPDATE codes SET polled_at = ?, interval_ms = interval_ms + ? WHERE hash = ?")
          .run(now, hasty ? 5000 : 0, hash);
        return { kind: hasty ? "slow_down" : "pending" };
      })
      .immediate();
  }

  addToken(token: string, account: string, expiresAt: number): void {
    this.#db
      .query("INSERT INTO tokens (hash, account, expires_at) VALUES (?, ?, ?)")
      .run(digest(token), account, expiresAt);
  }

  /** The account of an access token that has not expired. */
  accountOfToken(token: string, now: number): string | undefined {
    const hash = digest(token);
    const row = this.#db
      .query<{ hash: string; account: string }, [string, number]>(
        "SELECT * FROM tokens WHERE hash = ? AND expires_at > ?",
      )
      .get(hash, now);
    return row !== null && sameDigest(row.hash, hash) ? row.account : undefined;
  }

  /** Sets a device's API key, which replaces an earlier one of the same account and device. */
  setApiKey(apiKey: string, account: string, deviceId: string, now: number): void {
    this.#db
      .query("INSERT OR REPLACE INTO api_keys (hash, account, device_id, created_at) VALUES (?, ?, ?, ?)")
      .run(digest(apiKey), account, deviceId, now);
  }

  /** The account and device of an API key. */
  ownerOfApiKey(apiKey: string): { account: string; deviceId: string } | undefined {
    const hash = digest(apiKey);
    const row = this.#db
      .query<{ hash: string; account: string; device_id: string }, [string]>("SELECT * FROM api_keys WHERE hash = ?")
      .get(hash);
    if (row === null || !sameDigest(row.hash, hash)) return undefined;
    return { account: row.account, deviceId: row.device_id };
  }

  /** Stores a nonce for one device id and one key. */
  addNonce(nonce: string, deviceId: string, thumbprint: string, expiresAt: number): void {
    this.#db
      .query("INSERT INTO nonces (hash, device_id, thumbprint, expires_at) VALUES (?, ?, ?, ?)")
      .run(digest(nonce), deviceId, thumbprint, expiresAt);
  }

  /** Consumes a nonce: true at most once, and only for the device and key it was issued for. */
  takeNonce(nonce: string, deviceId: string, thumbprint: string, now: number): boolean {
    const sql = "DELETE FROM nonces WHERE hash = ? AND device_id = ? AND thumbprint = ? AND expires_at > ?";
    return this.#db.query(sql).run(digest(nonce), deviceId, thumbprint, now).changes === 1;
  }

  /** Registers a device, or updates its account and when it was seen. False if its id belongs to another key. */
  registerDevice(device: DeviceRecord, now: number): boolean {
    const { deviceId, thumbprint, publicKey, platform, hostHash, account } = device;
    const sql = `INSERT INTO devices (id, thumbprint, public_key, platform, host_hash, account, registered_at, seen_at)
      VALUES (?, ?, ?, ?, ?, ?, ?7, ?7) ON CONFLICT (id) DO UPDATE SET platform = excluded.platform,
      host_hash = excluded.host_hash, account = excluded.account, seen_at = excluded.seen_at
      WHERE thumbprint = excluded.thumbprint`;
    return this.#db.query(sql).run(deviceId, thumbprint, publicKey, platform, hostHash, account, now).changes === 1;
  }

  addLicense(id: string, deviceId: string, tier: string, issuedAt: number, expiresAt: number): void {
    this.#db
      .query("INSERT INTO licenses (id, device_id, tier, issued_at, expires_at) VALUES (?, ?, ?, ?, ?)")
      .run(id, deviceId, tier, issuedAt, expiresAt);
  }

  /**
   * Deletes expired entries; codes ten minutes later, so that a late poll is still answered `expired_token`. Codes of
   * the future were asked for by a clock that was ahead: they would be open until it is that late.
   */
  purge(now: number): void {
    const [past, future] = [now - 600_000, now + 600_000];
    this.#db.query("DELETE FROM codes WHERE expires_at < ? OR asked_at > ?").run(past, future);
    this.#db.query("DELETE FROM tokens WHERE expires_at < ?").run(now);
    this.#db.query("DELETE FROM nonces WHERE expires_at < ?").run(now);
  }
}

interface CodeRow {
  readonly hash: string;
  readonly state: CodeState;
  readonly account: string | null;
  readonly interval_ms: number;
  readonly expires_at: number;
  readonly polled_at: number | null;
}

function digest(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** Compares in constant time what the index compared before. */
function sameDigest(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(a, "hex"), Buffer.from(b, "hex"));
}

/** Whether a ledger did not open, or a statement failed, as another process has it locked. */
export function isLocked(error: unknown): boolean {
  const { code = "" } = error as { code?: string };
  return code === "TimeoutError.locked" || code.startsWith("SQLITE_BUSY");
}

/** The error for a ledger that does not open, with its remedy: only a corrupt one is to be moved away. */
function unusable(error: unknown, name: string): OSError | TimeoutError {
  if (isLocked(error))
    return new TimeoutError(`another process has locked the authority's ${name}: try again`, "locked");
  const reason = error instanceof Error ? error.message : String(error);
  const code = (error as { code?: string }).code ?? "";
  const isBroken = code === "SQLITE_NOTADB" || code.startsWith("SQLITE_CORRUPT");
  // A full disk is reported as an I/O error where the log cannot grow.
  const isDisk = code === "SQLITE_FULL" || code.startsWith("SQLITE_IOERR");
  const remedy = isBroken ? ": move it away and sign in again" : isDisk ? ": check the disk and its free space" : "";
  return new OSError(`the authority's ${name} cannot be used (${reason})${remedy}`);
}
