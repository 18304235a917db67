/** Results and failures as the JSON of a reply. */
import { OSError, ValueError } from "../../../errors.ts";
import { FRAME_BYTES_MAX, REQUEST_ID_LENGTH_MAX } from "../../../limits.ts";
import { faultOf, type Request } from "../../wire/protocol.ts";
import { Outbox } from "./outbox.ts";
import { RawJson } from "./raw-json.ts";

type Id = Request["id"];

/** @throws ValueError for an answer that does not fit into a frame */
export function success(result: unknown, id: Id): string {
  if (id === undefined && result instanceof RawJson && result.reply !== undefined) return result.reply;
  const json = result instanceof RawJson ? result.json : (JSON.stringify(result) ?? "null");
  const reply = `{"ok":true,"result":${json}${idPart(id)}}`;
  if (Outbox.fits(reply)) return reply;
  throw tooLarge();
}

/** The error for an answer that does not fit into a frame. */
export function tooLarge(): ValueError {
  return new ValueError(`the answer has more than ${FRAME_BYTES_MAX} bytes: filter with where, or ask for fewer rows`);
}

/** A failed request. The client's machine has a disk too: a failure of this one's says whose it is. */
export function failure(error: unknown, id: Id): string {
  const { error: line, code } = faultOf(ofDisk(error) ? onServer(error) : error);
  const codePart = code === undefined ? "" : `,"code":"${code}"`;
  return `{"ok":false,"error":${JSON.stringify(line)}${codePart}${idPart(id)}}`;
}

function ofDisk(error: unknown): error is OSError {
  return error instanceof OSError && (error.reason === "disk_full" || error.reason === "io");
}

function onServer({ message, reason }: OSError): OSError {
  return new OSError(`on the server: ${message}`, reason);
}

/** Whether a reply, as made here, reports success. */
export function isSuccess(reply: string): boolean {
  return reply.startsWith('{"ok":true');
}

/**
 * An integer beyond 2^53 has lost digits: echoed, it could match another request.
 * @throws ValueError
 */
export function checkId(id: unknown): void {
  if (id === undefined || isId(id)) return;
  throw new ValueError(
    `the id of a request is a string of at most ${REQUEST_ID_LENGTH_MAX} characters, ` +
      "an integer of at most 2^53 - 1, or null",
  );
}

function idPart(id: unknown): string {
  return isId(id) ? `,"id":${JSON.stringify(id)}` : "";
}

function isId(id: unknown): boolean {
  return (typeof id === "string" && id.length <= REQUEST_ID_LENGTH_MAX) || id === null || Number.isSafeInteger(id);
}
