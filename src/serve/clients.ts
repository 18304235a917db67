/** The clients of a server: accepting, refusing and dropping connections. */

import type { Log } from "../log.ts";
import { encodeFrame } from "../wire/frame.ts";
import { Connection } from "./connection.ts";
import { type Client, type Handlers, wireOf } from "./listen.ts";
import type { Session } from "./session.ts";
import { CLOSED } from "./watch.ts";

/** How long a refused connection may read the reason, and how many may do so at once. */
const TURN_AWAY_MS = 500;
const TURNED_AWAY_MAX = 256;

/** How long after their limit is exceeded the oldest unauthenticated connections are dropped. */
const THIN_MS = 100;

export class Clients {
  private readonly connections = new Map<Connection, Client>();
  /** In the order of their arrival. */
  private readonly unauthenticated = new Set<Connection>();
  private turnedAway = 0;
  private thinning: Timer | undefined;

  constructor(
    private readonly session: Session,
    private readonly log: Log,
  ) {}

  get count(): number {
    return this.connections.size;
  }

  get unauthenticatedCount(): number {
    return this.unauthenticated.size;
  }

  /** The sockets' event handlers. */
  readonly handlers: Handlers = {
    open: (socket: Client) => this.open(socket),
    data: (socket: Client, chunk: Buffer) => socket.data?.connection?.data(chunk, now()),
    drain: (socket: Client) => socket.data?.connection?.drained(),
    end: (socket: Client) => socket.data?.connection?.ended(now()),
    close: (socket: Client) => this.closed(socket),
    error: (socket: Client, error: Error) => {
      if (socket.data?.connection) this.broken(socket.data.connection, error);
      else socket.terminate();
    },
  };

  /** A connection has shown its token. */
  authenticated(connection: Connection): void {
    this.unauthenticated.delete(connection);
  }

  /** A connection is closed because of what it sent. */
  refused(connection: Connection, error: string, why: string): void {
    const address = this.connections.get(connection)?.remoteAddress ?? "a local process";
    this.log({
      level: "warn",
      event: error.startsWith("unauthorized") ? "unauthorized" : "bad_request",
      message: `closed a connection of ${address}: ${why}`,
      fields: { address, why },
    });
  }

  /** A connection failed by an error of the server. */
  broken(connection: Connection, error: unknown): void {
    const message = `internal error: ${error instanceof Error ? error.message : String(error)}`;
    this.log({ level: "error", event: "internal_error", message });
    // The client must not wait for a reply that will not come.
    this.drop(connection, message);
  }

  /**
   * Answers the requests that have arrived, accepts none, and waits up to `seconds` for clients to read the replies.
   */
  async finish(seconds: number): Promise<void> {
    clearTimeout(this.thinning);
    const time = now();
    for (const connection of [...this.connections.keys()]) connection.end(time);
    const isBusy = () => [...this.connections.keys()].some((connection) => !connection.isDrained);
    while (isBusy() && now() < time + seconds) await Bun.sleep(5);
  }

  dropAll(): void {
    for (const connection of [...this.connections.keys()]) this.drop(connection, CLOSED);
  }

  private open(socket: Client): void {
    this.session.counters.accepted++;
    socket.data = { connection: undefined };
    if (this.connections.size >= this.session.limits.connectionsMax) this.thin();
    if (this.connections.size >= this.session.limits.connectionsMax) {
      this.session.counters.refused++;
      const error = `RuntimeError: the server has ${this.connections.size} connections, its limit: try again later`;
      this.log({ level: "warn", event: "too_many_connections", message: "refused a connection: there are too many" });
      this.turnAway(socket, encodeFrame(JSON.stringify({ ok: false, error })));
      return;
    }
    const connection = new Connection(wireOf(socket), this.session, now());
    socket.data = { connection };
    this.connections.set(connection, socket);
    if (!this.session.token) return;
    this.unauthenticated.add(connection);
    if (this.unauthenticated.size > this.session.limits.unauthenticatedMax)
      this.thinning ??= setTimeout(() => this.thin(), THIN_MS);
  }

  /**
   * Drops the oldest unauthenticated connections; after a delay, since a legitimate client's token is already under
   * way.
   */
  private thin(): void {
    this.thinning = undefined;
    const surplus = this.unauthenticated.size - this.session.limits.unauthenticatedMax;
    for (const connection of [...this.unauthenticated].slice(0, Math.max(0, surplus))) {
      this.drop(connection, "too many connections did not authenticate yet");
    }
  }

  /** Sends the reason and closes. Input is read and discarded meanwhile: a reset would overtake the reason. */
  private turnAway(socket: Client, reason: Buffer): void {
    if (this.turnedAway >= TURNED_AWAY_MAX) {
      socket.terminate();
      return;
    }
    this.turnedAway++;
    socket.write(reason);
    socket.shutdown();
    setTimeout(() => {
      this.turnedAway--;
      socket.terminate();
    }, TURN_AWAY_MS);
  }

  private closed(socket: Client): void {
    const connection = socket.data?.connection;
    if (!connection) return;
    socket.data.connection = undefined;
    connection.gone();
    this.connections.delete(connection);
    this.unauthenticated.delete(connection);
  }

  private drop(connection: Connection, why: string): void {
    const socket = this.connections.get(connection);
    if (!socket) return;
    this.session.counters.dropped++;
    const address = socket.remoteAddress ?? "a local process";
    if (why !== CLOSED) {
      this.log({
        level: "info",
        event: "dropped",
        message: `dropped a connection of ${address}: ${why}`,
        fields: { address, why },
      });
    }
    this.closed(socket);
    socket.terminate();
  }

  /** Drops the connections that exceed a time limit. */
  check(): void {
    const time = now();
    for (const connection of [...this.connections.keys()]) {
      const why = connection.check(time);
      if (why !== undefined) this.drop(connection, why);
    }
  }

  /** There is memory again: paused connections check whether they may read on. */
  wake(): void {
    for (const connection of [...this.connections.keys()]) connection.wake();
  }
}

/** Seconds of a monotonic clock. */
function now(): number {
  return performance.now() / 1000;
}
