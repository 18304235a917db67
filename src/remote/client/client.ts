/** The client of `svc serve`: a memory directory behind a socket. */

import type { CreateOptions, StoreApi } from "../../api/api.ts";
import { readCreateOptions } from "../../checks/create-options.ts";
import { isObject, optional } from "../../checks/kinds.ts";
import { type Domain, readNumber } from "../../checks/numbers.ts";
import { readString } from "../../checks/strings.ts";
import { ArgumentTypeError, ValueError } from "../../errors.ts";
import { CONNECT_TIMEOUT_MS, UNAUTHENTICATED_BYTES_MAX } from "../../limits.ts";
import { isNamedTokenText, isWholeToken } from "../tokens/token-text.ts";
import { READING_TOOLS } from "../wire/protocol.ts";
import { parseAddress } from "./address.ts";
import { Channel } from "./channel.ts";
import { RemoteCollection } from "./collection.ts";
import { encodeRequest } from "./encode.ts";
import type { TokenSource } from "./link.ts";
import { expectResult } from "./reply.ts";
import { readTls, type TlsOptions } from "./tls.ts";

/** How to connect. */
export interface ConnectOptions {
  /**
   * A token of `svc serve token add`, or the `--access-token` of `svc serve`; TCP needs one. A function is called for each
   * connection, so that a lost one is replaced with the token of that moment.
   */
  token?: string | TokenSource | undefined;
  /** For an address that begins with `tls://`: `ca` for an organisation's own authority, `cert` and `key` of this client. */
  tls?: TlsOptions | undefined;
  /** Longest time for connecting and authenticating, in milliseconds (30,000). */
  timeoutMs?: number | undefined;
  /** Longest time from a request to its reply, in milliseconds; unlimited by default. */
  requestTimeoutMs?: number | undefined;
  /**
   * How long a server on TCP may be silent with calls to answer before another connection checks whether it can be
   * reached, in milliseconds (20,000), and how long that is tried (10,000). Where it cannot, the calls fail.
   */
  silenceMs?: number | undefined;
  searchMs?: number | undefined;
}

/** Counters of the server; more fields may be there. Field names are the wire's. */
export interface ServerStats {
  version: string;
  uptime_s: number;
  [further: string]: unknown;
}

/** What a call of a tool may say beside its arguments: the fields of `call_tool` in PROTOCOL.md. */
export interface ToolContext {
  text_bytes?: number | undefined;
  days?: boolean | undefined;
  weak_texts?: boolean | undefined;
  project?: string | undefined;
  secrets?: string | undefined;
  client?: string | undefined;
  version?: string | undefined;
  session?: string | undefined;
}

/**
 * Connects to `svc serve`. Addresses: `unix:///<path>.sock`, an absolute path ending in `.sock`, a relative path
 * starting with `./`, `tcp://<host>:<port>` or `<host>:<port>`; `tls://<host>:<port>`, whose certificate the system's
 * authorities or `tls.ca` have to have signed, and `tls://<host>:<port>#SHA256:<fingerprint>`, where that alone counts.
 * @throws ValueError for another address; OSError where nothing listens; TimeoutError; PermissionError for a wrong
 * token or certificate
 */
export async function connect(address: string, options: ConnectOptions = {}): Promise<RemoteTelys> {
  const { token, timeoutMs = CONNECT_TIMEOUT_MS, requestTimeoutMs, silenceMs, searchMs } = options;
  if (token !== undefined && typeof token !== "function") checkToken(token);
  readNumber(timeoutMs, "timeoutMs", TIMEOUT_MS);
  for (const [name, value] of Object.entries({ requestTimeoutMs, silenceMs, searchMs }))
    if (value !== undefined) readNumber(value, name, TIMEOUT_MS);
  const place = parseAddress(address);
  const tls = readTls(place, options.tls);
  const limits = { timeoutMs, requestTimeoutMs, silenceMs, searchMs };
  const read = typeof token === "function" ? () => checkedToken(token) : token;
  return new RemoteTelys(await Channel.open({ address: place, token: read, tls, ...limits }));
}

