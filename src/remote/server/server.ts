/** `svc serve`: one memory directory for many processes and hosts. */

import type { LocalStore } from "../../api/local-store.ts";
import { buildInfo } from "../../build-info.ts";
import { errorLine, OSError } from "../../errors.ts";
import { DRAIN_TIMEOUT_S } from "../../limits.ts";
import type { Log } from "../../log.ts";
import type { NodeReport } from "../../replication/node/report.ts";
import { AuditLog } from "../tokens/audit-log.ts";
import { NamedTokens } from "../tokens/named-tokens.ts";
import { Budget } from "./budget.ts";
import { Callers, type ServerStats } from "./callers.ts";
import { Clients } from "./clients.ts";
import type { Connection } from "./connection.ts";
import { Counters } from "./counters.ts";
import { defaultLimits, type Limits } from "./limits.ts";
import { checkTransport, type Listening, listen, type Transport, type TransportOptions } from "./listen.ts";
import { MemoryLock } from "./lock/memory-lock.ts";
import type { Audit } from "./operations.ts";
import { Decoder } from "./requests/decoder.ts";
import { RepeatedRequest } from "./requests/parse.ts";
import type { Session } from "./session.ts";
import { AccessToken } from "./token.ts";
import { Unsaved } from "./unsaved.ts";

/** A store, and a Unix socket or a TCP address with a token. */
export interface ServeOptions extends TransportOptions {
  /** The collections to serve. The server saves unsaved changes when it stops; its caller closes the store. */
  store: LocalStore;
  /**
   * Seconds between two saves of all unsaved changes, which are also saved when the last client leaves that made some of
   * them; 0, the default, saves only on a client's request.
   */
  saveIntervalS?: number | undefined;
  limits?: Partial<Limits> | undefined;
  /** The author of changes by clients without a named token; without one the history names none. */
  author?: string | undefined;
  /** A file that gets a line for each write; where that is not possible, writes are refused. */
  auditLog?: string | undefined;
  /** The identity of the server before, which has lost no change and left its address to this one. */
  instance?: string | undefined;
  /** The descriptor that has the lock of the memory directory, from the server before. */
  lockFd?: number | undefined;
  log?: Log | undefined;
  /** What the node has done with the database that has the memory's log, for `stats`; absent: there is none. */
  node?: { report(): NodeReport } | undefined;
}

export interface RunningServer {
  /** The address for clients, in the form that `connect` takes. */
  readonly address: string;
  /**
   * Accepts no more connections, finishes running requests, saves every collection, removes the socket's file.
   * @returns the collections that could not be saved
   */
  stop(): Promise<Map<string, unknown>>;
  /**
   * As `stop`, but the address stays: connections wait there for the process that gets the descriptor.
   * @returns undefined where changes cannot be saved, and the server goes on
   */
  handOver(): Promise<HandedOver | undefined>;
  /** Reads certificates and named tokens again, also where their files seem to be the same, and opens the audit log again. */
  reload(): void;
}

/** What a server leaves to the next one at its address. */
export interface HandedOver {
  /** The listening socket. */
  readonly fd: number;
  /** Has the lock of the memory directory; undefined where this user could not lock it. */
  readonly lockFd: number | undefined;
  /** The identity that clients compare to find out whether unsaved changes were lost; undefined where some may be. */
  readonly instance: string | undefined;
}

/**
 * Starts serving.
 * @throws ValueError for no transport, or both; PermissionError for TCP without a token, and for a file of tokens that
 * others can reach; OSError where another server has the memory directory or the address, and for a file of tokens that
 * cannot be read
 */
export async function serve(options: ServeOptions): Promise<RunningServer> {
  const { env, dir } = options.store.shared;
  const lock = await MemoryLock.take(env, dir, options.lockFd);
  try {
    const named = openNamedTokens(options);
    const transport = checkTransport(options, named.valid.length > 0);
    const server = new Server(options, transport, named, lock);
    await server.listen(transport);
    lock?.serving(server.address);
    return server;
  } catch (error) {
    lock?.release();
    throw error;
  }
}

/** How often tokens are looked at for connections that send nothing; a request of a named token looks by itself. */
const TOKEN_CHECK_MS = 250;
/** How often what was counted for tokens is written. */
const USAGE_WRITE_MS = 5000;

