/** A server scripted by a test: real sockets, real frames, and any misbehaviour. */
import { join } from "node:path";
import type { Socket as BunSocket } from "bun";
import { encodeFrame, FrameReader } from "../../../src/remote/wire/frame.ts";
import type { Request } from "../../../src/remote/wire/protocol.ts";
import { scratchDir } from "../../fixture.ts";

/** One connection, as a script sees it. */
export class Peer {
  /** Requests that came whole, in order. */
  readonly requests: Request[] = [];
  /** Bytes that came. */
  bytes = 0;
  readonly reader = new FrameReader();
  private left: Buffer = Buffer.alloc(0);

  constructor(
    readonly socket: BunSocket<unknown>,
    /** How many connections came before it. */
    readonly number: number,
  ) {}

  reply(result: unknown): void {
    this.raw(encodeFrame(JSON.stringify({ ok: true, result })));
  }

  /** An error without an id is about the connection, to a request that had one. */
  fail(error: string, id?: Request["id"], code?: string): void {
    this.raw(encodeFrame(JSON.stringify({ ok: false, error, code, id })));
  }

  /** Writes bytes as they are, all of them. */
  raw(bytes: Uint8Array | string): void {
    this.left = Buffer.concat([this.left, Buffer.from(bytes as Uint8Array)]);
    this.flush();
  }

  flush(): void {
    if (this.left.length > 0) this.left = this.left.subarray(Math.max(0, this.socket.write(this.left)));
  }

  end(): void {
    this.socket.end();
  }

  terminate(): void {
    this.socket.terminate();
  }
}

/** What a test wants of its server. */
export interface Script {
  onOpen?(peer: Peer): void;
  /** Called with bytes before they are read as requests; true keeps them from being read. */
  onBytes?(peer: Peer): boolean;
  onRequest?(request: Request, peer: Peer): void;
  onClose?(peer: Peer): void;
}

/** Listens until it is stopped: on a Unix socket of its own, or on any free port. */
export class ScriptedServer {
  readonly peers: Peer[] = [];
  readonly address: string;
  private readonly listener;

  constructor(
    readonly script: Script,
    where: { tcp?: true; path?: string } = {},
  ) {
    const path = where.path ?? join(scratchDir(), "s.sock");
    const byPeer = new Map<unknown, Peer>();
    const socket = {
      open: (opened: BunSocket<unknown>) => {
        const peer = new Peer(opened, this.peers.length);
        byPeer.set(opened, peer);
        this.peers.push(peer);
        script.onOpen?.(peer);
      },
      data: (from: BunSocket<unknown>, chunk: Buffer) => {
        const peer = byPeer.get(from)!;
        peer.bytes += chunk.length;
        if (script.onBytes?.(peer)) return;
        peer.reader.push(chunk);
        for (let body = peer.reader.next(); body; body = peer.reader.next()) {
          const request = JSON.parse(body.toString()) as Request;
          peer.requests.push(request);
          script.onRequest?.(request, peer);
        }
      },
      drain: (from: BunSocket<unknown>) => byPeer.get(from)?.flush(),
      close: (from: BunSocket<unknown>) => script.onClose?.(byPeer.get(from)!),
      error: () => {},
    };
    if (where.tcp) {
      const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket });
      this.address = `127.0.0.1:${listener.port}`;
      this.listener = listener;
    } else {
      this.listener = Bun.listen({ unix: path, socket });
      this.address = `unix://${path}`;
    }
  }

  /** Every request that came whole, over all connections. */
  get requests(): Request[] {
    return this.peers.flatMap((peer) => peer.requests);
  }

  get ops(): string[] {
    return this.requests.map(({ op }) => op);
  }

  [Symbol.dispose](): void {
    this.listener.stop(true);
  }
}

/** Whether a request asks for the server's identity, as a client does before the first change of a connection. */
export function isWho({ op, collection }: Request): boolean {
  return op === "stats" && !collection;
}

/** The answers of a healthy server to the operations that tests send. */
export function answer({ op, args }: Request): unknown {
  const { ids, vectors, texts } = (args ?? {}) as { ids?: string[]; vectors?: { shape?: number[] }; texts?: unknown[] };
  switch (op) {
    case "auth":
      return { authenticated: true };
    case "ping":
      return { pong: true };
    case "collections":
      return ["a", "b"];
    case "add":
    case "upsert":
    case "add_texts":
    case "upsert_texts": {
      const count = texts?.length ?? vectors?.shape?.[0] ?? 0;
      return ids ?? Array.from({ length: count }, (_, i) => `made-${i}`);
    }
    case "search":
    case "search_text":
      return { ids: ["a"], scores: [0.5] };
    case "search_hits":
      return { hits: [{ id: "a", score: 0.5, text: "t", created: 1, updated: 2, date: "1970-01-01" }] };
    case "get":
      return ids!.map((id) => ({ id, found: true, text: "t", created: 1, updated: 2 }));
    case "ids":
      return ["a", "b"];
    case "delete":
      return ids!.length;
    case "stats":
      return { name: "c", dim: 2, version: "0", uptime_s: 1, instance: "1", lost_saves: 0 };
    case "save":
      return (args as { with_generation?: boolean } | undefined)?.with_generation ? 1 : null;
    default:
      return null;
  }
}

/** A script that answers everything. */
export const healthy: Script = { onRequest: (request, peer) => peer.reply(answer(request)) };

/** The error of a call that has to fail. */
export async function failure(call: Promise<unknown>): Promise<Error & { type?: string }> {
  try {
    await call;
  } catch (error) {
    return error as Error;
  }
  throw new Error("the call succeeded");
}
