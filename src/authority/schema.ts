/** The tables of an authority's ledger. */
import type { Database } from "bun:sqlite";

const VERSION = 2;

/** Columns that came after version 1 have defaults, so that an executable of before can still add a code. */
const SCHEMA = `
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
CREATE TABLE IF NOT EXISTS licenses (id TEXT PRIMARY KEY, device_id TEXT NOT NULL REFERENCES devices (id),
  tier TEXT NOT NULL, issued_at INTEGER NOT NULL, expires_at INTEGER NOT NULL) STRICT;
PRAGMA user_version = ${VERSION};
`;

/** Makes the tables that are missing. Codes live for minutes: an older table of them is replaced, not migrated. */
export function applySchema(db: Database): void {
  const upgrade = db.transaction(() => {
    const row = db.query<{ user_version: number }, []>("PRAGMA user_version").get();
    if ((row?.user_version ?? 0) < VERSION) db.run("DROP TABLE IF EXISTS codes");
    db.run(SCHEMA);
  });
  upgrade.immediate();
}
