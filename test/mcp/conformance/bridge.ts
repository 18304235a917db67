/**
 * A bridge from MCP over HTTP on this machine to `svc mcp`: the conformance suite speaks HTTP, and svc speaks stdio.
 *
 * It serves both eras. Until 2025-11-25, `initialize` opens a session, and each session has a process of its own. All
 * requests of 2026-07-28 go to one process. The bridge does what the specification requires of HTTP: sessions, headers,
 * status codes, `Origin`. It refuses what breaks those rules; svc gives every other answer.
 */
import type { Server } from "bun";
import { type Message, ServerProcess } from "./process.ts";

/** The revision that has no sessions. */
export const STATELESS = "2026-07-28";
const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";

const HEADER_MISMATCH = -32020;
/** The status of an error in the stateless era; all others have 200. */
const STATUS: Record<number, number> = {
  [-32700]: 400,
  [-32600]: 400,
  [-32601]: 404,
  [-32602]: 400,
  [HEADER_MISMATCH]: 400,
  [-32021]: 400,
  [-32022]: 400,
};

/** An HTTP server in front of `svc mcp`. */
export class Bridge {
  readonly url: string;
  private readonly server: Server<undefined>;
  private readonly stateless: ServerProcess;
  private readonly sessions = new Map<string, ServerProcess>();
  private readonly processes: ServerProcess[] = [];

  /** @param command `svc mcp` with its arguments */
  constructor(
    private readonly command: string[],
    private readonly env: Record<string, string>,
  ) {
    this.stateless = this.start();
    this.server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 0,
      fetch: (request) => this.answer(request),
    });
    this.url = `http://127.0.0.1:${this.server.port}/mcp`;
  }

  /** What the servers wrote although the protocol does not allow it. */
  get faults(): string[] {
    return this.processes.flatMap(({ faults }) => faults);
  }

  /** Ends all processes as a client that leaves, and gives their exit codes. */
  async close(): Promise<number[]> {
    await this.server.stop(true);
    return Promise.all(this.processes.map((process) => process.close()));
  }

  private start(): ServerProcess {
    const process = new ServerProcess(this.command, this.env);
    this.processes.push(process);
    return process;
  }

  private async answer(request: Request): Promise<Response> {
    if (!isLocal(request)) return new Response("not an address of this machine", { status: 403 });
    const id = request.headers.get("mcp-session-id");
    const session = id === null ? undefined : this.sessions.get(id);
    if (id !== null && !session) return new Response("no such session", { status: 404 });
    if (request.method === "DELETE" && session) {
      this.sessions.delete(id!);
      return new Response();
    }
    if (request.method !== "POST") return new Response("POST only", { status: 405 });
    const message = (await request.json().catch(() => undefined)) as Message | undefined;
    if (message === undefined) return failed(null, -32700, "Parse error");
    if (message.method === undefined) return failed(null, -32600, "Invalid Request");
    if (session) return this.exchange(session, message, {});
    if (isStateless(request, message)) return this.answerStateless(request, message);
    if (message.method !== "initialize") return new Response("no session", { status: 400 });
    return this.open(message);
  }

  private open(message: Message): Promise<Response> {
    const id = crypto.randomUUID();
    const process = this.start();
    this.sessions.set(id, process);
    return this.exchange(process, message, { "mcp-session-id": id });
  }

  private answerStateless(request: Request, message: Message): Promise<Response> | Response {
    const mismatch = headerMismatch(request, message);
    if (mismatch !== undefined) return failed(message.id, HEADER_MISMATCH, mismatch);
    // A client that closes the stream of its request cancels it.
    const cancel = { jsonrpc: "2.0" as const, method: "notifications/cancelled", params: { requestId: message.id } };
    request.signal.addEventListener("abort", () => this.stateless.notify(cancel), { once: true });
    return this.exchange(this.stateless, message, {}, STATUS);
  }

  /** Answers with JSON, or with a stream of events where a notification comes before the answer. */
  private async exchange(
    process: ServerProcess,
    message: Message,
    headers: Record<string, string>,
    statuses: Record<number, number> = {},
  ): Promise<Response> {
    if (message.id === undefined) {
      process.notify(message);
      return new Response(null, { status: 202, headers });
    }
    const early: Message[] = [];
    let receive = (notification: Message): void => void early.push(notification);
    const notified = Promise.withResolvers<undefined>();
    const answer = process.request(message, (notification) => {
      receive(notification);
      notified.resolve(undefined);
    });
    const first = await Promise.race([answer, notified.promise]);
    if (first) return Response.json(first, { status: (first.error && statuses[first.error.code]) ?? 200, headers });
    const stream = new ReadableStream({
      async start(controller) {
        receive = (event) => controller.enqueue(`event: message\ndata: ${JSON.stringify(event)}\n\n`);
        early.forEach(receive);
        receive(await answer);
        controller.close();
      },
    });
    return new Response(stream, { headers: { ...headers, "content-type": "text/event-stream" } });
  }
}

/** Whether a request came for this machine, and not from a web page elsewhere whose name leads here. */
function isLocal(request: Request): boolean {
  const hosts = [`http://${request.headers.get("host")}`, request.headers.get("origin") ?? "http://localhost"];
  return hosts.every((url) => /^http:\/\/(localhost|127\.0\.0\.1)(:\d+)?$/.test(url));
}

function isStateless(request: Request, { params }: Message): boolean {
  return params?._meta?.[VERSION_KEY] !== undefined || request.headers.get("mcp-protocol-version") === STATELESS;
}

/** Which header contradicts the message; undefined where none does. */
function headerMismatch({ headers }: Request, { method, params }: Message): string | undefined {
  const version = params?._meta?.[VERSION_KEY];
  const isNamed = method === "tools/call" || method === "prompts/get";
  const name = isNamed ? params?.name : method === "resources/read" ? params?.uri : undefined;
  const expected = { "MCP-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": name };
  const wrong = Object.entries(expected).find(([key, value]) => value !== undefined && headers.get(key) !== value);
  return wrong && `Header mismatch: ${wrong[0]} is not that of the body`;
}

function failed(id: Message["id"], code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", id, error: { code, message } }, { status: STATUS[code]! });
}
