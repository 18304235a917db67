/**
 * JSON-RPC over stdin and stdout, one message a line, for the SDK's `Protocol`.
 *
 * Not the SDK's own transport: its `process.stdin` and `process.stdout` cost 12–15 ms at start, it stops at the first
 * line above 10 MiB, and it is silent where JSON-RPC requires an error. Here every line that is not a message is
 * answered and the server runs on.
 */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  ErrorCode,
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
} from "@modelcontextprotocol/sdk/types.js";
import { isTooDeep } from "../checks/depth.ts";
import { isObject } from "../checks/kinds.ts";
import { isBlank, type Line, LineSplitter, OversizeLine } from "../checks/lines.ts";
import { JSON_DEPTH_MAX, STDIO_LINE_BYTES_MAX } from "../limits.ts";
import { idOfOversize, topLevelId } from "./lines.ts";
import type { Monitor } from "./monitor.ts";

/** Bytes of unsent replies beyond which no further request is read. */
const QUEUED_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Why the connection ended: the client closed its end of stdin, stopped reading our stdout, or the server was stopped.
 */
export type EndReason = "eof" | "broken" | "closed";

/** The transport's streams: stdin and stdout, or others in tests. */
interface StdioOptions {
  monitor?: Monitor;
  input?: ReadableStream<Uint8Array>;
  output?: { write(chunk: string): unknown; flush(): unknown };
  lineBytesMax?: number;
}

/** The part of a stream's reader that is used. */
interface ByteReader {
  read(): Promise<{ done: boolean; value?: Uint8Array }>;
  cancel(): Promise<void>;
}

/** A Bun-native stdio transport. When `ended` resolves, the server's owner drains and closes it. */
export class StdioTransport implements Transport {
  onmessage?: Transport["onmessage"];
  onclose?: () => void;
  onerror?: (error: Error) => void;

  /** Resolves once: at the end of stdin, when stdout breaks, or on {@link stop}. */
  readonly ended: Promise<EndReason>;
  /** Resolves only when the client no longer reads. */
  readonly broken: Promise<void>;

  private readonly end: (reason: EndReason) => void;
  private readonly breakOutput: () => void;
  private readonly lineBytesMax: number;
  private readonly splitter: LineSplitter;
  private readonly decoder = new TextDecoder("utf-8", { fatal: true });
  private readonly monitor: Monitor | undefined;
  private readonly output: NonNullable<StdioOptions["output"]>;
  private readonly input: () => ReadableStream<Uint8Array>;
  private reader: ByteReader | undefined;
  private writing: Promise<void> = Promise.resolve();
  private queuedBytes = 0;
  private isBroken = false;
  private isClosed = false;

  constructor(options: StdioOptions = {}) {
    const ended = Promise.withResolvers<EndReason>();
    const broken = Promise.withResolvers<void>();
    this.ended = ended.promise;
    this.end = ended.resolve;
    this.broken = broken.promise;
    this.breakOutput = broken.resolve;
    this.monitor = options.monitor;
    this.lineBytesMax = options.lineBytesMax ?? STDIO_LINE_BYTES_MAX;
    this.splitter = new LineSplitter(this.lineBytesMax);
    this.input = () => options.input ?? Bun.stdin.stream();
    this.output = options.output ?? Bun.stdout.writer();
  }

  /** Begins to read. Called by the SDK when the server connects. */
  async start(): Promise<void> {
    this.reader = this.input().getReader();
    void this.readAll(this.reader);
  }

  /**
   * Queues a message; resolves when it is handed to the system. Never rejects: a client that left is not an error of
   * the call.
   */
  async send(message: JSONRPCMessage): Promise<void> {
    const line = JSON.stringify(message);
    this.monitor?.record("out", line);
    this.queuedBytes += line.length;
    this.writing = this.writing.then(() => this.write(line));
    await this.writing;
  }

  /** Resolves when all messages sent so far are written, or the output is broken. */
  async flush(): Promise<void> {
    let last: Promise<void>;
    do {
      last = this.writing;
      await last;
    } while (last !== this.writing);
  }

  /** Stops reading; replies are still sent. */
  stop(reason: EndReason = "closed"): void {
    this.end(reason);
    this.reader?.cancel().catch(() => {});
  }

