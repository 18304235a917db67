/** A server on loopback that stands for the host of releases, and can answer as no good host does. */
import { createServer, type Server, type Socket } from "node:net";

/** What it answers to one request. */
export interface Answer {
  status: number;
  body: Uint8Array;
  /** The connection ends after this many bytes of the body. */
  cutAfter?: number;
  /** The connection stays open after `cutAfter` bytes, and nothing more comes. */
  stalls?: boolean;
  /** The head has no length. */
  isEndless?: boolean;
}

export interface HostRequest {
  path: string;
  /** The first byte that was asked for, of a range that ends with the file. */
  from: number;
}

/** Serves files by their paths, with ranges. */
export class ReleaseHost implements AsyncDisposable {
  /** By path, as `/download/v0.2.0/SHA256SUMS`. */
  readonly files = new Map<string, Uint8Array>();
  readonly requests: HostRequest[] = [];
  /** Changes an answer; the second argument counts the requests for this path from 1. */
  change: (answer: Answer, request: HostRequest, count: number) => Answer = (answer) => answer;
  /** Settles when an answer stalls. */
  stalled = Promise.withResolvers<void>();
  readonly #sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    readonly address: string,
  ) {}

  static async start(): Promise<ReleaseHost> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const host = new ReleaseHost(server, `http://127.0.0.1:${port}`);
    server.on("connection", (socket) => host.#serve(socket));
    return host;
  }

  /** Forgets requests and faults. */
  reset(): void {
    this.requests.length = 0;
    this.change = (answer) => answer;
    this.stalled = Promise.withResolvers<void>();
  }

  paths(): string[] {
    return this.requests.map(({ path }) => path);
  }

  /** Ends all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    socket.on("error", () => {}); // a client that was ended
    let head = "";
    socket.on("data", (data) => {
      head += data.toString("latin1");
      if (head.endsWith("\r\n\r\n")) this.#answer(socket, head);
    });
  }

  #answer(socket: Socket, head: string): void {
    // A proxy gets the whole address.
    const path = /^GET (?:http:\/\/[^/ ]*)?(\S+) /.exec(head)?.[1] ?? "";
    const request = { path, from: Number(/^range: bytes=(\d+)-/im.exec(head)?.[1] ?? 0) };
    this.requests.push(request);
    const file = this.files.get(path);
    const found = { status: request.from > 0 ? 206 : 200, body: file?.subarray(request.from) ?? new Uint8Array() };
    const count = this.paths().filter((one) => one === path).length;
    const answer = this.change(file ? found : { ...found, status: 404 }, request, count);
    const { status, body, cutAfter, stalls, isEndless } = answer;
    const lines = [`HTTP/1.1 ${status} Answer`, "Connection: close", "Accept-Ranges: bytes"];
    if (!isEndless) lines.push(`Content-Length: ${body.length}`);
    if (status === 206) lines.push(`Content-Range: bytes ${request.from}-${file!.length - 1}/${file!.length}`);
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    const part = body.subarray(0, cutAfter ?? body.length);
    if (!stalls) return void socket.end(part);
    socket.write(part);
    this.stalled.resolve();
  }
}
