/** Connections to the host that accepts writes, which is looked for again after a failover. */
import { EngineError } from "../engine.ts";
import { Connection, type Deadlines, type Settings } from "./connection.ts";
import { stateOf } from "./errors.ts";
import type { Host, Target } from "./url.ts";

/** Idle connections that are not closed. */
const IDLE_MAX = 4;
/** Firewalls forget connections that are idle for minutes, silently. */
const IDLE_MS_MAX = 60_000;

export class Pool {
  readonly #target: Target;
  #idle: Connection[] = [];
  /** The index of the host that accepted writes last. */
  #current = 0;
  #isClosed = false;
  readonly #background = new Set<Promise<void>>();

  constructor(
    target: Target,
    readonly settings: Settings,
  ) {
    this.#target = target;
  }

  /** The host that accepted writes last. */
  get host(): Host {
    return this.#target.hosts[this.#current]!;
  }

  get deadlines(): Deadlines {
    return this.settings.deadlines;
  }

  /** Opens a connection to the first host that accepts writes, beginning with the last one that did. */
  async open(): Promise<Connection> {
    if (this.#isClosed) throw new EngineError("away", "the connection to PostgreSQL has been closed by this process");
    const { hosts } = this.#target;
    const failures: EngineError[] = [];
    for (let step = 0; step < hosts.length; step++) {
      const index = (this.#current + step) % hosts.length;
      try {
        const connection = await Connection.open(hosts[index]!, this.#target, this.settings);
        if (index !== this.#current) this.clear();
        this.#current = index;
        return connection;
      } catch (error) {
        failures.push(error as EngineError);
      }
    }
    if (failures.length === 1) throw failures[0]!;
    const fault = failures.every((failure) => failure.fault === "refused") ? "refused" : "away";
    throw new EngineError(fault, failures.map((failure) => failure.message).join("\n"), { cause: failures[0] });
  }

  async #acquire(): Promise<Connection> {
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      if (connection.isOpen && performance.now() - connection.idleSince < IDLE_MS_MAX) return connection;
      connection.close();
    }
    return this.open();
  }

  /** Takes back a connection that is not in a transaction. */
  release(connection: Connection): void {
    if (!connection.isOpen) return;
    if (this.#isClosed || this.#idle.length >= IDLE_MAX || connection.host !== this.host) {
      connection.close();
      return;
    }
    connection.idleSince = performance.now();
    this.#idle.push(connection);
  }

  /** Takes back a connection after a failure, where it may be in a transaction. */
  async rollBack(connection: Connection): Promise<void> {
    await connection.query("rollback").catch(() => connection.close());
    this.release(connection);
  }

  /**
   * Runs `action` on a connection that `action` keeps if it succeeds. An idle connection that proves to be cut, or whose
   * server accepts only reads by now, is replaced by a new one: `action` must not have committed anything by then.
   */
  async start<T>(action: (connection: Connection) => Promise<T>): Promise<T> {
    for (;;) {
      const connection = await this.#acquire();
      const isReused = connection.idleSince > 0;
      try {
        return await action(connection);
      } catch (error) {
        const isGone = !connection.isOpen && error instanceof EngineError && error.fault === "again";
        const isStandby = stateOf(error) === "25006";
        if (isStandby) connection.close();
        // What cut or silenced one connection did so to the others.
        if (!connection.isOpen) this.clear();
        await this.rollBack(connection);
        if (!isReused || !(isGone || isStandby)) throw error;
      }
    }
  }

  /** Runs `action`, which may be repeated, on a connection that it returns without a transaction. */
  async run<T>(action: (connection: Connection) => Promise<T>): Promise<T> {
    return this.start(async (connection) => {
      const result = await action(connection);
      this.release(connection);
      return result;
    });
  }

  /** Closes the idle connections. */
  clear(): void {
    for (const connection of this.#idle.splice(0)) connection.close();
  }

  /** Lets `work`, which does not fail, go on after the call that began it. */
  keepRunning(work: Promise<void>): void {
    this.#background.add(work);
    void work.then(() => this.#background.delete(work));
  }

  /** Closes idle connections; those in use are closed when they are released. Resolves when no work goes on. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.clear();
    await Promise.all(this.#background);
  }
}
