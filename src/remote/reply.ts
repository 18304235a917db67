/** Replies as they come: the bytes of a frame become a result or an error's line. */
import { OSError, RuntimeError } from "../errors.ts";
import type { Reply } from "../wire/protocol.ts";

/** Strict: a replaced byte in an id would be another id. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Reads a reply; of its `id` only an error's is needed, as replies come in the order of the requests. @throws Error for anything that is none */
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

/** The result of a reply, if it has the form that PROTOCOL.md promises. @throws OSError */
export function expectResult<T>(op: string, result: unknown, has: (result: unknown) => boolean): T {
  if (has(result)) return result as T;
  throw new OSError(
    `the server answered '${op}' in another form than the protocol has; are client and server of one version?`,
  );
}
