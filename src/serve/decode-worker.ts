/**
 * The other end of `decoder.ts`, on a thread of its own: parses large frames and packs their rows, so that the event loop answers others
 * meanwhile. The rows of an `add` are parsed before their collection's schema is known here, and wait for it.
 */
import { errorLine } from "../errors.ts";
import { isObject } from "../memory/schemas.ts";
import type { FromDecoder, ToDecoder } from "./decoder.ts";
import { parseRequest } from "./parse.ts";
import { packPut } from "./put.ts";

declare const self: Worker;

const waiting = new Map<number, { op: "add" | "upsert"; args: unknown }>();

self.onmessage = ({ data }: MessageEvent<ToDecoder>) => {
  const { key } = data;
  if (data.kind === "frame") parse(key, Buffer.from(data.buffer, data.start, data.bytes));
  else if (data.kind === "pack") pack(key, data.schema);
  else waiting.delete(key);
};

function parse(key: number, body: Buffer): void {
  let request: ReturnType<typeof parseRequest>;
  try {
    request = parseRequest(body);
  } catch (error) {
    send({ key, kind: "bad", reason: (error as Error).message });
    return;
  }
  const { op } = request;
  if ((op !== "add" && op !== "upsert") || !isObject(request.args)) {
    send({ key, kind: "request", request, isHeld: false });
    return;
  }
  waiting.set(key, { op, args: request.args });
  send({ key, kind: "request", request: { ...request, args: undefined }, isHeld: true });
}

function pack(key: number, schema: Parameters<typeof packPut>[2]): void {
  const held = waiting.get(key);
  waiting.delete(key);
  try {
    if (!held) throw new Error("the rows were let go of");
    const packed = packPut(held.op, held.args, schema);
    const { vectors, ids, metas, keys } = packed.rows;
    const views = [vectors, ids.bytes, ids.ends, metas.bytes, metas.ends, keys.bytes, keys.ends];
    send({ key, kind: "packed", packed }, [...new Set(views.map((view) => view.buffer as ArrayBuffer))]);
  } catch (error) {
    send({ key, kind: "refused", line: errorLine(error) });
  }
}

function send(message: FromDecoder, transfer: ArrayBuffer[] = []): void {
  self.postMessage(message, transfer);
}
