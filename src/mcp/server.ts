/**
 * The MCP server: JSON-RPC on stdio in front of the verbs. Protocol only, no storage.
 *
 * `initialize`, `server/discover`, `ping` and `tools/list` are answered before any file has been opened: the verbs, which
 * need a login and a verified runtime, are opened with the first tool call.
 */
import { fstatSync } from "node:fs";
import { ResultSchema, RootsListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import type { DefaultScope } from "../memory/default-scope.ts";
import type { Verbs } from "../memory/requests.ts";
import { Calls } from "./calls.ts";
import { Monitor } from "./monitor.ts";
import { ServerProtocol } from "./protocol.ts";
import { Requests } from "./requests.ts";
import { Roots } from "./roots.ts";
import type { ToolSet } from "./tools.ts";
import { type EndReason, StdioTransport } from "./transport.ts";

/**
 * How long calls in flight have to end by themselves once stdin has closed, the loading of the runtime included: a script
 * that pipes its calls waits for the answers, and half of this was too short for its first call on a busy machine. The
 * SDKs' clients wait two seconds, then they send SIGTERM. Longer calls, such as an index build, are aborted and leave the
 * last saved state.
 */
const CALLS_AFTER_EOF_MS_MAX = 1_500;
/** How long aborted calls may take to stop. The state on disk is consistent at any moment. */
const CANCELLED_CALLS_MS_MAX = 5_000;
/** After so long an answer to our own request is no longer expected. Calls wait for it for a much shorter time. */
const ROOTS_REQUEST_MS_MAX = 3_600_000;
/** How often a server whose stdin has ended checks whether its parent still runs. */
const PARENT_POLL_MS = 200;

interface McpOptions {
  /** Opens the verbs (login, verified runtime). Called at the first tool call, and again while it throws. */
  verbs: () => Promise<Verbs>;
  /** Whether the verbs are those of a memory that `svc serve` has. */
  isServed?: boolean | undefined;
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
 * a second and a half to finish and send their results, then they are cancelled, which lets a save finish; where no reader
 * is left they are cancelled at once.
 *
 * @throws OSError if the monitor log cannot be opened
 */
export async function serveMcp(options: McpOptions): Promise<void> {
  const monitor = options.monitorLog ? Monitor.open(options.monitorLog, options.warn) : undefined;
  const transport = options.transport ?? new StdioTransport({ monitor });
  const server = new ServerProtocol();
  const roots = new Roots(() =>
    server.request({ method: "roots/list" }, ResultSchema, { timeout: ROOTS_REQUEST_MS_MAX }),
  );
  server.setNotificationHandler(RootsListChangedNotificationSchema, () => roots.forget());
  const set = options.tools ?? "all";
  const { withText, project, version, isServed } = options;
  const calls = new Calls(options.verbs, { set, withText, project });
  const description = { serverInfo: { name: "svc", version }, set, withText: withText === true, isServed };
  const requests = new Requests(description, calls, roots);
  // Not setRequestHandler: the SDK's parsing of tools/call silently drops a `__proto__` argument, which we refuse by
  // name, and validates every result against a schema again.
  server.fallbackRequestHandler = (request, extra) => requests.answer(request, extra);
  const parent = process.ppid;
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
