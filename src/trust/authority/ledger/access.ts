/** What devices show to be let in: access tokens, API keys, nonces. */
import type { Database } from "bun:sqlite";
import { digest, rowOf } from "./digest.ts";

/** Whose an access token is, and which device it is bound to. */
export interface TokenOwner {
  readonly account: string;
  /** Thumbprint of the key that the token is bound to; null if it is bound to none. */
  readonly thumbprint: string | null;
  /** The device that has used it; null before the first use. */
  readonly deviceId: string | null;
  /** Whether that device or that key is revoked. */
  readonly revoked: boolean;
}

export interface ApiKeyOwner {
  readonly account: string;
  readonly deviceId: string;
  readonly revoked: boolean;
}

/**
 * Maximum rows of each kind in one purge, which takes 4 ms with its commit. A request that purges makes one row at
 * most.
 */
const PURGED_MAX = 200;

export class Access {
  constructor(readonly db: Database) {}

  /** @param owner an empty or absent thumbprint leaves the token unbound */
  addToken(
    token: string,
    owner: { readonly account: string; readonly thumbprint?: string; readonly deviceId?: string },
    expiresAt: number,
  ): void {
    this.db
      .query("INSERT INTO tokens (hash, account, expires_at, thumbprint, device_id) VALUES (?, ?, ?, ?, ?)")
      .run(digest(token), owner.account, expiresAt, owner.thumbprint || null, owner.deviceId || null);
  }

  /** The owner of an access token that has not expired. */
  tokenOwner(token: string, now: number): TokenOwner | undefined {
    const sql = `SELECT hash, account, thumbprint, device_id AS deviceId, EXISTS (SELECT 1 FROM devices d
      WHERE d.revoked_at IS NOT NULL AND (d.id = device_id OR d.thumbprint = tokens.thumbprint)) AS revoked
      FROM tokens WHERE hash = $hash AND expires_at > $now`;
    const owner = rowOf<TokenOwner>(this.db, sql, token, { now });
    return owner && { ...owner, revoked: Boolean(owner.revoked) };
  }

  /**
   * Binds a token to a device, and to its key where one is named. True too where it is bound to just these; false where
   * it is bound to another device or key, or is not known. A token that is bound to a key takes that key's thumbprint.
   */
  bindToken(token: string, deviceId: string, thumbprint: string | null): boolean {
    const sql = `UPDATE tokens SET device_id = ?1, thumbprint = ?2 WHERE hash = ?3
      AND (device_id IS NULL OR device_id = ?1) AND (thumbprint IS NULL OR thumbprint IS ?2)`;
    return this.db.query(sql).run(deviceId, thumbprint, digest(token)).changes === 1;
  }

  /** Sets a device's API key, which replaces an earlier one of the same account and device. */
  setApiKey(apiKey: string, account: string, deviceId: string, now: number): void {
    this.db
      .query("INSERT OR REPLACE INTO api_keys (hash, account, device_id, created_at) VALUES (?, ?, ?, ?)")
      .run(digest(apiKey), account, deviceId, now);
  }

  /** The account and device of an API key, and whether that device is revoked. */
  ownerOfApiKey(apiKey: string): ApiKeyOwner | undefined {
    // By its key too, as in a registration: a machine that has taken another id has two devices.
    const sql = `SELECT hash, account, device_id AS deviceId, EXISTS (SELECT 1 FROM devices d WHERE d.revoked_at IS NOT NULL
      AND (d.id = device_id OR d.thumbprint = (SELECT thumbprint FROM devices WHERE id = device_id))) AS revoked
      FROM api_keys WHERE hash = $hash`;
    const owner = rowOf<ApiKeyOwner>(this.db, sql, apiKey);
    return owner && { ...owner, revoked: Boolean(owner.revoked) };
  }

  /** Stores a nonce for one device id and one key. */
  addNonce(nonce: string, deviceId: string, thumbprint: string, expiresAt: number): void {
    this.db
      .query("INSERT INTO nonces (hash, device_id, thumbprint, expires_at) VALUES (?, ?, ?, ?)")
      .run(digest(nonce), deviceId, thumbprint, expiresAt);
  }

  /** Consumes a nonce: true at most once, and only for the device and key it was issued for. */
  takeNonce(nonce: string, deviceId: string, thumbprint: string, now: number): boolean {
    const sql = "DELETE FROM nonces WHERE hash = ? AND device_id = ? AND thumbprint = ? AND expires_at > ?";
    return this.db.query(sql).run(digest(nonce), deviceId, thumbprint, now).changes === 1;
  }

  /** Deletes tokens and nonces that have expired, not all of them at once: requests wait meanwhile. */
  purge(now: number): void {
    for (const table of ["tokens", "nonces"]) {
      const some = `SELECT hash FROM ${table} WHERE expires_at < ? ORDER BY expires_at LIMIT ${PURGED_MAX}`;
      this.db.query(`DELETE FROM ${table} WHERE hash IN (${some})`).run(now);
    }
  }
}