/**
 * A server's collections. One connection carries all calls, several at a time; they take effect in the order they were
 * made. A lost connection is replaced; a call is repeated where that cannot apply it twice, and fails with an OSError
 * that says so where it may have been applied. An open client keeps the process alive: `close` it, or hold it with
 * `await using`.
 */
export class RemoteTelys implements StoreApi<RemoteCollection> {
  constructor(private readonly channel: Channel) {}

  /** A round trip: resolves if the server answers. */
  ping(): Promise<void> {
    return this.channel.run(async () => {
      await this.request("ping");
    });
  }

  createCollection(name: string, options: CreateOptions): Promise<RemoteCollection> {
    return this.channel.run(async () => {
      readString(name, "name");
      const { partitionBy: partition_by, filterColumns: filter_columns, ...given } = readCreateOptions(options);
      const embedder = optional(options.embedder, "embedder", readString);
      await this.request("create_collection", name, { ...given, partition_by, filter_columns, embedder });
      // Beside an embedder dim is a hint: the real one is requested when it is needed.
      return new RemoteCollection(this.channel, name, embedder === undefined ? given.dim : undefined);
    });
  }

  openCollection(name: string): Promise<RemoteCollection> {
    return this.channel.run(async () => {
      readString(name, "name");
      await this.request("open_collection", name);
      return new RemoteCollection(this.channel, name);
    });
  }

  collections(): Promise<string[]> {
    return this.channel.run(async () => expectResult("collections", await this.request("collections"), Array.isArray));
  }

  /**
   * Calls a tool of `svc mcp`, as `call_tool` of PROTOCOL.md has it; resolves to the payload of its answer. A tool that
   * changes a collection saves it.
   * @param args the tool's arguments, which the server checks
   * @throws what the tool throws; OSError where a lost connection leaves open whether it was applied
   */
  callTool(name: string, args: unknown, context: ToolContext = {}): Promise<object> {
    return this.channel.run(async () => {
      readString(name, "name");
      const frame = encodeRequest("call_tool", undefined, { name, arguments: args, ...context });
      const result = await this.channel.request(name, frame, undefined, READING_TOOLS.has(name));
      return expectResult("call_tool", result, isObject);
    });
  }

  /** Counters of the server since it started. */
  stats(): Promise<ServerStats> {
    return this.channel.run(async () => expectResult("stats", await this.request("stats"), isObject));
  }

  /**
   * Takes no more calls, waits for the replies to those under way, and closes the connection. Saves nothing: changes
   * stay in the server's memory until `save`. Afterwards every call is a RuntimeError.
   */
  close(): Promise<void> {
    return this.channel.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private request(op: string, collection?: string, args?: Record<string, unknown>): Promise<unknown> {
    return this.channel.request(op, encodeRequest(op, collection, args));
  }
}

/** Milliseconds that a timer can hold. */
const TIMEOUT_MS: Domain = { above: 0, max: 2 ** 31 - 1 };

async function checkedToken(source: TokenSource): Promise<string | undefined> {
  const token = await source();
  if (token !== undefined) checkToken(token);
  return token;
}

/** The message has its length, never the token. */
function checkToken(token: string): void {
  if (typeof token !== "string") throw new ArgumentTypeError(`token must be a string, got a ${typeof token}`);
  const bytes = encodeRequest("auth", undefined, { token }).length;
  if (token === "" || bytes > UNAUTHENTICATED_BYTES_MAX) {
    throw new ValueError(
      `token has ${Buffer.byteLength(token)} bytes; ` +
        `it must have at least 1, and its frame at most ${UNAUTHENTICATED_BYTES_MAX}`,
    );
  }
  if (isNamedTokenText(token) && !isWholeToken(token))
    throw new ValueError(
      "the token is mistyped or cut off, its checksum is wrong: nothing was sent; copy it again, whole",
    );
}
