/** A reply's body becomes a result or an error's line. */
import { OSError, RuntimeError } from "../../errors.ts";
import type { Reply } from "../wire/protocol.ts";

/** Strict: a replaced byte in an id would make another id. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Reads a reply, with the `id` of errors only: replies come in the order of requests. @throws Error for anything else
 */
export function parseReply(body: Buffer): Reply {
  const reply = JSON.parse(decoder.decode(body)) as Record<string, unknown> | null;
  if (typeof reply === "object" && reply !== null) {
    if (reply.ok === true) return { ok: true, result: reply.result };
    if (reply.ok === false && typeof reply.error === "string") {
      const code = typeof reply.code === "string" ? reply.code : undefined;
      return { ok: false, error: reply.error, code, id: reply.id as Reply["id"] };
    }
  }
  throw new RuntimeError("it has neither a result nor an error");
}

/** The result of a reply, checked for the form in PROTOCOL.md. @throws OSError */
export function expectResult<T>(op: string, result: unknown, has: (result: unknown) => boolean): T {
  if (has(result)) return result as T;
  throw new OSError(
    `the server answered '${op}' in a form that the protocol does not have: use one version of svc for client and server`,
  );
}
