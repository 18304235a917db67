/** What became of a commit whose answer did not come. */
import { EngineError } from "../engine.ts";
import type { Connection } from "./connection.ts";
import type { Pool } from "./pool.ts";
import { begin, lockHead } from "./transaction.ts";

/** Between two attempts, at random up to this, so that nodes that lost one server do not return at once. */
const PAUSE_MS_MAX = 500;

/** A transaction that held the lock of a collection, and stored its own id. */
export interface Doubtful {
  readonly collection: string;
  readonly commit: string;
  /** What it was to do, as a sentence: "'notes' was removed". */
  readonly what: string;
}

/** Notes the id of a transaction, by which `confirm` finds it. */
export const NOTE = "insert into svc.svc_commit (commit, collection, generation)";

/**
 * Looks for the id of a transaction. It is written, not only read: the commit that follows waits, like any other, until
 * all that was found is on the synchronous standbys too. Without that, a transaction may be visible and yet be lost with
 * its server, where the old session was ended while it waited for a standby.
 */
const LOOK = "update svc.svc_commit set at = now() where commit = $1::uuid returning 1 as found";

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
 * Finds out whether a transaction was committed. Where it is not found, its session may still live on without us and
 * commit later. So the lock that it held is regained: the session has ended by then, and what is found is final.
 * @throws EngineError `again` where it was not committed, `unknown` where no server answers for so long that the old
 *   session has surely ended
 */
export async function confirm(pool: Pool, doubtful: Doubtful): Promise<void> {
  const { connect, lock, idle } = pool.deadlines;
  const until = performance.now() + connect + lock + idle;
  let cause: EngineError;
  for (;;) {
    try {
      if (await attempt(pool, doubtful, Math.max(1, until - performance.now()))) return;
      break;
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      cause = error;
    }
    if (performance.now() >= until) {
      const query = `select * from svc.svc_commit where commit = '${doubtful.commit}'`;
      const text = `it is unknown whether ${doubtful.what}: ${cause.message}. Once a server answers, run this query:`;
      throw new EngineError("unknown", `${text} ${query}; a row means that it was`, { cause });
    }
    await new Promise((done) => setTimeout(done, Math.random() * PAUSE_MS_MAX));
  }
  throw new EngineError("again", `the connection was cut before ${doubtful.what}; try again`);
}

async function attempt(pool: Pool, { collection, commit }: Doubtful, lockMs: number): Promise<boolean> {
  const connection = await pool.open();
  try {
    const look = async () => (await connection.query(LOOK, [commit])).length > 0;
    await begin(connection, lockMs);
    let isFound = await look();
    if (!isFound) {
      await lockHead(connection, collection, lockMs);
      isFound = await look();
    }
    if (!(await sendCommit(connection))) throw new EngineError("away", "the connection was cut again");
    pool.release(connection);
    return isFound;
  } catch (error) {
    connection.close();
    throw error;
  }
}
