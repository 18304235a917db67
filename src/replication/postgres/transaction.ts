/** Transactions that hold the lock of a collection. */
import type { Head } from "../engine.ts";
import type { Connection, Deadlines, Rows } from "./connection.ts";

/** How much earlier the server's deadline passes than ours, so that its error comes and the session stays usable. */
const MARGIN_MS = 1000;

const milliseconds = (ms: number) => Math.max(1, Math.round(ms));

/**
 * Begins a transaction whose locks are waited for `lockMs` each. Where the server is set to lose the last commits in a
 * crash (`synchronous_commit = off`), this transaction is not.
 */
function beginning({ statement, idle }: Deadlines, lockMs: number): string {
  return `begin isolation level read committed;
     set local statement_timeout = ${milliseconds(lockMs + statement)};
     set local lock_timeout = ${milliseconds(lockMs)};
     set local idle_in_transaction_session_timeout = ${milliseconds(idle)};
     select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'`;
}

/** As `beginning`. */
export async function begin(connection: Connection, lockMs: number): Promise<void> {
  await connection.query(beginning(connection.deadlines, lockMs));
}

const COLUMNS = "generation, manifest, files::text as files, commit::text as commit, log::text as log";

function headOf(row: Record<string, unknown> | undefined): Head | undefined {
  if (row === undefined) return undefined;
  return {
    generation: Number(row.generation),
    manifest: new Uint8Array(row.manifest as Uint8Array),
    files: JSON.parse(row.files as string),
    commit: row.commit as string,
    log: row.log as string,
  };
}

/** The head of a collection, without a lock. */
export async function readHead(connection: Connection, collection: string): Promise<Head | undefined> {
  const [row] = await connection.query(`select ${COLUMNS} from svc.svc_head where collection = $1`, [collection]);
  return headOf(row);
}

const lockOf = (collection: string) =>
  `select ${COLUMNS} from svc.svc_head where collection = ${collection} for update`;

/** A text as SQL has it, whatever `standard_conforming_strings` is: several statements cannot have values. */
const quoted = (text: string) => `E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;

/** `begin` and `lockHead` in one round trip, unless the collection is new. */
export async function beginLocked(
  connection: Connection,
  collection: string,
  lockMs: number,
): Promise<Head | undefined> {
  const until = performance.now() + lockMs;
  const text = `${beginning(connection.deadlines, lockMs)};\n     ${lockOf(quoted(collection))}`;
  const results = await connection.query(text, [], lockMs + MARGIN_MS + connection.deadlines.statement);
  const [row] = results.at(-1) as unknown as Rows;
  return row === undefined ? lockName(connection, collection, until) : headOf(row);
}

/**
 * Locks a collection until the transaction ends, and reads its head. Where there is no row to lock, the lock is one on
 * the name: two nodes may make one collection at the same time.
 */
export async function lockHead(connection: Connection, collection: string, lockMs: number): Promise<Head | undefined> {
  const until = performance.now() + lockMs;
  const ms = lockMs + MARGIN_MS + connection.deadlines.statement;
  const [row] = await connection.query(lockOf("$1"), [collection], ms);
  return row === undefined ? lockName(connection, collection, until) : headOf(row);
}

/** Locks the name of a collection that has no row, and then its row, which another node may have made meanwhile. */
async function lockName(connection: Connection, collection: string, until: number): Promise<Head | undefined> {
  const left = Math.max(1, until - performance.now());
  const ms = left + MARGIN_MS + connection.deadlines.statement;
  await connection.query(
    "select set_config('lock_timeout', $2, true), pg_advisory_xact_lock(hashtextextended('svc ' || $1, 0))",
    [collection, String(milliseconds(left))],
    ms,
  );
  const [made] = await connection.query(lockOf("$1"), [collection], ms);
  return headOf(made);
}