function openNamedTokens({ store, log = () => {} }: ServeOptions): NamedTokens {
  const warn = (event: string, message: string) => log({ level: "warn", event, message });
  return new NamedTokens(store.shared.dir, {
    read: (count) => log({ level: "info", event: "tokens_read", message: `read ${count} tokens`, fields: { count } }),
    unreadable: (why) => warn("tokens_unreadable", `no named token is accepted until the file can be read: ${why}`),
    uncounted: (why) => warn("usage_unwritten", `what tokens have stored could not be written: ${why}`),
  });
}

class Server implements RunningServer, Session<Connection> {
  readonly clients: Clients;
  readonly limits: Limits;
  readonly counters = new Counters();
  readonly decoder = new Decoder();
  readonly repeated = new RepeatedRequest();
  readonly budget: Budget;
  readonly store: LocalStore;
  readonly callers: Callers;
  readonly audit: Audit | undefined;
  readonly unsaved: Unsaved;
  private readonly log: Log;
  private auditLog: AuditLog | undefined;
  private readonly instance: string;
  private listener: Listening | undefined;
  private timers: Timer[] = [];
  /** The autosave under way. */
  private saving: Promise<Map<string, unknown>> | undefined;
  /** Collections whose changes wait for room on the disk: one line of the log for each. */
  private readonly full = new Set<string>();
  private stopping: Promise<Map<string, unknown>> | undefined;

  constructor(
    private readonly options: ServeOptions,
    transport: Transport,
    private readonly named: NamedTokens,
    private readonly lock: MemoryLock | undefined,
  ) {
    this.store = options.store;
    this.instance = options.instance ?? crypto.randomUUID();
    const isTcp = "port" in transport;
    const token = isTcp && transport.token !== undefined ? new AccessToken(transport.token) : undefined;
    const { store, author } = options;
    const { serverStats } = this;
    this.callers = new Callers({ store, serverStats, token, named, needsToken: isTcp, author });
    this.limits = { ...defaultLimits(isTcp), ...options.limits };
    this.budget = new Budget(this.limits.bufferedBytesMax, () => this.clients.wake());
    this.log = options.log ?? (() => {});
    this.audit = this.openAudit(options.auditLog);
    this.unsaved = new Unsaved(this.store, (name, batch) => this.clientsLeft(name, batch));
    this.clients = new Clients(this, this.log);
  }

