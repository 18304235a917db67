/**
 * The MCP server: JSON-RPC on stdio in front of the verbs. Protocol only, no storage.
 *
 * `initialize`, `ping` and `tools/list` are answered before any file has been opened: the verbs, which need a login and
 * a verified runtime, are opened with the first tool call. A tool that fails is a result (`isError`), never a protocol
 * error.
 */
import { fstatSync } from "node:fs";
import {
  ErrorCode,
  InitializeRequestSchema,
  ResultSchema,
  RootsListChangedNotificationSchema,
  type ServerResult,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/sdk/types.js";
import type { DefaultScope } from "../memory/default-scope.ts";
import type { Verbs } from "../memory/requests.ts";
import type { Origin } from "../origin.ts";
import { Calls, protocolError } from "./calls.ts";
import { instructionsFor } from "./instructions.ts";
import { Monitor } from "./monitor.ts";
import { ServerProtocol } from "./protocol.ts";
import { Roots } from "./roots.ts";
import { listTools, type ToolSet, toolsOf } from "./tools.ts";
import { type EndReason, StdioTransport } from "./transport.ts";

/** The newest protocol version supported; also the reply to a client that requests a newer one. */
const PROTOCOL_VERSION = "2025-06-18";

/**
 * How long calls in flight have to end by themselves once stdin has closed. The client then waits for this process to
 * exit, within a second altogether: longer calls, such as an index build, are aborted and leave the last saved state.
 */
const CALLS_AFTER_EOF_MS_MAX = 700;
/** How long aborted calls may take to stop. The state on disk is consistent at any moment. */
const CANCELLED_CALLS_MS_MAX = 5_000;
/** After so long an answer to our own request is no longer expected. Calls wait for it for a much shorter time. */
const ROOTS_REQUEST_MS_MAX = 3_600_000;
/** Characters of a client's name and version that the history has. */
const CLIENT_NAME_LENGTH_MAX = 100;
/** How often a server whose stdin has ended checks whether its parent still runs. */
const PARENT_POLL_MS = 200;

interface McpOptions {
  /** Opens the verbs (login, verified runtime). Called at the first tool call, and again while it throws. */
  verbs: () => Promise<Verbs>;
  /** Our version, for `serverInfo`. */
  version: string;
  /** Which tools are offered: all of them, unless this says otherwise. */
  tools?: ToolSet;
  /** These two as `CallOptions` says. */
  withText?: boolean | undefined;
  project?: DefaultScope | undefined;
  /** File to append every message to. */
  monitorLog?: string;
  /** Called with warnings for the user; nothing is printed here. */
  warn?: (line: string) => void;
  /** Aborted to stop as at SIGTERM: no further request is read, calls are cancelled, their results are still sent. */
  signal?: AbortSignal;
  /** Instead of stdin and stdout, for tests. */
  transport?: StdioTransport;
}

/**
 * Serves one client until it closes stdin, stops reading, or `signal` aborts. Calls in flight at the end of stdin have
 * most of a second to finish and send their results, then they are cancelled, which lets a save finish; where no reader
 * is left they are cancelled at once.
 *
 * @throws OSError if the monitor log cannot be opened
 */
export async function serveMcp(options: McpOptions): Promise<void> {
  const monitor = options.monitorLog ? Monitor.open(options.monitorLog, options.warn) : undefined;
  const transport = options.transport ?? new StdioTransport({ monitor });
  const roots = new Roots(() =>
    server.request({ method: "roots/list" }, ResultSchema, { timeout: ROOTS_REQUEST_MS_MAX }),
  );
  const set = options.tools ?? "all";
  const { withText, project } = options;
  const calls = new Calls(options.verbs, roots, { set, withText, project });
  const parent = process.ppid;
  const server = makeServer(options.version, set, withText === true, calls, roots);
  await server.connect(transport);

  if (options.signal?.aborted) transport.stop();
  options.signal?.addEventListener("abort", () => transport.stop(), { once: true });

  await drain(await transport.ended, transport, calls, options.signal, parent);
  await server.close();
  await monitor?.close();
}

/** Waits for calls in flight and for their results to be sent, as long as there is a reader. */
async function drain(
  reason: EndReason,
  transport: StdioTransport,
  calls: Calls,
  signal: AbortSignal | undefined,
  parent: number,
): Promise<void> {
  const delivered = calls.settled().then(() => transport.flush());
  const abandoned = Promise.withResolvers<void>();
  const isFile = writesToFile();
  // After the end of stdin, an ended parent means that no client waits for results: a killed client must not leave an
  // index build running. Output to a file is read later. The timer also keeps this process alive, which a running
  // native call does not.
  const poll = setInterval(() => {
    if (!isFile && process.ppid !== parent) abandoned.resolve();
  }, PARENT_POLL_MS);
  let limit: Timer | undefined;
  try {
    const expires = (ms: number) =>
      new Promise((resolve) => {
        clearTimeout(limit);
        limit = setTimeout(resolve, ms);
      });
    const left = [transport.broken, abandoned.promise, aborted(signal)];
    if (reason === "eof") await Promise.race([delivered, expires(CALLS_AFTER_EOF_MS_MAX), ...left]);
    calls.cancelAll();
    await Promise.race([delivered, expires(CANCELLED_CALLS_MS_MAX)]);
  } finally {
    clearInterval(poll);
    clearTimeout(limit);
  }
}

function makeServer(version: string, set: ToolSet, withText: boolean, calls: Calls, roots: Roots): ServerProtocol {
  const serverInfo = { name: "svc", version };
  const capabilities = { tools: {} };
  const server = new ServerProtocol();

  const initialize = (request: { params?: object | undefined }): ServerResult | Promise<ServerResult> => {
    calls.client = clientOf(request.params);
    // Some clients omit clientInfo, or parts of it.
    const params = { ...request.params, clientInfo: { name: "", version: "" } };
    const parsed = InitializeRequestSchema.safeParse({ ...request, params });
    if (!parsed.success) {
      throw protocolError(ErrorCode.InvalidParams, "initialize needs params.protocolVersion and params.capabilities");
    }
    roots.isDeclared = parsed.data.params.capabilities.roots !== undefined;
    roots.forget();
    const requested = parsed.data.params.protocolVersion;
    const isOlder = SUPPORTED_PROTOCOL_VERSIONS.includes(requested) && requested < PROTOCOL_VERSION;
    const protocolVersion = isOlder ? requested : PROTOCOL_VERSION;
    const answer = (project?: string) => {
      return { protocolVersion, capabilities, serverInfo, instructions: instructionsFor(toolsOf(set), project) };
    };
    return calls.projectAtStart()?.then(answer) ?? answer();
  };

  server.setNotificationHandler(RootsListChangedNotificationSchema, () => roots.forget());

  // Not setRequestHandler: the SDK's parsing of tools/call silently drops a `__proto__` argument, which we refuse by
  // name, and validates every result against a schema again.
  server.fallbackRequestHandler = async (request, extra): Promise<ServerResult> => {
    if (request.method === "initialize") return initialize(request);
    if (request.method === "tools/list") return { tools: listTools(set, withText) };
    if (request.method !== "tools/call") throw protocolError(ErrorCode.MethodNotFound, "Method not found");
    const progressToken = extra._meta?.progressToken;
    if (progressToken === undefined) return calls.run(request.params, extra.signal);
    return calls.run(request.params, extra.signal, (progress) =>
      extra.sendNotification({ method: "notifications/progress", params: { progressToken, ...progress } }),
    );
  };
  return server;
}

/** Name and version of the client, for the history. */
function clientOf(params: object | undefined): Origin {
  const info = (params as { clientInfo?: { name?: unknown; version?: unknown } } | undefined)?.clientInfo;
  const cut = (text: unknown) =>
    typeof text === "string" ? text.slice(0, CLIENT_NAME_LENGTH_MAX).toWellFormed() : undefined;
  return { client: cut(info?.name) ?? "an MCP client", version: cut(info?.version) };
}

/** Resolves when the server is to stop. */
function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener("abort", () => resolve(), { once: true });
  });
}

function writesToFile(): boolean {
  try {
    return fstatSync(1).isFile();
  } catch {
    return false;
  }
}
