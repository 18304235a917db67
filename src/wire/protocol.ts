/** The shapes of PROTOCOL.md that server and client share. */
import {
  ArgumentTypeError,
  CancelledError,
  KeyError,
  OSError,
  PermissionError,
  RuntimeError,
  type SvcError,
  TimeoutError,
  ValueError,
} from "../errors.ts";

/** Every operation, in the order of PROTOCOL.md. */
export const OPS = [
  "auth",
  "ping",
  "collections",
  "create_collection",
  "open_collection",
  "add",
  "upsert",
  "add_texts",
  "upsert_texts",
  "search",
  "search_text",
  "ids",
  "delete",
  "compact",
  "save",
  "stats",
] as const;
export type Op = (typeof OPS)[number];

/** Whether there is an operation of that name. */
export function isOp(name: string): name is Op {
  return (OPS as readonly string[]).includes(name);
}

/** What a client sends. */
export interface Request {
  op: string;
  collection?: string | null;
  args?: Record<string, unknown> | null;
  id?: string | number | null;
}

/** What the server answers. */
export type Reply =
  | { ok: true; result: unknown; id?: string | number | null }
  | { ok: false; error: string; id?: string | number | null };

/** The errors without a type; the connection is closed behind each. */
export const BAD_REQUEST = "bad request";
export const UNAUTHORIZED = "unauthorized";
export const AUTH_FIRST = "unauthorized: send auth first";

const CLASSES: Record<string, new (message: string) => SvcError> = {
  ValueError,
  TypeError: ArgumentTypeError,
  KeyError,
  PermissionError,
  RuntimeError,
  OSError,
  TimeoutError,
  CancelledError,
};

/** The error that a reply's line stands for: the class that a local call would have thrown. */
export function errorFromLine(line: string): SvcError {
  if (line.startsWith(UNAUTHORIZED)) return new PermissionError(`${line}: the server did not accept the token`);
  if (line.startsWith(BAD_REQUEST)) return new ValueError("the server did not accept the request: bad request");
  const colon = line.indexOf(": ");
  const type = line.slice(0, Math.max(colon, 0));
  const known = Object.hasOwn(CLASSES, type) ? CLASSES[type] : undefined;
  return known ? new known(line.slice(colon + 2)) : new RuntimeError(line);
}
