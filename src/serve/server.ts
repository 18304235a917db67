/** `svc serve`: one memory directory for many processes and hosts. */

import { buildInfo } from "../build-info.ts";
import type { LocalStore } from "../engine/local-store.ts";
import { errorLine } from "../errors.ts";
import { DRAIN_TIMEOUT_S } from "../limits.ts";
import { encodeFrame } from "../wire/frame.ts";
import { Budget } from "./budget.ts";
import { Connection } from "./connection.ts";
import { Counters } from "./counters.ts";
import { Decoder } from "./decoder.ts";
import { DEFAULT_LIMITS, type Limits } from "./limits.ts";
import { type Client, checkTransport, type Listening, listen, type Transport, wireOf } from "./listen.ts";
import type { Log } from "./log.ts";
import { RepeatedRequest } from "./parse.ts";
import type { Session } from "./session.ts";
import { AccessToken } from "./token.ts";
import { CLOSED } from "./watch.ts";

/** Either a Unix socket, or a TCP address with a token. */
export interface ServeOptions {
  /** The collections to serve. The server saves what is unsaved when it stops, and leaves closing the store to its owner. */
  store: LocalStore;
  /** Path of the Unix socket: mode 0600, trusted, no token. */
  socketPath?: string | undefined;
  host?: string | undefined;
  /** 0 takes a free one. */
  port?: number | undefined;
  /** Bearer token of TCP connections. */
  accessToken?: string | undefined;
  /** Seconds between two saves of everything that is unsaved; 0, the default, saves only when a client says so. */
  saveIntervalS?: number | undefined;
  limits?: Partial<Limits> | undefined;
  log?: Log | undefined;
}

export interface RunningServer {
  /** How clients reach it, as `connect` takes it. */
  readonly address: string;
  /**
   * Accepts no more, finishes what is under way, saves every collection, removes the socket's file.
   * @returns the collections that could not be saved
   */
  stop(): Promise<Map<string, unknown>>;
}

/**
 * Starts serving.
 * @throws ValueError for no transport, or both; PermissionError for TCP without a token; OSError where the address is taken
 */
export async function serve(options: ServeOptions): Promise<RunningServer> {
  const transport = checkTransport(options);
  const server = new Server(options, transport);
  await server.listen(transport);
  return server;
}

// ---------------------------------------------------------------------------------------------------------------------

class Server implements RunningServer, Session {
  readonly limits: Limits;
  readonly counters = new Counters();
  readonly decoder = new Decoder();
  readonly repeated = new RepeatedRequest();
  readonly budget: Budget;
  readonly store: LocalStore;
  readonly token: AccessToken | undefined;
  private readonly log: Log;
  private readonly instance = crypto.randomUUID();
  private readonly connections = new Map<Connection, Client>();
  /** In the order in which they came. */
  private readonly unauthenticated = new Set<Connection>();
  private listener: Listening | undefined;
  private timers: Timer[] = [];
  /** The autosave under way. */
  private saving: Promise<Map<string, unknown>> | undefined;
  private turnedAway = 0;
  private thinning: Timer | undefined;
  private stopping: Promise<Map<string, unknown>> | undefined;

  constructor(
    private readonly options: ServeOptions,
    transport: Transport,
  ) {
    this.store = options.store;
    this.token = "token" in transport ? new AccessToken(transport.token) : undefined;
    this.limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.budget = new Budget(this.limits.bufferedBytesMax, () => this.wakeAll());
    this.log = options.log ?? (() => {});
  }

  async listen(transport: Transport): Promise<void> {
    this.listener = await listen(transport, this.handlers, this.log);
    this.timers.push(setInterval(() => this.check(), 1000));
    const { saveIntervalS = 0 } = this.options;
    if (saveIntervalS > 0) this.timers.push(setInterval(() => this.autosave(), saveIntervalS * 1000));
    this.log({
      level: "info",
      event: "listening",
      message: `listening on ${this.address}`,
      fields: { address: this.address },
    });
  }

  get address(): string {
    return this.listener?.address ?? "";
  }

  authenticated(connection: Connection): void {
    this.unauthenticated.delete(connection);
  }

  refused(connection: Connection, error: string, why: string): void {
    const address = this.connections.get(connection)?.remoteAddress ?? "a local process";
    this.log({
      level: "warn",
      event: error.startsWith("unauthorized") ? "unauthorized" : "bad_request",
      message: `closed a connection of ${address}: ${why}`,
      fields: { address, why },
    });
  }

  broken(connection: Connection, error: unknown): void {
    const message = `internal error: ${error instanceof Error ? error.message : String(error)}`;
    this.log({ level: "error", event: "internal_error", message });
    // The client must not wait for an answer that nobody writes.
    this.drop(connection, message);
  }

