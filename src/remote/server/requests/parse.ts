/** Parses a frame's bytes into a request. The bounds are checked before JSON is parsed. */
import { isUtf8 } from "node:buffer";
import { isTooDeep } from "../../../checks/depth.ts";
import { isObject } from "../../../checks/kinds.ts";
import { ValueError } from "../../../errors.ts";
import { JSON_DEPTH_MAX } from "../../../limits.ts";
import type { Request } from "../../wire/protocol.ts";
import { overwriteBareWords } from "./bare-words.ts";

/** Not a request: no later byte of the connection can be trusted. */
export class BadRequest extends Error {}

/** A valid request with invalid arguments: it is answered with an error, in its turn. */
export class RefusedRequest extends Error {
  constructor(
    readonly request: Request,
    readonly refusal: ValueError,
  ) {
    super(refusal.message);
  }
}

/**
 * @throws BadRequest unless the body is UTF-8, JSON of bounded depth, and an object with a string `op`; RefusedRequest
 *   where only NaN or infinities in its `args` keep it from being JSON. The body may be overwritten then
 */
export function parseRequest(bytes: Buffer, start = 0, end = bytes.length): Request {
  const text = bytes.toString("utf8", start, end);
  // Bytes that are not UTF-8 decode to U+FFFD; only a text that holds one is checked again.
  if (text.includes("\ufffd") && !isUtf8(bytes.subarray(start, end))) throw new BadRequest("the frame is not UTF-8");
  if (end - start > JSON_DEPTH_MAX && isTooDeep(bytes.subarray(start, end)))
    throw new BadRequest("JSON that is nested too deep, or of too many parts");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refusalOf(bytes.subarray(start, end));
  }
  return checkRequest(value);
}

function checkRequest(value: unknown): Request {
  if (isObject(value) && typeof value.op === "string") return value as unknown as Request;
  throw new BadRequest("the frame is not an object with a string op");
}

/** Why a body that is not JSON is refused. */
function refusalOf(body: Buffer): BadRequest | RefusedRequest {
  try {
    const found = overwriteBareWords(body);
    if (!found) return new BadRequest("the frame is not JSON");
    const { op, collection, id } = checkRequest(JSON.parse(body.toString("utf8")));
    const why = `${found.field} is ${found.word}; JSON has no such number: send a finite one, or leave it out`;
    return new RefusedRequest({ op, collection, id }, new ValueError(why));
  } catch {
    return new BadRequest("the frame is not JSON");
  }
}

/** Frames up to this size are remembered. */
const REMEMBERED_BYTES_MAX = 64;

/**
 * The last request without arguments and id, by its bytes. Health checks and polls repeat the same few bytes, often
 * many in one packet; comparing them costs a tenth of parsing them.
 */
export class RepeatedRequest {
  private readonly bytes = Buffer.allocUnsafeSlow(REMEMBERED_BYTES_MAX);
  private length = 0;
  private request: Request | undefined;

  /** As `parseRequest`; the same frozen object for the same bytes. @throws BadRequest, RefusedRequest */
  parse(bytes: Buffer, start: number, end: number): Request {
    if (this.request && this.isSame(bytes, start, end)) return this.request;
    const request = parseRequest(bytes, start, end);
    if (end - start <= REMEMBERED_BYTES_MAX && request.args === undefined && request.id === undefined) {
      bytes.copy(this.bytes, 0, start, end);
      this.length = end - start;
      this.request = Object.freeze(request);
    }
    return request;
  }

  private isSame(bytes: Buffer, start: number, end: number): boolean {
    if (end - start !== this.length) return false;
    for (let i = 0; i < this.length; i++) if (bytes[start + i] !== this.bytes[i]) return false;
    return true;
  }
}
