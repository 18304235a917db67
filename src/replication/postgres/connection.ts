/** One session with a server. Each call has a deadline, because Bun's client waits for ever on a peer that is silent. */
import { SQL } from "bun";
import { EngineError } from "../engine.ts";
import { engineError, isSessionLost, Overdue } from "./errors.ts";
import type { Host, Target } from "./url.ts";

/** In milliseconds. */
export interface Deadlines {
  /** Until a host has accepted a connection and answered. */
  connect: number;
  /** Until a statement is answered. */
  statement: number;
  /** Until a lock is granted, where the call does not say. */
  lock: number;
  /** How long a lease may be idle before the server ends it. */
  idle: number;
}

/** What all connections of an engine have in common. */
export interface Settings {
  readonly deadlines: Deadlines;
  /** As the server's list of sessions shows it. */
  readonly applicationName: string;
}

/** Rows, and what the server says of the statement. */
export type Rows = Record<string, unknown>[] & { command?: string; count?: number };

/** The oldest version with all that the statements use. */
const OLDEST_VERSION = 120_000;

/** How late a timer is only where the process was suspended or busy. */
const LATE_MS = 200;

/** Rejects where a promise is not settled in time. After a suspension, answers that have come meanwhile are read first. */
export async function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: Timer | undefined;
  const overdue = new Promise<never>((_, reject) => {
    const due = performance.now() + ms;
    const end = () => reject(new Overdue(ms));
    timer = setTimeout(() => {
      if (performance.now() < due + LATE_MS) end();
      else timer = setTimeout(end, LATE_MS);
    }, ms);
  });
  try {
    return await Promise.race([promise, overdue]);
  } finally {
    clearTimeout(timer);
  }
}

/** The options of a client with one connection. Nothing is prepared, so that PgBouncer may stand in between. */
export function clientOptions(host: Host, target: Target, settings: Settings): Bun.SQL.Options {
  return {
    adapter: "postgres",
    hostname: host.name,
    port: host.port,
    tls: host.tls,
    username: target.user,
    password: target.password(),
    database: target.database,
    max: 1,
    prepare: false,
    idleTimeout: 0,
    maxLifetime: 0,
    connectionTimeout: settings.deadlines.connect / 1000,
    connection: { application_name: settings.applicationName },
  };
}

/** A session is never repaired: it is closed after a cut, a missed deadline, or when the server ends it. */
export class Connection {
  readonly #sql: SQL;
  #session: Bun.ReservedSQL | undefined;
  /** When it was last returned to the pool, by `performance.now()`; 0: it is new. */
  idleSince = 0;

  private constructor(
    readonly host: Host,
    readonly deadlines: Deadlines,
    sql: SQL,
  ) {
    this.#sql = sql;
  }

  /**
   * @param use of the session: a server that accepts only reads is good for `reads`
   * @throws EngineError `away` or `refused`, also where the server accepts only reads
   */
  static async open(
    host: Host,
    target: Target,
    settings: Settings,
    use: "reads" | "writes" = "writes",
  ): Promise<Connection> {
    const { deadlines } = settings;
    const sql = new SQL(clientOptions(host, target, settings));
    const connection = new Connection(host, deadlines, sql);
    try {
      connection.#session = await within(sql.reserve(), deadlines.connect);
      const [server] = await within<Rows>(connection.#session.unsafe(SERVER), deadlines.connect);
      check(server!, host, use);
      return connection;
    } catch (error) {
      connection.close();
      throw engineError(error, host.text, "connect");
    }
  }

  /** Whether the session can still be used. */
  get isOpen(): boolean {
    return this.#session !== undefined;
  }

  /**
   * Runs one statement; several, separated by semicolons, where there are no values.
   * @throws EngineError whose cause is the client's error
   */
  async query(text: string, values: readonly unknown[] = [], ms = this.deadlines.statement): Promise<Rows> {
    if (this.#session === undefined) {
      throw new EngineError("again", `PostgreSQL at ${this.host.text}: the connection is closed`);
    }
    try {
      return await within<Rows>(this.#session.unsafe(text, [...values]), ms);
    } catch (error) {
      if (isSessionLost(error)) this.close();
      throw engineError(error, this.host.text, "statement");
    }
  }

  /** Cuts the session; the server rolls back what it did not commit. */
  close(): void {
    this.#session = undefined;
    this.#sql.close({ timeout: 0 }).catch(() => {});
  }
}

const SERVER = `select current_setting('transaction_read_only') as read_only,
  current_setting('server_encoding') as encoding, current_setting('server_version_num')::int as version`;

function check({ read_only, encoding, version }: Record<string, unknown>, host: Host, use: "reads" | "writes"): void {
  const refuse = (text: string) => new EngineError("refused", `PostgreSQL at ${host.text}: ${text}`);
  if (Number(version) < OLDEST_VERSION) throw refuse(`the server is too old; svc needs PostgreSQL 12 or newer`);
  if (encoding !== "UTF8") {
    throw refuse(`the database has the encoding ${encoding}; create one with ENCODING 'UTF8' and TEMPLATE template0`);
  }
  if (use === "writes" && read_only !== "off") {
    const advice = "name the host that accepts writes, or all hosts separated by commas";
    throw new EngineError(
      "away",
      `PostgreSQL at ${host.text}: the server accepts only reads, as a standby does; ${advice}`,
    );
  }
}