  readonly serverStats = (): Record<string, unknown> => ({
    version: buildInfo().version,
    instance: this.instance,
    connections: {
      open: this.connections.size,
      unauthenticated: this.unauthenticated.size,
      accepted: this.counters.accepted,
      refused: this.counters.refused,
      dropped: this.counters.dropped,
    },
    buffered_bytes: this.budget.bytes,
    rss_bytes: process.memoryUsage.rss(),
    unsaved_collections: this.store.unsaved().length,
    lost_saves: this.store.lostSaves,
    ...this.counters.report(),
  });

  stop(): Promise<Map<string, unknown>> {
    this.stopping ??= this.end();
    return this.stopping;
  }

  // -------------------------------------------------------------------------------------------------------------------

  private readonly handlers = {
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

  private open(socket: Client): void {
    this.counters.accepted++;
    socket.data = { connection: undefined };
    if (this.connections.size >= this.limits.connectionsMax) this.thin();
    if (this.connections.size >= this.limits.connectionsMax) {
      this.counters.refused++;
      const error = `RuntimeError: the server has ${this.connections.size} connections, its limit: try again later`;
      this.log({ level: "warn", event: "too_many_connections", message: "refused a connection: there are too many" });
      this.turnAway(socket, encodeFrame(JSON.stringify({ ok: false, error })));
      return;
    }
    const connection = new Connection(wireOf(socket), this, now());
    socket.data = { connection };
    this.connections.set(connection, socket);
    if (!this.token) return;
    this.unauthenticated.add(connection);
    if (this.unauthenticated.size > this.limits.unauthenticatedMax)
      this.thinning ??= setTimeout(() => this.thin(), THIN_MS);
  }

  /** The oldest make way. Not at once: of many that come together the honest ones have a token under way, and are not among them for long. */
  private thin(): void {
    this.thinning = undefined;
    const surplus = this.unauthenticated.size - this.limits.unauthenticatedMax;
    for (const connection of [...this.unauthenticated].slice(0, Math.max(0, surplus))) {
      this.drop(connection, "too many connections did not authenticate yet");
    }
  }

  /** Says why and closes; what comes meanwhile is read and forgotten, for a reset would overtake the reason. */
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
    this.counters.dropped++;
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

  private check(): void {
    const time = now();
    for (const connection of [...this.connections.keys()]) {
      const why = connection.check(time);
      if (why !== undefined) this.drop(connection, why);
    }
  }

  private wakeAll(): void {
    for (const connection of [...this.connections.keys()]) connection.wake();
  }

  private autosave(): void {
    this.saving ??= this.store
      .saveAll()
      .then((failures) => this.reportFailures(failures))
      .finally(() => {
        this.saving = undefined;
      });
  }

  private reportFailures(failures: Map<string, unknown>): Map<string, unknown> {
    for (const [name, error] of failures) {
      this.log({
        level: "error",
        event: "save_failed",
        message: `collection '${name}' could not be saved: ${errorLine(error)}`,
        fields: { collection: name },
      });
    }
    return failures;
  }

  private async end(): Promise<Map<string, unknown>> {
    this.log({ level: "info", event: "stopping", message: "stopping: finishing what is under way" });
    this.listener?.stopAccepting();
    const time = now();
    for (const connection of [...this.connections.keys()]) connection.end(time);
    for (const deadline = time + DRAIN_TIMEOUT_S; now() < deadline && this.busy() > 0; ) await Bun.sleep(5);
    for (const timer of this.timers) clearInterval(timer);
    clearTimeout(this.thinning);
    const begun = (await this.saving) ?? [];
    const failures = new Map([...begun, ...this.reportFailures(await this.store.saveAll())]);
    for (const connection of [...this.connections.keys()]) this.drop(connection, CLOSED);
    this.decoder.stop();
    await this.listener?.close().catch((error) => {
      this.log({ level: "warn", event: "socket_file", message: `the socket's file stays: ${errorLine(error)}` });
    });
    this.log({ level: "info", event: "stopped", message: "stopped" });
    return failures;
  }

  private busy(): number {
    return [...this.connections.keys()].filter((connection) => !connection.isDrained).length;
  }
}

/** How long a connection that was refused may read why, and how many may do so at once. */
const TURN_AWAY_MS = 500;
const TURNED_AWAY_MAX = 256;

/** How long after too many have come the oldest of those that did not authenticate make way. */
const THIN_MS = 100;

/** Seconds of a clock that only goes forward. */
function now(): number {
  return performance.now() / 1000;
}
