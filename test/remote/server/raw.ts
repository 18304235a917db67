/** A client by PROTOCOL.md, without this project's code: bytes out, replies in, and how the connection ended. */

import { join } from "node:path";
import type { Socket } from "bun";
import { LocalStore } from "../../../src/api/local-store.ts";
import type { LogEvent } from "../../../src/log.ts";
import { type RunningServer, type ServeOptions, serve } from "../../../src/remote/server/server.ts";
import type { EmbedderProfile } from "../../../src/texts/embedder.ts";
import { native, scratchDir } from "../../fixture.ts";
import { selfTls } from "./tls-server.ts";

// biome-ignore lint/suspicious/noExplicitAny: a reply is JSON, and a test reads what it expects of it
export type Answer = any;

/** A frame around bytes. `length` is a wrong length for its header. */
export function frame(body: string | Uint8Array, length?: number): Buffer {
  const bytes = Buffer.from(body as Uint8Array);
  const header = Buffer.alloc(4);
  header.writeUInt32BE(length ?? bytes.length);
  return Buffer.concat([header, bytes]);
}

/** A request's frame. */
export function ask(op: unknown, collection?: unknown, args?: unknown, id?: unknown): Buffer {
  return frame(JSON.stringify({ op, collection, args, id }));
}

/** A request's frame that is larger than `bytes`: an unused field of the request makes it so. */
export function large(request: object, bytes = 200_000): Buffer {
  return frame(JSON.stringify({ ...request, padding: "x".repeat(bytes) }));
}

