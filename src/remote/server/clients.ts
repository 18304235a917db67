/** The clients of a server: accepting, refusing and dropping connections. */

import { hasUnread } from "../../../ffi/system/process.ts";
import type { Log, LogEvent } from "../../log.ts";
import type { NamedToken } from "../tokens/named-token.ts";
import { WrongTokens } from "../tokens/wrong-tokens.ts";
import { encodeFrame } from "../wire/frame.ts";
import type { Refusal } from "./callers.ts";
import { Connection } from "./connection.ts";
import { type Client, type Handlers, wireOf } from "./listen.ts";
import { nth, RefusalLog } from "./refusal-log.ts";
import type { Session } from "./session.ts";
import { isInHandshake, sendLast } from "./tls/accept.ts";
import { CLOSED } from "./watch.ts";

/** How long clients may take to read the last frame of a server that ends, and to leave. */
const FAREWELL_S = 0.3;

/** How long a refused connection may read the reason, and how many may do so at once. */
const TURN_AWAY_MS = 500;
const TURNED_AWAY_MAX = 256;

/**
 * The age of unauthenticated connections is counted in turns of at least so long. While the event loop does something
 * else no turn ends, and what clients have sent lies unread: that time is not theirs.
 */
const TURN_MS = 100;
/** How long the token may take that a client sends right after it has connected: to be sent, to travel, to be read. */
const TOKEN_TURNS = 20;

export class Clients {
  private readonly connections = new Map<Connection, Client>();
  /** By connection: the turn from which its time counts; the longest wait first. */
  private readonly unauthenticated = new Map<Connection, number>();
  private turn = 0;
  /** Set while there are unauthenticated connections. */
  private nextTurn: Timer | undefined;
  private turnedAway = 0;
  private readonly wrongTokens = new WrongTokens();
  private readonly refusals: RefusalLog;

  constructor(
    private readonly session: Session<Connection>,
    private readonly log: Log,
  ) {
    this.refusals = new RefusalLog(log);
  }

  get count(): number {
    return this.connections.size;
  }

  get unauthenticatedCount(): number {
    return this.unauthenticated.size;
  }

  /** Open connections by the named token that they have shown. */
  countByToken(): Map<NamedToken, number> {
    const counts = new Map<NamedToken, number>();
    for (const { token } of this.connections.keys()) if (token) counts.set(token, (counts.get(token) ?? 0) + 1);
    return counts;
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
    secured: (socket: Client) => this.secured(socket),
    tlsFailed: ({ remoteAddress }: Client, why: string) => {
      const address = remoteAddress ?? "a client that has left";
      const message = `no TLS connection with ${address}: ${why}`;
      this.refusals.add(remoteAddress, { level: "info", event: "tls_failed", message, fields: { address, why } });
    },
  };

  /** A connection has shown its token. */
  authenticated(connection: Connection): void {
    this.unauthenticated.delete(connection);
  }

  /** A connection is closed because of what it sent. @returns milliseconds until it gets the reason */
  refused(connection: Connection, { error, why, isGuess }: Refusal): number {
    const { remoteAddress } = this.connections.get(connection) ?? {};
    const address = remoteAddress ?? "a local process";
    const miss = isGuess ? this.wrongTokens.miss(remoteAddress) : undefined;
    if (miss?.isLogged === false) return miss.delayMs;
    const times = miss !== undefined && miss.count > 1 ? `, the ${nth(miss.count)} from there` : "";
    const event: LogEvent = {
      level: "warn",
      event: error.startsWith("unauthorized") ? "unauthorized" : "bad_request",
      message: `closed a connection of ${address}: ${why}${times}`,
      fields: { address, why, ...(miss && { count: miss.count }) },
    };
    if (miss === undefined) this.refusals.add(remoteAddress, event);
    else this.log(event);
    return miss?.delayMs ?? 0;
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
    clearTimeout(this.nextTurn);
    const time = now();
    for (const connection of [...this.connections.keys()]) connection.end(time);
    // A client that does not go on with its handshake would hold up the end.
    const isBusy = () =>
      [...this.connections].some(([connection, socket]) => !connection.isDrained && !isInHandshake(socket));
    while (isBusy() && now() < time + seconds) await Bun.sleep(5);
    // What a client has just sent is read and dropped: a reset could overtake the last frame.
    const end = now() + FAREWELL_S;
    while (this.connections.size > 0 && now() < end) await Bun.sleep(5);
  }

  dropAll(): void {
    for (const connection of [...this.connections.keys()]) this.drop(connection, CLOSED);
  }

