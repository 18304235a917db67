/** A client of PostgreSQL as the tests of the harness use it: Bun's, with one connection. */
import { SQL } from "bun";
import { closedAtEnd } from "../opened.ts";

/** How Bun reports a connection that ended. */
export const LOST = "ERR_POSTGRES_CONNECTION_CLOSED";

/** How long a call has to be without an answer to count as silent. */
const SILENCE_MS = 300;

/** Connects at the first query. The connection ends with the test. */
export function client(url: string, options: Bun.SQL.PostgresOrMySQLOptions = {}): SQL {
  const sql = new SQL(url, { max: 1, ...options });
  closedAtEnd({ close: () => sql.close({ timeout: 0 }) });
  return sql;
}

/** A client of a new table, with one row: 1. */
export async function clientWithTable(url: string): Promise<SQL> {
  const sql = client(url);
  await sql`create table t (x int primary key, bytes bytea)`;
  await add(sql, 1);
  return sql;
}

/** Adds a row. */
export async function add(sql: SQL, x: number): Promise<void> {
  await sql`insert into t (x) values (${x})`;
}

/** Adds a row in a transaction of several statements. */
export function commit(sql: SQL, x: number): Promise<void> {
  return sql.begin((transaction) => add(transaction, x));
}

/** The rows that the table has. */
export async function rows(sql: SQL): Promise<number[]> {
  return (await sql`select x from t order by x`).map(({ x }: { x: number }) => x);
}

/** The code of a call that fails: the SQLSTATE from the server, or the client's own code. */
export async function failure(call: PromiseLike<unknown>): Promise<string | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    const { errno, code, message } = error as { errno?: string | number; code?: string; message: string };
    return typeof errno === "string" ? errno : (code ?? message);
  }
}

/** Whether a call has no answer for a while. */
export async function isSilent(call: PromiseLike<unknown>): Promise<boolean> {
  const answer = Promise.resolve(call).then(
    () => false,
    () => false,
  );
  return Promise.race([answer, Bun.sleep(SILENCE_MS).then(() => true)]);
}