/** Fails after `ms` and says what was waited for. */
export async function within<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${ms} ms for ${what}`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits until something is true. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>, ms = 30_000): Promise<void> {
  for (const deadline = performance.now() + ms; !(await isTrue()); await Bun.sleep(10)) {
    if (performance.now() > deadline) throw new Error(`waited ${ms} ms for ${what}`);
  }
}

const WAIT_MS = 30_000;

/** The token of the tests' TCP servers. */
export const TOKEN = "sesame-81c7";

/** One connection. */
export class Raw {
  /** Replies that came and were not taken yet. */
  readonly replies: Answer[] = [];
  bytesIn = 0;
  isClosed = false;
  private socket!: Socket<undefined>;
  private outgoing: Buffer[] = [];
  private incoming: Buffer[] = [];
  private held = 0;
  private waiters: (() => void)[] = [];

  static async open(address: string): Promise<Raw> {
    const raw = new Raw();
    const socket = {
      data: (_: unknown, chunk: Buffer) => raw.take(chunk),
      drain: () => raw.flush(),
      end: () => raw.closed(),
      close: () => raw.closed(),
      error: () => raw.closed(),
    };
    if (address.startsWith("unix://")) {
      raw.socket = await Bun.connect({ unix: address.slice(7), socket });
    } else {
      const [, scheme, hostname, port] = /^(tcp|tls):\/\/\[?(.*?)\]?:(\d+)(?:#.*)?$/.exec(address)!;
      const shaken = Promise.withResolvers<void>();
      const tls = scheme === "tls" ? { rejectUnauthorized: false } : undefined;
      const events = tls ? { ...socket, handshake: () => shaken.resolve() } : socket;
      raw.socket = await Bun.connect({ hostname: hostname!, port: Number(port), socket: events, tls });
      if (tls) await shaken.promise;
    }
    return raw;
  }

  /** Sends bytes as they are; what the kernel does not take goes out later. */
  send(...bytes: Uint8Array[]): void {
    this.outgoing.push(Buffer.concat(bytes));
    this.flush();
  }

  get unsent(): number {
    return this.outgoing.reduce((sum, bytes) => sum + bytes.length, 0);
  }

  /** The next reply; undefined where the connection ended before it. */
  async next(ms = WAIT_MS): Promise<Answer> {
    await within(
      this.when(() => this.replies.length > 0 || this.isClosed),
      ms,
      "a reply",
    );
    return this.replies.shift();
  }

  /** So many replies. */
  async many(count: number): Promise<Answer[]> {
    const all: Answer[] = [];
    while (all.length < count) {
      const reply = await this.next();
      if (reply === undefined) throw new Error(`the connection ended after ${all.length} of ${count} replies`);
      all.push(reply);
    }
    return all;
  }

  /** Sends a request and waits for the whole reply. */
  ask(op: unknown, collection?: unknown, args?: unknown, id?: unknown): Promise<Answer> {
    this.send(ask(op, collection, args, id));
    return this.next();
  }

  /** Sends a request that has to succeed and waits for its result. */
  async ok(op: string, collection?: string, args?: unknown): Promise<Answer> {
    const reply = await this.ask(op, collection, args);
    if (!reply?.ok) throw new Error(`${op}: ${reply?.error ?? "the connection ended"}`);
    return reply.result;
  }

  /** Waits until the other side has closed. */
  async end(ms = WAIT_MS): Promise<void> {
    await within(
      this.when(() => this.isClosed),
      ms,
      "the end of the connection",
    );
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  /** Ends the sending half. */
  shutdown(): void {
    this.socket.shutdown();
  }

  close(): void {
    this.socket.terminate();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  private when(isTrue: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (isTrue()) resolve();
        else this.waiters.push(look);
      };
      look();
    });
  }

  private wake(): void {
    const { waiters } = this;
    this.waiters = [];
    for (const look of waiters) look();
  }

  private flush(): void {
    while (this.outgoing.length > 0 && !this.isClosed) {
      const [first] = this.outgoing as [Buffer];
      const taken = this.socket.write(first);
      if (taken < 0) return;
      if (taken < first.length) {
        this.outgoing[0] = first.subarray(taken);
        return;
      }
      this.outgoing.shift();
    }
  }

  private take(chunk: Buffer): void {
    this.bytesIn += chunk.length;
    this.incoming.push(Buffer.from(chunk));
    this.held += chunk.length;
    if (this.held < this.wanted()) return;
    let all = Buffer.concat(this.incoming);
    while (all.length >= 4 && all.length >= 4 + all.readUInt32BE(0)) {
      const end = 4 + all.readUInt32BE(0);
      this.replies.push(JSON.parse(all.toString("utf8", 4, end)));
      all = all.subarray(end);
    }
    this.incoming = [all];
    this.held = all.length;
    this.wake();
  }

  private wanted(): number {
    const [first] = this.incoming;
    return first && first.length >= 4 ? 4 + first.readUInt32BE(0) : 4;
  }

  private closed(): void {
    this.isClosed = true;
    this.wake();
  }
}

/** Every server of a test has TLS: over-tls.test.ts runs files once more so. */
export const OVER_TLS = process.env.SVC_TEST_TLS === "1";

/** A server in this process with a directory of its own. */
export class TestServer {
  private readonly clients: Raw[] = [];

  private constructor(
    readonly dir: string,
    readonly store: LocalStore,
    readonly server: RunningServer,
    readonly token: string | undefined,
    readonly events: LogEvent[],
  ) {}

  static async start(options: Partial<ServeOptions> & { dir?: string; tcp?: boolean } = {}): Promise<TestServer> {
    const { dir = scratchDir(), tcp, ...further } = options;
    const store = further.store ?? (await openLocal(dir));
    const events: LogEvent[] = [];
    if (OVER_TLS && further.socketPath === undefined && further.host === undefined) further.tls ??= await selfTls();
    const isTcp = tcp || further.tls !== undefined;
    const token = isTcp ? TOKEN : undefined;
    const where = isTcp
      ? { host: "127.0.0.1", port: 0, accessToken: token }
      : { socketPath: join(scratchDir(), "s.sock") };
    const log = (event: LogEvent) => void events.push(event);
    const server = await serve({ ...where, log, ...further, store });
    return new TestServer(dir, store, server, token, events);
  }

  get address(): string {
    return this.server.address;
  }

  /** A connection that nothing was sent on. */
  async bare(): Promise<Raw> {
    const raw = await Raw.open(this.address);
    this.clients.push(raw);
    return raw;
  }

  /** An authenticated connection. */
  async open(): Promise<Raw> {
    const raw = await this.bare();
    if (this.token !== undefined) await raw.ok("auth", undefined, { token: this.token });
    return raw;
  }

  logged(event: string): LogEvent[] {
    return this.events.filter((one) => one.event === event);
  }

  async stop(): Promise<Map<string, unknown>> {
    for (const client of this.clients) client.close();
    const failures = await this.server.stop();
    await this.store.close();
    return failures;
  }

  close(): Promise<unknown> {
    return this.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** A memory directory as `svc serve` opens it. Several on one directory behave like several processes. */
export async function openLocal(dir: string): Promise<LocalStore> {
  return new LocalStore(dir, await native(), "0.0.0-test", 1 << 20);
}

/** A client that sends valid requests until it is stopped, and fails if any answer is wrong. */
export class Honest {
  count = 0;
  private isOver = false;
  private readonly running: Promise<void>;

  private constructor(private readonly raw: Raw) {
    this.running = this.run();
    this.running.catch(() => {});
  }

  /** Makes its collection `honest` first. */
  static async start(server: TestServer): Promise<Honest> {
    const raw = await server.open();
    await raw.ok("create_collection", "honest", { dim: 2 });
    await raw.ok("upsert", "honest", { vectors: [[1, 0]], ids: ["me"] });
    return new Honest(raw);
  }

  /** Throws what went wrong. */
  async stop(): Promise<void> {
    const before = this.count;
    await within(
      (async () => {
        while (this.count < before + 2) await Promise.race([this.running, Bun.sleep(1)]);
      })(),
      30_000,
      "an answer to the honest client",
    );
    this.isOver = true;
    await this.running;
    this.raw.close();
  }

  private async run(): Promise<void> {
    while (!this.isOver) {
      const ping = await this.raw.ask("ping", undefined, undefined, this.count);
      const found = await this.raw.ask("search", "honest", { vector: [1, 0] });
      const good = ping?.result?.pong === true && ping.id === this.count && found?.result?.ids?.[0] === "me";
      if (!good) throw new Error(`the honest client got ${JSON.stringify([ping, found])}`);
      this.count++;
      await Bun.sleep(1);
    }
  }
}

/** The profile of an embedder that a test makes up. */
export function testProfile(modelId: string, dimension: number): EmbedderProfile {
  return {
    provider: "test",
    model_id: modelId,
    model_version: "1",
    dimension,
    dtype: "f32",
    normalization: "l2",
    distance: "inner_product",
    pooling: "none",
    tokenizer_hash: "none",
    projection_version: "1",
  };
}
