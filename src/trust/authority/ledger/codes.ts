/** Device codes and the user codes that belong to them (RFC 8628). */
import type { Database } from "bun:sqlite";
import { digest, rowOf } from "./digest.ts";

export type PollOutcome =
  | {
      readonly kind: "approved";
      readonly account: string;
      /** Thumbprint of the key that the device has named with its request; empty if it has named none. */
      readonly thumbprint: string;
      /** Who approved it; empty where that is not known. */
      readonly approvedBy: string;
    }
  | { readonly kind: "pending" | "slow_down" | "expired" | "denied" | "unknown" };

/** What a person is shown of a request, to recognise it. */
export interface PendingCode {
  /** Empty where it is not known. */
  readonly address: string;
  /** What the device says of itself, not verified; empty where it says nothing. */
  readonly platform: string;
  readonly askedAt: number;
}

/** A request for a code. Times in milliseconds since 1970. */
export interface NewCode extends PendingCode {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly intervalMs: number;
  readonly expiresAt: number;
  /** What limits count as one address. */
  readonly addressGroup: string;
  /** Thumbprint of the device's key, to which the token will be bound; empty if the device names none. */
  readonly thumbprint: string;
}

export class Codes {
  constructor(readonly db: Database) {}

  /**
   * How many codes have not expired, and when the first of them does; of one group of addresses, or of all. A decided
   * one is among them until its device has fetched the decision: else denying one's own codes would fill the ledger.
   */
  openCodes(now: number, addressGroup?: string): { count: number; firstEnds: number | null } {
    const open = "SELECT count(*) AS count, min(expires_at) AS firstEnds FROM codes WHERE expires_at > ?1";
    const sql = addressGroup === undefined ? open : `${open} AND address_group = ?2`;
    const values = addressGroup === undefined ? [now] : [now, addressGroup];
    const row = this.db.query<{ count: number; firstEnds: number | null }, (number | string)[]>(sql).get(...values);
    return row ?? { count: 0, firstEnds: null };
  }

  addCode(code: NewCode): void {
    const sql = `INSERT INTO codes (hash, user_hash, state, interval_ms, asked_at, expires_at, address, address_group,
      platform, thumbprint) VALUES ($hash, $userHash, 'pending', $intervalMs, $askedAt, $expiresAt, $address,
      $addressGroup, $platform, $thumbprint)`;
    const { deviceCode, userCode, ...row } = code;
    this.db.query(sql).run({ ...row, hash: digest(deviceCode), userHash: digest(userCode) });
  }

  /** Removes a code, whatever its state. */
  withdrawCode(deviceCode: string): void {
    this.db.query("DELETE FROM codes WHERE hash = ?").run(digest(deviceCode));
  }

  /** The request of a user code that has neither expired nor been decided. */
  pendingCode(userCode: string, now: number): PendingCode | undefined {
    const sql = `SELECT address, platform, asked_at AS askedAt FROM codes
      WHERE user_hash = ? AND state = 'pending' AND expires_at > ?`;
    return this.db.query<PendingCode, [string, number]>(sql).get(digest(userCode), now) ?? undefined;
  }

  /** Decides a pending code, once. False if it is unknown, expired or decided. @param by who decides, if known */
  decide(userCode: string, state: "approved" | "denied", account: string, now: number, by = ""): boolean {
    const sql = `UPDATE codes SET state = ?, account = ?, decided_by = ?
      WHERE user_hash = ? AND state = 'pending' AND expires_at > ?`;
    return this.db.query(sql).run(state, account, by, digest(userCode), now).changes === 1;
  }

  /**
   * One poll (RFC 8628 §3.5). An approved code is redeemed once. Polling sooner than the interval, less a fifth for the
   * network's jitter, makes the interval 5 s longer.
   */
  poll(deviceCode: string, now: number): PollOutcome {
    const hash = digest(deviceCode);
    return this.db
      .transaction((): PollOutcome => {
        const code = rowOf<CodeRow>(this.db, "SELECT * FROM codes WHERE hash = $hash", deviceCode);
        if (code === undefined) return { kind: "unknown" };
        if (code.expires_at <= now) return { kind: "expired" };
        if (code.state !== "pending") {
          this.db.query("DELETE FROM codes WHERE hash = ?").run(hash);
          if (code.state === "denied") return { kind: "denied" };
          const { account, thumbprint, decided_by: approvedBy } = code;
          return { kind: "approved", account: account ?? "", thumbprint, approvedBy };
        }
        const hasty = code.polled_at !== null && now - code.polled_at < code.interval_ms * 0.8;
        this.db
          .query("UPDATE codes SET polled_at = ?, interval_ms = interval_ms + ? WHERE hash = ?")
          .run(now, hasty ? 5000 : 0, hash);
        return { kind: hasty ? "slow_down" : "pending" };
      })
      .immediate();
  }

  /**
   * Deletes codes ten minutes after they have expired, so that a late poll is still answered `expired_token`. Codes of
   * the future were asked for by a clock that was ahead: they would be open until it is that late.
   */
  purge(now: number): void {
    this.db.query("DELETE FROM codes WHERE expires_at < ? OR asked_at > ?").run(now - 600_000, now + 600_000);
  }
}

interface CodeRow {
  readonly state: "pending" | "approved" | "denied";
  readonly account: string | null;
  readonly interval_ms: number;
  readonly expires_at: number;
  readonly polled_at: number | null;
  readonly thumbprint: string;
  readonly decided_by: string;
}