  async listen(transport: Transport): Promise<void> {
    this.listener = await listen(transport, this.clients.handlers, this.log);
    this.timers.push(setInterval(() => this.clients.check(), 1000));
    this.timers.push(setInterval(() => this.checkTokens(), TOKEN_CHECK_MS));
    this.timers.push(setInterval(() => this.named.write(), USAGE_WRITE_MS));
    const { saveIntervalS = 0, tls } = this.options;
    if (tls) this.timers.push(setInterval(() => tls.look(), 1000));
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

  readonly serverStats: ServerStats = ({ allows, seesPeople }) => {
    const { version } = buildInfo();
    const { uptime_s, ...counted } = this.counters.report();
    if (allows !== undefined) {
      const lost = [...this.store.lostByCollection()].filter(([name]) => allows(name));
      return {
        version,
        instance: this.instance,
        unsaved_collections: this.store.unsaved().filter(allows).length,
        lost_saves: lost.reduce((sum, [, count]) => sum + count, 0),
        uptime_s,
      };
    }
    return {
      version,
      instance: this.instance,
      connections: {
        open: this.clients.count,
        unauthenticated: this.clients.unauthenticatedCount,
        accepted: this.counters.accepted,
        refused: this.counters.refused,
        dropped: this.counters.dropped,
      },
      buffered_bytes: this.budget.bytes,
      rss_bytes: process.memoryUsage.rss(),
      unsaved_collections: this.store.unsaved().length,
      lost_saves: this.store.lostSaves,
      uptime_s,
      ...counted,
      ...(seesPeople && {
        pid: process.pid,
        save_interval_s: this.options.saveIntervalS ?? 0,
        tokens: this.tokenUse(),
        database: this.options.node?.report(),
      }),
    };
  };

  reload(): void {
    this.checkTokens(true);
    this.options.tls?.reread();
    try {
      this.auditLog?.reopen();
    } catch (error) {
      this.log({ level: "error", event: "audit_log", message: `the audit log goes on as it was: ${errorLine(error)}` });
    }
  }

  stop(): Promise<Map<string, unknown>> {
    this.stopping ??= this.end(false);
    return this.stopping;
  }

  async handOver(): Promise<HandedOver | undefined> {
    if (this.stopping || this.reportFailures(await this.store.saveAll()).size > 0 || this.stopping) return undefined;
    const fd = this.listener!.keep();
    const lockFd = this.lock?.keep();
    this.stopping = this.end(true);
    const failures = await this.stopping;
    return { fd, lockFd, instance: failures.size === 0 && this.store.lostSaves === 0 ? this.instance : undefined };
  }

  // -------------------------------------------------------------------------------------------------------------------

  private openAudit(path: string | undefined): Audit | undefined {
    if (path === undefined) return undefined;
    const audit = new AuditLog(path);
    this.auditLog = audit;
    return {
      requireWritable: () => audit.requireWritable(),
      add: (name, op, entry) => {
        const why = audit.add(name, op, entry);
        if (why === undefined) return;
        const message = `the audit log cannot be written, and changes are refused until it can be: ${why}`;
        this.log({ level: "error", event: "audit_log", message });
      },
    };
  }

  /** The named tokens that are valid: their connections, and when each was last used. */
  private tokenUse() {
    const connections = this.clients.countByToken();
    return this.named.valid.map((token) => ({
      name: token.record.name,
      connections: connections.get(token) ?? 0,
      used_at: token.lastUsed === 0 ? null : new Date(token.lastUsed).toISOString(),
    }));
  }

  /** Ends the connections of tokens that were revoked or have expired. */
  private checkTokens(mustRead = false): void {
    this.named.look(mustRead);
    this.clients.closeWhereTokenEnded();
  }

  private autosave(): void {
    this.saving ??= this.store
      .saveAll()
      .then((failures) => {
        for (const name of this.full) if (!failures.has(name)) this.full.delete(name);
        return this.reportFailures(failures);
      })
      .finally(() => {
        this.saving = undefined;
      });
  }

  /**
   * The last client is gone that made unsaved changes of a collection. With a save interval they are saved now, as other
   * processes wait for them; without one only a client saves, and those that wait get an error that says so.
   */
  private clientsLeft(name: string, batch: object): void {
    const { saveIntervalS = 0 } = this.options;
    if (saveIntervalS > 0) {
      const failed = (error: unknown) => this.reportFailures(new Map([[name, error]]));
      this.store.handle(name).save().catch(failed);
    } else {
      this.store.left(name, batch).catch(() => {}); // the lock file only serves messages
    }
  }

  private reportFailures(failures: Map<string, unknown>): Map<string, unknown> {
    for (const [name, error] of failures) {
      const isFull = isDiskFull(error);
      if (isFull && this.full.has(name)) continue;
      if (isFull) this.full.add(name);
      this.log({
        level: "error",
        event: "save_failed",
        message: `collection '${name}' could not be saved: ${errorLine(error)}`,
        fields: { collection: name },
      });
    }
    return failures;
  }

  /** @param isKept another process goes on at the address */
  private async end(isKept: boolean): Promise<Map<string, unknown>> {
    this.log({ level: "info", event: "stopping", message: "stopping: finishing what is under way" });
    if (!isKept) this.lock?.ending();
    this.listener?.stopAccepting();
    await this.clients.finish(DRAIN_TIMEOUT_S);
    for (const timer of this.timers) clearInterval(timer);
    // What found the disk full is tried once more, and lost if there is no room yet.
    const begun = [...((await this.saving) ?? [])].filter(([, error]) => !isDiskFull(error));
    this.full.clear();
    const failures = new Map([...begun, ...this.reportFailures(await this.store.saveAll())]);
    this.clients.dropAll();
    this.named.write();
    this.auditLog?.close();
    this.decoder.stop();
    await this.listener?.close(isKept).catch((error) => {
      this.log({ level: "warn", event: "socket_file", message: `the socket's file stays: ${errorLine(error)}` });
    });
    this.lock?.release();
    this.log({ level: "info", event: "stopped", message: "stopped" });
    return failures;
  }
}

function isDiskFull(error: unknown): boolean {
  return error instanceof OSError && error.reason === "disk_full";
}
