/** What became of a commit whose answer did not come. */
import { EngineError } from "../engine.ts";
import type { Connection } from "./connection.ts";
import type { Pool } from "./pool.ts";
import { begin, lockHead } from "./transaction.ts";

/** Between two attempts, at random up to this, so that nodes that lost one server do not return at once. */
const PAUSE_MS_MAX = 500;

/**
 * Sends `commit`.
 * @returns whether it is certain that the server made the transaction durable; false: the answer did not come
 * @throws EngineError `again` where it is certain that the server did not
 */
export async function sendCommit(connection: Connection): Promise<boolean> {
  let command: string | undefined;
  try {
    ({ command } = await connection.query("commit"));
  } catch (error) {
    // A statement that failed in a session that goes on is a definite refusal: a serialisation failure, a deadlock.
    if (connection.isOpen) throw error;
    return false;
  }
  if (command === "COMMIT") return true;
  throw new EngineError("again", `PostgreSQL at ${connection.host.text}: the transaction was rolled back`);
}

/**
 * Finds out whether a transaction that held the lock of a collection was committed. Its session may live on without
 * us, so the lock is regained first: the session has ended by then, and what `look` reads is final. The commit at the
 * end waits, like any other, until all that was read is on the synchronous standbys too.
 * @param what names the commit in the error
 * @throws EngineError `unknown` where no server answers for long enough that the old session has surely ended
 */
export async function confirm(
  pool: Pool,
  collection: string,
  look: (connection: Connection) => Promise<boolean>,
  what: string,
): Promise<boolean> {
  const { connect, lock, idle } = pool.deadlines;
  const until = performance.now() + connect + lock + idle;
  for (;;) {
    const left = until - performance.now();
    let cause: unknown;
    try {
      return await attempt(pool, collection, look, Math.max(1, left));
    } catch (error) {
      cause = error;
    }
    if (performance.now() >= until) {
      const reason = cause instanceof Error ? cause.message : "no server answers";
      throw new EngineError("unknown", `it is unknown whether ${what} was made: ${reason}`, { cause });
    }
    await new Promise((done) => setTimeout(done, Math.random() * PAUSE_MS_MAX));
  }
}

async function attempt(
  pool: Pool,
  collection: string,
  look: (connection: Connection) => Promise<boolean>,
  lockMs: number,
): Promise<boolean> {
  const connection = await pool.open();
  try {
    await begin(connection, lockMs);
    await lockHead(connection, collection, lockMs);
    const found = await look(connection);
    if (!(await sendCommit(connection))) throw new EngineError("away", "the server was cut off again");
    pool.release(connection);
    return found;
  } catch (error) {
    connection.close();
    throw error;
  }
}
