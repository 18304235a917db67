/**
 * Large frames are parsed on another thread: 60 MB of JSON numbers take half a second, in which no other client would
 * be answered. One thread parses for all connections, in turn; it is started with the first large frame.
 */
import { RuntimeError } from "../../../errors.ts";
import { errorFrom, type Fault, type Request } from "../../wire/protocol.ts";
import { BadRequest } from "./parse.ts";
import type { PackedPut, PutSchema } from "./put.ts";

/**
 * Larger frames are worth the hand-over to the thread, about 50 µs; frames up to this parse inline in at most 0.5 ms.
 */
export const DECODE_INLINE_BYTES = 128 * 1024;

/** Messages to the thread. */
export type ToDecoder =
  | { kind: "frame"; key: number; buffer: ArrayBuffer; start: number; bytes: number }
  | { kind: "pack"; key: number; schema: PutSchema }
  | { kind: "drop"; key: number };

/** Messages back. */
export type FromDecoder =
  | { kind: "bad"; key: number; reason: string }
  | { kind: "refused"; key: number; request: Request; fault: Fault }
  | { kind: "request"; key: number; request: Request }
  | { kind: "held"; key: number; request: Request }
  | { kind: "packed"; key: number; packed: PackedPut }
  | { kind: "unpackable"; key: number; fault: Fault };

/** A parsed request. */
export interface Decoded {
  request: Request;
  /** The rows of a large put, which stay on the other thread until they are packed or dropped. */
  held?: Held;
  /** Why the arguments are refused, where parsing found out. */
  refusal?: Error;
}

/** Rows on the other thread. */
export interface Held {
  pack(schema: PutSchema): Promise<PackedPut>;
  /** Releases rows that will not be packed; no effect after `pack`. */
  drop(): void;
}

interface Waiting {
  resolve(message: FromDecoder): void;
  reject(error: unknown): void;
}

interface Frame {
  body: Buffer;
  isWanted(): boolean;
  start(body: Buffer): Promise<unknown>;
  reject(error: unknown): void;
}

/** The decoding thread. */
export class Decoder {
  private worker: Worker | undefined;
  private isStopped = false;
  private readonly waiting = new Map<number, Waiting>();
  /** Queued frames. The thread gets one at a time, so that frames of closed connections are never parsed. */
  private readonly line: Frame[] = [];
  private isParsing = false;
  private lastKey = 0;

  /**
   * Parses a frame's body, whose memory goes to the other thread.
   * @param isWanted called when its turn has come
   * @throws BadRequest; RuntimeError where it is no longer wanted
   */
  decode(body: Buffer, isWanted: () => boolean): Promise<Decoded> {
    const { promise, resolve, reject } = Promise.withResolvers<Decoded>();
    this.line.push({ body, isWanted, reject, start: (bytes) => this.parse(bytes).then(resolve, reject) });
    void this.next();
    return promise;
  }

  /** Ends the thread; pending calls are rejected. */
  stop(): void {
    this.isStopped = true;
    this.worker?.terminate();
    this.fail(this.worker, "the server is ending");
  }

  private async next(): Promise<void> {
    if (this.isParsing) return;
    this.isParsing = true;
    for (let frame = this.line.shift(); frame; frame = this.line.shift()) {
      if (frame.isWanted()) await frame.start(frame.body);
      else frame.reject(new RuntimeError("the client is gone"));
    }
    this.isParsing = false;
  }

  private async parse(body: Buffer): Promise<Decoded> {
    const key = ++this.lastKey;
    // A body that fills its buffer is transferred; where other frames follow in the same buffer, it is copied.
    const isAlone = body.byteOffset <= 64 && body.byteOffset + body.length === body.buffer.byteLength;
    const own = isAlone ? body : Buffer.from(new Uint8Array(body).buffer);
    const frame = {
      kind: "frame",
      key,
      buffer: own.buffer as ArrayBuffer,
      start: own.byteOffset,
      bytes: own.length,
    } as const;
    const answer = await this.request(frame, [frame.buffer]);
    switch (answer.kind) {
      case "bad":
        throw new BadRequest(answer.reason);
      case "request":
        return { request: answer.request };
      case "refused":
        return { request: answer.request, refusal: errorFrom(answer.fault) };
      case "held":
        return { request: answer.request, held: this.held(key) };
      default:
        throw new RuntimeError("internal error: the decoder is out of step");
    }
  }

  private held(key: number): Held {
    let isHeld = true;
    return {
      pack: async (schema) => {
        isHeld = false;
        const { dim, keyName, filterColumns } = schema;
        const answer = await this.request({ kind: "pack", key, schema: { dim, keyName, filterColumns } }, []);
        if (answer.kind === "unpackable") throw errorFrom(answer.fault);
        if (answer.kind !== "packed") throw new RuntimeError("internal error: the decoder is out of step");
        return answer.packed;
      },
      drop: () => {
        if (isHeld) this.worker?.postMessage({ kind: "drop", key } satisfies ToDecoder);
        isHeld = false;
      },
    };
  }

  private request(message: ToDecoder, transfer: ArrayBuffer[]): Promise<FromDecoder> {
    if (this.isStopped) return Promise.reject(new RuntimeError("the server is ending"));
    return new Promise((resolve, reject) => {
      this.waiting.set(message.key, { resolve, reject });
      this.worker ??= this.start();
      this.worker.postMessage(message, transfer);
    });
  }

  private start(): Worker {
    const worker = new Worker(workerPath(), { env: process.env as Record<string, string> });
    worker.onmessage = ({ data }: MessageEvent<FromDecoder>) => {
      const waiting = this.waiting.get(data.key);
      this.waiting.delete(data.key);
      waiting?.resolve(data);
    };
    worker.onerror = (event) => this.fail(worker, `the decoder ended: ${event.message}`);
    worker.addEventListener("close", () => this.fail(worker, "the decoder ended"));
    return worker;
  }

  /** Rejects all that wait for this thread with the reason; the next frame starts another thread. */
  private fail(worker: Worker | undefined, why: string): void {
    if (worker === undefined || worker !== this.worker) return;
    this.worker = undefined;
    for (const { reject } of this.waiting.values()) reject(new RuntimeError(why));
    this.waiting.clear();
  }
}

/** In the executable the thread's file is a second entry, beside main. */
function workerPath(): string {
  return Bun.isStandaloneExecutable
    ? "./remote/server/requests/decode-worker.ts"
    : new URL("./decode-worker.ts", import.meta.url).href;
}
