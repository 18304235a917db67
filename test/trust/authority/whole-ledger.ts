/** What has to hold between the rows of an organisation's ledger after any end of its server, read without any code of svc. */
import { Database } from "bun:sqlite";

/** Each finds the rows that should not be, with what is wrong with them. */
const CHECKS: readonly [wrong: string, sql: string][] = [
  ["the file is damaged", "SELECT integrity_check AS row FROM pragma_integrity_check WHERE integrity_check <> 'ok'"],
  ["a row refers to none", `SELECT "table" AS row FROM pragma_foreign_key_check`],
  [
    "a device has no licence",
    "SELECT id AS row FROM devices WHERE NOT EXISTS (SELECT 1 FROM licenses WHERE device_id = devices.id)",
  ],
  ["a device does not know of its licence", "SELECT id AS row FROM devices WHERE licensed_at IS NULL"],
  [
    "a device has no API key",
    "SELECT id AS row FROM devices WHERE NOT EXISTS (SELECT 1 FROM api_keys WHERE device_id = devices.id)",
  ],
  [
    "an enrolment key was used without a device",
    `SELECT id AS row FROM enroll_keys
      WHERE uses <> (SELECT count(*) FROM devices WHERE enrolled_by = enroll_keys.id)`,
  ],
  [
    "a device came by an enrolment key without an entry in the audit log",
    `SELECT id AS row FROM devices WHERE enrolled_by IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM audit WHERE event = 'device_enrolled' AND device = devices.id)`,
  ],
  [
    "the audit log has a device that is not there",
    "SELECT device AS row FROM audit WHERE device IS NOT NULL AND device NOT IN (SELECT id FROM devices)",
  ],
  [
    "a token is bound to a device that is not there",
    "SELECT hash AS row FROM tokens WHERE device_id IS NOT NULL AND device_id NOT IN (SELECT id FROM devices)",
  ],
];

/**
 * What is wrong with a ledger, a line each; nothing where it is whole. Devices that enrol twice by one key would be
 * counted as one: a test lets each enrol once.
 */
export function wrongIn(path: string): string[] {
  // Not read-only: after a kill the write-ahead log has to be recovered, which makes files.
  const db = new Database(path, { readwrite: true, strict: true });
  try {
    return CHECKS.flatMap(([wrong, sql]) =>
      db
        .query<{ row: string }, []>(sql)
        .all()
        .map(({ row }) => `${wrong}: ${row}`),
    );
  } finally {
    db.close();
  }
}

/** How many rows a table has. */
export function rowsOf(path: string, table: "devices" | "licenses" | "audit" | "enroll_keys"): number {
  const db = new Database(path, { readwrite: true, strict: true });
  try {
    return db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()!.n;
  } finally {
    db.close();
  }
}