  /** Ends both directions. Does not wait for queued messages: {@link flush} first. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    this.stop();
    this.onclose?.();
  }

  private async readAll(reader: ByteReader): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done || !value) break;
        for (const line of this.splitter.push(value)) this.receive(line);
        if (this.queuedBytes > QUEUED_BYTES_MAX) await this.flush();
      }
      for (const line of this.splitter.finish()) this.receive(line);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
    this.end("eof");
  }

  private async write(line: string): Promise<void> {
    try {
      if (this.isBroken) return;
      // Each message is awaited before the next: unawaited writes were measured to pile up in memory behind a slow
      // reader.
      await this.output.write(`${line}\n`);
      await this.output.flush();
    } catch {
      // EPIPE or a full disk behind a redirect. It cannot be reported; after the first failure Bun's writer reports
      // success.
      this.isBroken = true;
      this.breakOutput();
      this.stop("broken");
    } finally {
      this.queuedBytes -= line.length;
    }
  }

  private receive(line: Line): void {
    if (line instanceof OversizeLine) {
      this.monitor?.record("in", undefined, `(a line of more than ${this.lineBytesMax} bytes, skipped)`);
      this.refuse(
        ErrorCode.InvalidRequest,
        `message longer than ${this.lineBytesMax} bytes: split it into several calls`,
        idOfOversize(line),
      );
      return;
    }
    if (isBlank(line)) return;
    if (isTooDeep(line)) {
      this.monitor?.record("in", undefined, `(${line.length} bytes of JSON nested too deeply, not parsed)`);
      this.refuse(ErrorCode.InvalidRequest, `JSON nested deeper than ${JSON_DEPTH_MAX} levels`, topLevelId(line));
      return;
    }
    const text = this.decode(line);
    if (text === undefined) return;
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      this.monitor?.record("in", undefined, text);
      this.refuse(ErrorCode.ParseError, "Parse error: the line is not JSON");
      return;
    }
    this.monitor?.record("in", text);
    this.dispatch(message);
  }

  private decode(line: Uint8Array): string | undefined {
    try {
      return this.decoder.decode(line);
    } catch {
      this.monitor?.record("in", undefined, `(${line.length} bytes that are not UTF-8)`);
      this.refuse(ErrorCode.ParseError, "Parse error: the line is not UTF-8");
      return undefined;
    }
  }

  /**
   * Hands a message to the server, or replies why it is not one: the SDK would silently drop it and its sender would
   * wait.
   */
  private dispatch(message: unknown): void {
    if (Array.isArray(message)) {
      this.refuse(ErrorCode.InvalidRequest, "Invalid Request: batches are not served: send one message a line");
      return;
    }
    const isMessage =
      isJSONRPCRequest(message) ||
      isJSONRPCNotification(message) ||
      isJSONRPCResultResponse(message) ||
      isJSONRPCErrorResponse(message);
    if (isMessage) {
      this.onmessage?.(message);
      return;
    }
    const { jsonrpc, method } = isObject(message) ? message : {};
    if (jsonrpc !== "2.0" || typeof method !== "string") {
      this.refuse(ErrorCode.InvalidRequest, "Invalid Request: not a JSON-RPC 2.0 message", idOf(message));
    } else if (Object.hasOwn(message as object, "id")) {
      this.refuseRequest(idOf(message));
    }
    // A notification is never answered, whatever its parameters are.
  }

  /** A request whose id or parameters are of the wrong type. */
  private refuseRequest(id: RequestId | undefined): void {
    if (typeof id === "string" || Number.isSafeInteger(id)) {
      const problem = "params and params._meta are objects, _meta.progressToken is a string or an integer";
      this.refuse(ErrorCode.InvalidParams, `Invalid params: ${problem}`, id);
    } else
      this.refuse(
        ErrorCode.InvalidRequest,
        "Invalid Request: the id is a string, or an integer of at most 2^53 - 1",
        id,
      );
  }

  private refuse(code: number, message: string, id?: RequestId): void {
    // Where the id could not be read there is none: the schemas of MCP refuse the null of JSON-RPC.
    void this.send({ jsonrpc: "2.0", id, error: { code, message } });
  }
}

/** The id for the reply, where the message has a usable one. */
function idOf(message: unknown): RequestId | undefined {
  const id =
    typeof message === "object" && message !== null && Object.hasOwn(message, "id") && (message as { id: unknown }).id;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}
