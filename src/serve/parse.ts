/** A frame's bytes to a request. The bounds hold before anything is parsed. */
import { isUtf8 } from "node:buffer";
import { JSON_DEPTH_MAX } from "../limits.ts";
import { isObject } from "../memory/schemas.ts";
import { isTooDeep } from "../wire/depth.ts";
import type { Request } from "../wire/protocol.ts";

/** Not a request: nothing that follows on the connection can be trusted. */
export class BadRequest extends Error {}

/** @throws BadRequest unless the body is UTF-8, JSON of bounded depth, and an object with a string `op` */
export function parseRequest(body: Buffer): Request {
  const text = body.toString("utf8");
  // Bytes that are no UTF-8 decode to U+FFFD; only a text that holds one is looked at twice.
  if (text.includes("\ufffd") && !isUtf8(body)) throw new BadRequest("the frame is not UTF-8");
  if (isTooDeep(body)) throw new BadRequest(`JSON nested deeper than ${JSON_DEPTH_MAX} levels`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new BadRequest("the frame is not JSON");
  }
  if (!isObject(value) || typeof value.op !== "string")
    throw new BadRequest("the frame is not an object with a string op");
  return value as unknown as Request;
}
