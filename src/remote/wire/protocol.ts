/** The shapes of PROTOCOL.md that server and client share. */
import {
  ArgumentTypeError,
  CancelledError,
  ERROR_REASONS,
  type ErrorType,
  errorCode,
  errorLine,
  KeyError,
  OSError,
  PermissionError,
  type Reason,
  RuntimeError,
  type SvcError,
  TimeoutError,
  ValueError,
} from "../../errors.ts";

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
  "search_hits",
  "get",
  "call_tool",
  "ids",
  "delete",
  "compact",
  "save",
  "stats",
] as const;
export type Op = (typeof OPS)[number];

/** Tools of `call_tool` that change nothing: they run beside others, and may be repeated. */
export const READING_TOOLS: ReadonlySet<string> = new Set([
  "svc_search",
  "svc_search_lexical",
  "svc_list_collections",
  "svc_stats",
  "svc_ids",
  "svc_count",
  "svc_get",
]);

/** The code of the frame that ends a connection in good order: what has no reply was not carried out. */
export const CLOSING = "closing";

/** Whether there is an operation of that name. */
export function isOp(name: string): name is Op {
  return (OPS as readonly string[]).includes(name);
}

/** A client's request. */
export interface Request {
  op: string;
  collection?: string | null;
  args?: Record<string, unknown> | null;
  id?: string | number | null;
}

/** The server's reply. */
export type Reply =
  | { ok: true; result: unknown; id?: string | number | null }
  | ({ ok: false; id?: string | number | null } & Fault);

/** A failure on the wire: `<Type>: <message>`, and its code where the type does not tell the reason. */
export interface Fault {
  error: string;
  code?: string | undefined;
}

/** Any failure in its wire form. */
export function faultOf(error: unknown): Fault {
  return { error: errorLine(error), code: errorCode(error) };
}

/** The errors without a type; the connection is closed after each. */
export const BAD_REQUEST = "bad request";
export const UNAUTHORIZED = "unauthorized";
export const AUTH_FIRST = "unauthorized: send auth first";

const CLASSES: { [T in ErrorType]: new (message: string, reason?: Reason<T>) => SvcError<T> } = {
  ValueError,
  TypeError: ArgumentTypeError,
  KeyError,
  PermissionError,
  RuntimeError,
  OSError,
  TimeoutError,
  CancelledError,
};

/** The error of a failed reply: the class that a local call would have thrown, with its code. */
export function errorFrom({ error: line, code = "" }: Fault): SvcError {
  if (line.startsWith(UNAUTHORIZED)) {
    const remedy = "it may be mistyped, revoked or expired; ask the operator of the server for a new one";
    return new PermissionError(`${line}: the server did not accept the token: ${remedy}`, "unauthorized");
  }
  if (line.startsWith(BAD_REQUEST)) return new ValueError("the server did not accept the request: bad request");
  const colon = line.indexOf(": ");
  const type = line.slice(0, Math.max(colon, 0)) as ErrorType;
  if (!Object.hasOwn(CLASSES, type)) return new RuntimeError(line);
  const reason = ERROR_REASONS[type].find((known) => code === `${type}.${known}`);
  return new (CLASSES[type] as new (message: string, reason?: string) => SvcError)(line.slice(colon + 2), reason);
}
