/** The tables of an authority's ledger, and how an older ledger gets them. */
import type { Database } from "bun:sqlite";

/** The version of the tables below, in SQLite's `user_version`. */
export const LEDGER_VERSION = 3;

/**
 * Columns that came after version 1 have defaults: an older executable can still add a row in a home that it shares
 * with a newer one. Numbers of rows that order them are keys of their own, as VACUUM may change those that SQLite
 * gives.
 */
const TABLES = `
CREATE TABLE IF NOT EXISTS codes (hash TEXT PRIMARY KEY, user_hash TEXT NOT NULL UNIQUE, state TEXT NOT NULL,
  account TEXT, interval_ms INTEGER NOT NULL, asked_at INTEGER NOT NULL DEFAULT 0, expires_at INTEGER NOT NULL,
  polled_at INTEGER, address TEXT NOT NULL DEFAULT '', address_group TEXT NOT NULL DEFAULT '',
  platform TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE IF NOT EXISTS tokens (hash TEXT PRIMARY KEY, account TEXT NOT NULL, expires_at INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS api_keys (hash TEXT PRIMARY KEY, account TEXT NOT NULL, device_id TEXT NOT NULL,
  created_at INTEGER NOT NULL, UNIQUE (account, device_id)) STRICT;
CREATE TABLE IF NOT EXISTS nonces (hash TEXT PRIMARY KEY, device_id TEXT NOT NULL, thumbprint TEXT NOT NULL,
  expires_at INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS devices (id TEXT PRIMARY KEY, thumbprint TEXT NOT NULL, public_key TEXT NOT NULL,
  platform TEXT NOT NULL, host_hash TEXT NOT NULL, account TEXT NOT NULL, registered_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS licenses (id TEXT PRIMARY KEY, device_id TEXT REFERENCES devices (id),
  tier TEXT NOT NULL, issued_at INTEGER NOT NULL, expires_at INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS enroll_keys (id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, label TEXT NOT NULL,
  tags TEXT NOT NULL, account TEXT NOT NULL, uses_max INTEGER, uses INTEGER NOT NULL DEFAULT 0, expires_at INTEGER,
  created_at INTEGER NOT NULL, created_by TEXT NOT NULL, used_at INTEGER, revoked_at INTEGER, revoked_by TEXT) STRICT;
CREATE TABLE IF NOT EXISTS admins (name TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS audit (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, event TEXT NOT NULL,
  actor TEXT NOT NULL, device TEXT, address TEXT, detail TEXT) STRICT;
CREATE TABLE IF NOT EXISTS license_keys (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
  private_pem TEXT NOT NULL, public_pem TEXT NOT NULL, created_at INTEGER NOT NULL, statement TEXT) STRICT;
CREATE TABLE IF NOT EXISTS probe (id INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT;
`;

const INDEXES = `
CREATE INDEX IF NOT EXISTS tokens_expire ON tokens (expires_at);
CREATE INDEX IF NOT EXISTS nonces_expire ON nonces (expires_at);
CREATE INDEX IF NOT EXISTS devices_key ON devices (thumbprint);
CREATE INDEX IF NOT EXISTS devices_registered ON devices (registered_at, id);
CREATE INDEX IF NOT EXISTS licenses_device ON licenses (device_id, issued_at);
CREATE INDEX IF NOT EXISTS audit_device ON audit (device) WHERE device IS NOT NULL;
CREATE INDEX IF NOT EXISTS audit_event ON audit (event);
`;

/** Columns of version 3. */
const COLUMNS: Record<string, Record<string, string>> = {
  codes: { thumbprint: "TEXT NOT NULL DEFAULT ''", decided_by: "TEXT NOT NULL DEFAULT ''" },
  tokens: { thumbprint: "TEXT", device_id: "TEXT" },
  devices: {
    name: "TEXT NOT NULL DEFAULT ''",
    tags: "TEXT NOT NULL DEFAULT '[]'",
    enrolled_by: "TEXT",
    licensed_at: "INTEGER",
    license_ends: "INTEGER",
    revoked_at: "INTEGER",
    revoked_by: "TEXT",
  },
};

/** In version 2 every licence had a device. SQLite changes no column in place. */
const LICENSES = `
CREATE TABLE licenses_new (id TEXT PRIMARY KEY, device_id TEXT REFERENCES devices (id),
  tier TEXT NOT NULL, issued_at INTEGER NOT NULL, expires_at INTEGER NOT NULL) STRICT;
INSERT INTO licenses_new SELECT id, device_id, tier, issued_at, expires_at FROM licenses;
DROP TABLE licenses;
ALTER TABLE licenses_new RENAME TO licenses;
`;

/** An older executable has recorded licences with their devices only. */
const LAST_LICENSES = `
UPDATE devices SET (licensed_at, license_ends) = (SELECT issued_at, expires_at FROM licenses
  WHERE device_id = devices.id ORDER BY issued_at DESC LIMIT 1)
  WHERE EXISTS (SELECT 1 FROM licenses WHERE device_id = devices.id AND issued_at > coalesce(licensed_at, 0));
`;

/** The version of a ledger's tables; 0 of an empty one. */
export function ledgerVersion(db: Database): number {
  return db.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
}

/**
 * Makes the tables and columns that are missing. An older executable sets its own number again when it opens a newer
 * ledger: what there is to do is decided by the columns. Codes live for minutes: their first table, which had fewer
 * columns, is replaced.
 */
export function applySchema(db: Database): void {
  if (ledgerVersion(db) === LEDGER_VERSION) return;
  const upgrade = db.transaction(() => {
    if (columnsOf(db, "codes").length > 0 && !has(db, "codes", "asked_at")) db.run("DROP TABLE codes");
    db.run(TABLES);
    for (const [table, columns] of Object.entries(COLUMNS)) {
      for (const [name, type] of Object.entries(columns)) {
        if (!has(db, table, name)) db.run(`ALTER TABLE ${table} ADD COLUMN ${name} ${type}`);
      }
    }
    if (columnsOf(db, "licenses").some(({ name, notnull }) => name === "device_id" && notnull)) db.run(LICENSES);
    db.run(INDEXES);
    db.run(LAST_LICENSES);
    db.run(`PRAGMA user_version = ${LEDGER_VERSION}`);
  });
  upgrade.immediate();
}

function columnsOf(db: Database, table: string): { readonly name: string; readonly notnull: number }[] {
  return db.query<{ name: string; notnull: number }, []>(`PRAGMA table_info(${table})`).all();
}

function has(db: Database, table: string, column: string): boolean {
  return columnsOf(db, table).some(({ name }) => name === column);
}
