/** Enrolment keys: what lets machines in without a person. */
import type { Database } from "bun:sqlite";
import { digest, rowOf } from "./digest.ts";

/** Times in milliseconds since 1970. */
export interface EnrollKey {
  readonly id: string;
  readonly label: string;
  /** What the devices that it lets in are tagged with. */
  readonly tags: readonly string[];
  readonly account: string;
  /** How often it can be used; null for any number of times. */
  readonly usesMax: number | null;
  readonly uses: number;
  readonly expiresAt: number | null;
  readonly createdAt: number;
  readonly createdBy: string;
  readonly usedAt: number | null;
  readonly revokedAt: number | null;
  readonly revokedBy: string | null;
}

export interface NewEnrollKey {
  readonly id: string;
  /** The whole text that is shown once. */
  readonly secret: string;
  readonly label: string;
  readonly tags: readonly string[];
  readonly account: string;
  readonly usesMax: number | null;
  readonly expiresAt: number | null;
  readonly by: string;
}

export type KeyUse =
  | { readonly kind: ReturnType<typeof enrollKeyState>; readonly key: EnrollKey }
  | { readonly kind: "unknown"; readonly key?: undefined };

/** Whether a key can be used, or why not: a revoked one is called revoked, whatever else it is. */
export function enrollKeyState(key: EnrollKey, now: number): "ok" | "used" | "revoked" | "expired" {
  if (key.revokedAt !== null) return "revoked";
  if (key.expiresAt !== null && key.expiresAt <= now) return "expired";
  return key.usesMax !== null && key.uses >= key.usesMax ? "used" : "ok";
}

export class EnrollKeys {
  constructor(readonly db: Database) {}

  create(key: NewEnrollKey, now: number): void {
    const sql = `INSERT INTO enroll_keys (id, hash, label, tags, account, uses_max, expires_at, created_at, created_by)
      VALUES ($id, $hash, $label, $tags, $account, $usesMax, $expiresAt, $now, $by)`;
    const { secret, tags, ...row } = key;
    this.db.query(sql).run({ ...row, hash: digest(secret), tags: JSON.stringify(tags), now });
  }

  /** Looks a key up, and whether it can be used: `ok`. */
  find(secret: string, now: number): KeyUse {
    const row = rowOf<KeyRow>(this.db, `SELECT hash, ${COLUMNS} WHERE hash = $hash`, secret);
    if (row === undefined) return { kind: "unknown" };
    const key = entry(row);
    return { kind: enrollKeyState(key, now), key };
  }

  /**
   * Uses a key once. To be called in one transaction with what it lets in: a use without a device would be lost.
   * @returns the key as it is afterwards
   */
  use(secret: string, now: number): KeyUse {
    return this.db
      .transaction((): KeyUse => {
        const found = this.find(secret, now);
        if (found.kind !== "ok") return found;
        const { key } = found;
        this.db.query("UPDATE enroll_keys SET uses = uses + 1, used_at = ? WHERE id = ?").run(now, key.id);
        return { kind: "ok", key: { ...key, uses: key.uses + 1, usedAt: now } };
      })
      .immediate();
  }

  get(id: string): EnrollKey | undefined {
    const row = this.db.query<KeyRow, [string]>(`SELECT ${COLUMNS} WHERE id = ?`).get(id);
    return row === null ? undefined : entry(row);
  }

  /** Last made first. */
  list(): EnrollKey[] {
    return this.db.query<KeyRow, []>(`SELECT ${COLUMNS} ORDER BY created_at DESC, id DESC`).all().map(entry);
  }

  /** False if there is no such key, or it is revoked already. */
  revoke(id: string, by: string, now: number): boolean {
    const sql = "UPDATE enroll_keys SET revoked_at = ?, revoked_by = ? WHERE id = ? AND revoked_at IS NULL";
    return this.db.query(sql).run(now, by, id).changes === 1;
  }
}

const COLUMNS = `id, label, tags, account, uses_max AS usesMax, uses, expires_at AS expiresAt,
  created_at AS createdAt, created_by AS createdBy, used_at AS usedAt, revoked_at AS revokedAt, revoked_by AS revokedBy
  FROM enroll_keys`;

type KeyRow = Omit<EnrollKey, "tags"> & { readonly tags: string };

function entry(row: KeyRow): EnrollKey {
  return { ...row, tags: JSON.parse(row.tags) as string[] };
}
