/**
 * Large frames are parsed on another thread: 60 MB of JSON numbers keep a thread busy for half a second, in which nobody else would be answered. One thread does
 * it for all, in turn; it is started with the first large frame.
 */
import { RuntimeError } from "../errors.ts";
import { errorFromLine, type Request } from "../wire/protocol.ts";
import { BadRequest } from "./parse.ts";
import type { PackedPut, PutSchema } from "./put.ts";

/** Frames of more bytes than this are worth the way to another thread, about 50 µs; parsing them here takes up to half a millisecond. */
export const DECODE_INLINE_BYTES = 128 * 1024;

/** Messages to the thread. */
export type ToDecoder =
  | { kind: "frame"; key: number; buffer: ArrayBuffer; start: number; bytes: number }
  | { kind: "pack"; key: number; schema: PutSchema }
  | { kind: "drop"; key: number };

/** Messages back. */
export type FromDecoder =
  | { kind: "bad"; key: number; reason: string }
  | { kind: "request"; key: number; request: Request; isHeld: boolean }
  | { kind: "packed"; key: number; packed: PackedPut }
  | { kind: "refused"; key: number; line: string };

/** A request; the rows of a large `add` or `upsert` stay on the other thread until `pack` is told the schema. */
export interface Decoded {
  request: Request;
  pack?: (schema: PutSchema) => Promise<PackedPut>;
  /** Lets go of rows that will not be packed. */
  drop?: () => void;
}

interface Waiting {
  resolve(message: FromDecoder): void;
  reject(error: unknown): void;
}

/** The decoding thread. */
export class Decoder {
  private worker: Worker | undefined;
  private readonly waiting = new Map<number, Waiting>();
  private lastKey = 0;

  /** Parses a frame's body, whose memory goes to the other thread. @throws BadRequest */
  async decode(body: Buffer): Promise<Decoded> {
    const key = ++this.lastKey;
    // A body that fills its memory to the end is handed over; where others lie behind it in the same chunk, it is copied.
    const isAlone = body.byteOffset <= 64 && body.byteOffset + body.length === body.buffer.byteLength;
    const own = isAlone ? body : Buffer.from(new Uint8Array(body).buffer);
    const frame = {
      kind: "frame",
      key,
      buffer: own.buffer as ArrayBuffer,
      start: own.byteOffset,
      bytes: own.length,
    } as const;
    const answer = await this.ask(frame, [frame.buffer]);
    if (answer.kind === "bad") throw new BadRequest(answer.reason);
    if (answer.kind !== "request") throw new RuntimeError("internal error: the decoder is out of step");
    if (!answer.isHeld) return { request: answer.request };
    return {
      request: answer.request,
      pack: async (schema) => {
        const packed = await this.ask({ kind: "pack", key, schema }, []);
        if (packed.kind === "refused") throw errorFromLine(packed.line);
        if (packed.kind !== "packed") throw new RuntimeError("internal error: the decoder is out of step");
        return packed.packed;
      },
      drop: () => this.worker?.postMessage({ kind: "drop", key } satisfies ToDecoder),
    };
  }

  /** Ends the thread; whoever waits for it gets an error. */
  stop(): void {
    this.worker?.terminate();
    this.fail(new RuntimeError("the server is ending"));
  }

  private ask(message: ToDecoder, transfer: ArrayBuffer[]): Promise<FromDecoder> {
    return new Promise((resolve, reject) => {
      this.waiting.set(message.key, { resolve, reject });
      this.worker ??= this.start();
      this.worker.postMessage(message, transfer);
    });
  }

  private start(): Worker {
    const worker = new Worker(workerPath());
    worker.onmessage = ({ data }: MessageEvent<FromDecoder>) => {
      const waiting = this.waiting.get(data.key);
      this.waiting.delete(data.key);
      waiting?.resolve(data);
    };
    worker.onerror = (event) => this.fail(new RuntimeError(`the decoder ended: ${event.message}`));
    worker.addEventListener("close", () => this.fail(new RuntimeError("the decoder ended")));
    return worker;
  }

  private fail(error: RuntimeError): void {
    this.worker = undefined;
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }
}

/** In the executable the thread's file is an entry of its own, beside main. */
function workerPath(): string {
  return Bun.isStandaloneExecutable ? "./serve/decode-worker.ts" : new URL("./decode-worker.ts", import.meta.url).href;
}
