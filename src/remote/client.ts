/** The client of `svc serve`: a memory directory behind a socket. */
import { optional, readCreateOptions } from "../checks/create-options.ts";
import { isObject } from "../checks/kinds.ts";
import { readNumber } from "../checks/numbers.ts";
import { readString } from "../checks/strings.ts";
import type { CreateOptions, StoreApi } from "../engine/api.ts";
import { ArgumentTypeError, ValueError } from "../errors.ts";
import { CONNECT_TIMEOUT_MS, UNAUTHENTICATED_BYTES_MAX } from "../limits.ts";
import { parseAddress } from "./address.ts";
import { Channel } from "./channel.ts";
import { RemoteCollection } from "./collection.ts";
import { encodeRequest } from "./encode.ts";
import { expectResult } from "./reply.ts";

/** How to connect. */
export interface ConnectOptions {
  /** What `svc serve` was given as `--access-token`; TCP needs it. */
  token?: string | undefined;
  /** Longest time for a connection and its authentication, in milliseconds (30,000). */
  timeoutMs?: number | undefined;
  /** Longest time from a request to its answer, in milliseconds; without it a request takes as long as the server needs. */
  requestTimeoutMs?: number | undefined;
}

/** What the server says about itself; more fields than these may be there. Field names are the wire's. */
export interface ServerStats {
  version: string;
  uptime_s: number;
  [further: string]: unknown;
}

/**
 * Connects to `svc serve`. Addresses: `unix:///<path>.sock`, an absolute path ending in `.sock`, a relative path starting with `./`,
 * `tcp://<host>:<port>` or `<host>:<port>`.
 * @throws ValueError for another address; OSError where nothing listens; TimeoutError; PermissionError for a wrong token
 */
export async function connect(address: string, options: ConnectOptions = {}): Promise<RemoteTelys> {
  const { token, timeoutMs = CONNECT_TIMEOUT_MS, requestTimeoutMs } = options;
  if (token !== undefined) checkToken(token);
  checkTimeout("timeoutMs", timeoutMs);
  if (requestTimeoutMs !== undefined) checkTimeout("requestTimeoutMs", requestTimeoutMs);
  return new RemoteTelys(await Channel.open({ address: parseAddress(address), token, timeoutMs, requestTimeoutMs }));
}

/**
 * A server's collections. One connection carries all calls, several at a time, and they take effect in the order they were made. A
 * connection that is lost is replaced; a call is repeated where that cannot apply it twice, and fails with an OSError that says so where it
 * might have been applied. An open client keeps the process alive: `close` it, or hold it with `await using`.
 */
export class RemoteTelys implements StoreApi<RemoteCollection> {
  constructor(private readonly channel: Channel) {}

  /** A round trip: resolves if the server answers. */
  ping(): Promise<void> {
    return this.channel.run(async () => {
      await this.ask("ping");
    });
  }

  createCollection(name: string, options: CreateOptions): Promise<RemoteCollection> {
    return this.channel.run(async () => {
      readString(name, "name");
      const { partitionBy: partition_by, filterColumns: filter_columns, ...given } = readCreateOptions(options);
      const embedder = optional(options.embedder, "embedder", readString);
      await this.ask("create_collection", name, { ...given, partition_by, filter_columns, embedder });
      // Beside an embedder dim is a hint: the server is asked for the real one when it is needed.
      return new RemoteCollection(this.channel, name, embedder === undefined ? given.dim : undefined);
    });
  }

  openCollection(name: string): Promise<RemoteCollection> {
    return this.channel.run(async () => {
      readString(name, "name");
      await this.ask("open_collection", name);
      return new RemoteCollection(this.channel, name);
    });
  }

  collections(): Promise<string[]> {
    return this.channel.run(async () => expectResult("collections", await this.ask("collections"), Array.isArray));
  }

  /** Counters of the server since it started. */
  stats(): Promise<ServerStats> {
    return this.channel.run(async () => expectResult("stats", await this.ask("stats"), isObject));
  }

  /**
   * Takes no further calls, waits until those under way are answered, and ends the connection. Nothing is saved by it: changes stay in the
   * server's memory until `save`. Afterwards every call is a RuntimeError.
   */
  close(): Promise<void> {
    return this.channel.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private ask(op: string, collection?: string, args?: Record<string, unknown>): Promise<unknown> {
    return this.channel.request(op, encodeRequest(op, collection, args));
  }
}

// ---------------------------------------------------------------------------------------------------------------------

/** What a timer can hold. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;

function checkTimeout(name: string, ms: number): void {
  readNumber(ms, name, { above: 0, max: TIMEOUT_MS_MAX });
}

/** Its bytes are named, never the token. */
function checkToken(token: string): void {
  if (typeof token !== "string") throw new ArgumentTypeError(`token must be a string, got a ${typeof token}`);
  const bytes = encodeRequest("auth", undefined, { token }).length;
  if (token === "" || bytes > UNAUTHENTICATED_BYTES_MAX) {
    throw new ValueError(
      `token has ${Buffer.byteLength(token)} bytes; it must have at least 1, and its frame at most ${UNAUTHENTICATED_BYTES_MAX}`,
    );
  }
}
