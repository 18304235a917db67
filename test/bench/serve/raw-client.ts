/** A minimal client: frames of JSON over a socket, nothing of src/remote/client. */
import { parseAddress } from "../../../src/remote/client/address.ts";
import { encodeFrame, FrameReader } from "../../../src/remote/wire/frame.ts";
import { TOKEN } from "./processes.ts";

/** A connection that sends requests and reads replies in order. */
export class RawClient {
  private readonly reader = new FrameReader();
  private unsent: Buffer[] = [];
  private socket!: Bun.Socket<undefined>;
  /** Called with each reply. */
  private onReply: (reply: Record<string, unknown>) => void = () => {};
  /** Called after the replies of one chunk. */
  private onChunk: () => void = () => {};
  private onClose: (error: Error) => void = () => {};
  isClosed = false;

  /** Connects, and authenticates over TCP. */
  static async open(address: string, options: { auth?: boolean } = {}): Promise<RawClient> {
    const client = new RawClient();
    const where = parseAddress(address);
    const target = where.kind === "unix" ? { unix: where.path } : { hostname: where.host, port: where.port };
    client.socket = await Bun.connect({
      ...target,
      socket: {
        data: (_: unknown, chunk: Buffer) => client.read(chunk),
        drain: () => client.flush(),
        close: () => client.closed(),
        error: () => client.closed(),
      },
    } as unknown as Bun.UnixSocketOptions<undefined>);
    if (where.kind === "tcp" && options.auth !== false) await client.request({ op: "auth", args: { token: TOKEN } });
    return client;
  }

  /** One request and its reply. @throws for an error of the server */
  async request(request: object): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>();
    this.onReply = resolve;
    this.onClose = reject;
    this.write(encodeFrame(JSON.stringify(request)));
    const reply = await promise;
    if (reply.ok !== true) throw new Error(String(reply.error));
    return reply.result;
  }

  /**
   * Requests for `ms` milliseconds with `depth` of them outstanding. Sliding sends a new one for each reply; lockstep
   * waits until all of a batch are answered.
   * @returns replies per second
   */
  async pipeline(request: object, depth: number, mode: "sliding" | "lockstep", ms: number): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const start = performance.now();
    const end = start + ms;
    let outstanding = 0;
    let replies = 0;
    const send = (count: number) => {
      const frames: Buffer[] = [];
      for (let i = 0; i < count; i++) frames.push(encodeFrame(JSON.stringify(request)));
      outstanding += count;
      this.write(count === 1 ? frames[0]! : Buffer.concat(frames));
    };
    this.onReply = () => {
      outstanding--;
      replies++;
    };
    this.onChunk = () => {
      const now = performance.now();
      if (now < end) {
        if (mode === "sliding" || outstanding === 0) send(depth - outstanding);
      } else if (outstanding === 0) {
        resolve((replies / (now - start)) * 1000);
      }
    };
    this.onClose = reject;
    send(depth);
    try {
      return await promise;
    } finally {
      this.onChunk = () => {};
    }
  }

  /** Bytes as they are. */
  write(bytes: Buffer): void {
    this.unsent.push(bytes);
    if (this.unsent.length === 1) this.flush();
  }

  close(): void {
    this.socket.terminate();
  }

  private flush(): void {
    for (let first = this.unsent[0]; first; first = this.unsent[0]) {
      const taken = Math.max(0, this.socket.write(first));
      if (taken < first.length) {
        this.unsent[0] = first.subarray(taken);
        return;
      }
      this.unsent.shift();
    }
  }

  private read(chunk: Buffer): void {
    this.reader.push(chunk);
    for (let body = this.reader.next(); body; body = this.reader.next())
      this.onReply(JSON.parse(body.toString("utf8")));
    this.onChunk();
  }

  private closed(): void {
    this.isClosed = true;
    this.onClose(new Error("the server closed the connection"));
  }
}
