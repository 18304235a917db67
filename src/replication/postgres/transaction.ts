/** Transactions that hold the lock of a collection. */
import type { Head } from "../engine.ts";
import type { Connection } from "./connection.ts";

/** How much earlier the server's deadline passes than ours, so that its error comes and the session stays usable. */
const MARGIN_MS = 1000;

const milliseconds = (ms: number) => Math.max(1, Math.round(ms));

/**
 * Begins a transaction whose locks are waited for `lockMs` each. Where the server is set to lose the last commits in a
 * crash (`synchronous_commit = off`), this transaction is not.
 */
export async function begin(connection: Connection, lockMs: number): Promise<void> {
  const { statement, idle } = connection.deadlines;
  await connection.query(
    `begin isolation level read committed;
     set local statement_timeout = ${milliseconds(lockMs + statement)};
     set local lock_timeout = ${milliseconds(lockMs)};
     set local idle_in_transaction_session_timeout = ${milliseconds(idle)};
     select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'`,
  );
}

const COLUMNS = "generation, manifest, files::text as files, commit::text as commit";

function headOf(row: Record<string, unknown> | undefined): Head | undefined {
  if (row === undefined) return undefined;
  return {
    generation: Number(row.generation),
    manifest: new Uint8Array(row.manifest as Uint8Array),
    files: JSON.parse(row.files as string),
    commit: row.commit as string,
  };
}

/** The head of a collection, without a lock. */
export async function readHead(connection: Connection, collection: string): Promise<Head | undefined> {
  const [row] = await connection.query(`select ${COLUMNS} from svc.svc_head where collection = $1`, [collection]);
  return headOf(row);
}

/**
 * Locks a collection until the transaction ends, and reads its head. Where there is no row to lock, the lock is one on
 * the name: two nodes may make one collection at the same time.
 */
export async function lockHead(connection: Connection, collection: string, lockMs: number): Promise<Head | undefined> {
  const lock = `select ${COLUMNS} from svc.svc_head where collection = $1 for update`;
  const until = performance.now() + lockMs;
  const [row] = await connection.query(lock, [collection], lockMs + MARGIN_MS + connection.deadlines.statement);
  if (row !== undefined) return headOf(row);
  const left = Math.max(1, until - performance.now());
  await connection.query(
    "select set_config('lock_timeout', $2, true), pg_advisory_xact_lock(hashtextextended('svc ' || $1, 0))",
    [collection, String(milliseconds(left))],
    left + MARGIN_MS + connection.deadlines.statement,
  );
  const [made] = await connection.query(lock, [collection], lockMs + MARGIN_MS + connection.deadlines.statement);
  return headOf(made);
}