  private open(socket: Client): void {
    this.session.counters.accepted++;
    socket.data = { connection: undefined };
    const { connectionsMax } = this.session.limits;
    if (this.connections.size >= connectionsMax) this.makeRoom();
    if (this.connections.size >= connectionsMax) {
      this.session.counters.refused++;
      const error = `RuntimeError: the server has ${this.connections.size} connections, its limit: try again later`;
      const message = "refused a connection: there are too many";
      this.refusals.add(socket.remoteAddress, { level: "warn", event: "too_many_connections", message });
      this.turnAway(socket, error);
      return;
    }
    const connection = new Connection(wireOf(socket), this.session, now());
    socket.data = { connection };
    this.connections.set(connection, socket);
    if (!this.session.callers.needsToken) return;
    this.unauthenticated.set(connection, this.turn);
    this.nextTurn ??= setTimeout(() => this.endTurn(), TURN_MS);
  }

  /**
   * Drops the unauthenticated connections beyond their limit that have been waited for longest, once their tokens would have been read; no more at
   * a time than can get the reason.
   */
  private endTurn(): void {
    this.turn++;
    for (const connection of [...this.unauthenticated.keys()])
      if (this.waitsForServer(connection)) this.restart(connection);
    const { unauthenticatedMax } = this.session.limits;
    const surplus = Math.min(this.unauthenticated.size - unauthenticatedMax, TURNED_AWAY_MAX - this.turnedAway);
    const oldest = [...this.unauthenticated].slice(0, Math.max(0, surplus));
    const seconds = (TOKEN_TURNS * TURN_MS) / 1000;
    for (const [connection, since] of oldest) {
      if (this.turn - since < TOKEN_TURNS) break;
      this.drop(
        connection,
        "too many connections did not authenticate yet",
        `RuntimeError: this connection did not authenticate within ${seconds} seconds, and the server has more than ` +
          `${unauthenticatedMax} such connections, its limit: connect again and send auth at once`,
      );
    }
    this.nextTurn = this.unauthenticated.size > 0 ? setTimeout(() => this.endTurn(), TURN_MS) : undefined;
  }

  /**
   * Whether a client's part of the handshake lies unread. In one turn of the event loop Bun carries on five handshakes,
   * the newest first: in a crowd the oldest wait until all others are done. The time to authenticate limits them too.
   */
  private waitsForServer(connection: Connection): boolean {
    const socket = this.connections.get(connection)!;
    return isInHandshake(socket) && hasUnread(socket.fd ?? -1);
  }

  /** The time for the token begins at the end of the handshake. */
  private secured(socket: Client): void {
    if (socket.data?.connection) this.restart(socket.data.connection);
  }

  /** Counts the time of an unauthenticated connection from now on. */
  private restart(connection: Connection): void {
    if (this.unauthenticated.delete(connection)) this.unauthenticated.set(connection, this.turn);
  }

  /**
   * Drops the oldest unauthenticated connection, however new it is: where silent ones could keep their places for two
   * seconds, a flood of them would keep all others out.
   */
  private makeRoom(): void {
    const [connection] = this.unauthenticated.keys();
    if (connection === undefined) return;
    const { size } = this.connections;
    this.drop(
      connection,
      "it did not authenticate yet, and there are too many connections",
      `RuntimeError: the server has ${size} connections, its limit, and this one did not authenticate: try again later`,
    );
  }

  /** Sends the reason and closes. Input is read and discarded meanwhile: a reset would overtake the reason. */
  private turnAway(socket: Client, error: string): void {
    if (this.turnedAway >= TURNED_AWAY_MAX) {
      socket.terminate();
      return;
    }
    this.turnedAway++;
    sendLast(socket, encodeFrame(JSON.stringify({ ok: false, error })));
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

  /** @param error the reply with the reason; absent: the client gets none */
  private drop(connection: Connection, why: string, error?: string): void {
    const socket = this.connections.get(connection);
    if (!socket) return;
    this.session.counters.dropped++;
    if (why !== CLOSED) {
      const { remoteAddress } = socket;
      const address = remoteAddress ?? "a local process";
      const message = `dropped a connection of ${address}: ${why}`;
      const event: LogEvent = { level: "info", event: "dropped", message, fields: { address, why } };
      if (this.unauthenticated.has(connection)) this.refusals.add(remoteAddress, event);
      else this.log(event);
    }
    this.closed(socket);
    if (error === undefined) socket.terminate();
    else this.turnAway(socket, error);
  }

  /** Drops the connections that exceed a time limit. */
  check(): void {
    const time = now();
    for (const connection of [...this.connections.keys()]) {
      const why = connection.check(time);
      if (why !== undefined) this.drop(connection, why);
    }
  }

  /** Closes the connections whose tokens were revoked or have expired. */
  closeWhereTokenEnded(): void {
    for (const connection of [...this.connections.keys()]) connection.closeIfTokenEnded();
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
