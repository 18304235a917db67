/**
 * The thread of `decoder.ts`: parses large frames, validates their arguments and packs rows, so that the event loop
 * answers other clients meanwhile. Results are small or transferred without a copy. Untrusted JSON never crosses as
 * parsed: copying sixty million empty lists would block the event loop for longer than parsing them does here.
 */

import { parseBy } from "../../../checks/schema.ts";
import { REQUEST_ID_LENGTH_MAX } from "../../../limits.ts";
import { faultOf, isOp, type Request } from "../../wire/protocol.ts";
import { readVector } from "../../wire/vectors.ts";
import type { FromDecoder, ToDecoder } from "./decoder.ts";
import { parseRequest, RefusedRequest } from "./parse.ts";
import { PUTS, type PutOp, type PutSchema, packPut } from "./put.ts";
import { ARGUMENTS } from "./schemas.ts";

declare const self: Worker;

/** Rows that wait for their collection's schema. */
const waiting = new Map<number, { op: PutOp; args: unknown }>();

self.onmessage = ({ data }: MessageEvent<ToDecoder>) => {
  const { key } = data;
  if (data.kind === "frame") parse(key, Buffer.from(data.buffer, data.start, data.bytes));
  else if (data.kind === "pack") pack(key, data.schema);
  else waiting.delete(key);
};

function parse(key: number, body: Buffer): void {
  let request: Request;
  try {
    request = parseRequest(body);
  } catch (error) {
    if (error instanceof RefusedRequest) {
      send({ key, kind: "refused", request: headOf(error.request), fault: faultOf(error.refusal) });
    } else send({ key, kind: "bad", reason: (error as Error).message });
    return;
  }
  const { op, args } = request;
  const head = headOf(request);
  if (PUTS.includes(op as PutOp)) {
    waiting.set(key, { op: op as PutOp, args });
    send({ key, kind: "held", request: head });
    return;
  }
  try {
    if (!isOp(op)) {
      send({ key, kind: "request", request: head });
      return;
    }
    const parsed: Record<string, unknown> = parseBy(ARGUMENTS[op], `op '${op}'`, args);
    const vector = op === "search" ? readVector(parsed.vector, "vector") : undefined;
    if (vector) parsed.vector = vector;
    send({ key, kind: "request", request: { ...head, args: parsed } }, vector ? [vector.buffer as ArrayBuffer] : []);
  } catch (error) {
    send({ key, kind: "refused", request: head, fault: faultOf(error) });
  }
}

function pack(key: number, schema: PutSchema): void {
  const held = waiting.get(key);
  waiting.delete(key);
  try {
    if (!held) throw new Error("the rows were released already");
    const packed = packPut(held.op, held.args, schema);
    const { vectors, ids, metas, texts, keys } = packed.rows;
    const views: ArrayBufferView[] = [ids.bytes, ids.ends, metas.bytes, metas.ends, keys.bytes, keys.ends];
    if (vectors) views.push(vectors);
    if (texts) views.push(texts.bytes, texts.ends);
    send({ key, kind: "packed", packed }, [...new Set(views.map((view) => view.buffer as ArrayBuffer))]);
  } catch (error) {
    send({ key, kind: "unpackable", fault: faultOf(error) });
  }
}

/** A request without its arguments; of fields of a wrong type or length only what their error message needs. */
function headOf({ op, collection, id }: Request): Request {
  return { op: op.slice(0, 200), collection: small(collection), id: small(id) } as Request;
}

/** A short value itself, the beginning of a long string, `{}` for any object. */
function small(value: unknown): unknown {
  if (typeof value === "string") return value.slice(0, 2 * REQUEST_ID_LENGTH_MAX);
  if (Array.isArray(value)) return [];
  return typeof value === "object" && value !== null ? {} : value;
}

function send(message: FromDecoder, transfer: ArrayBuffer[] = []): void {
  self.postMessage(message, transfer);
}
