/** The audit log as lines of JSON, oldest first: a line an event, its time as UTC. */
import { basename } from "node:path";
import { errorLine } from "../../../errors.ts";
import type { Authority } from "../context.ts";
import type { AuditChoice, AuditEntry } from "../ledger/audit.ts";
import { statementError } from "../ledger/errors.ts";

/** One event as lines have it. */
export function auditJson({ id, at, event, actor, device, address, detail }: AuditEntry) {
  return { id, at: new Date(at).toISOString(), event, actor, device, address, detail };
}

/** Characters of one part of an export: some 60 lines. */
const PART = 16_384;

/**
 * The events that are chosen, read as the reader takes them. Where they cannot be read to their end the connection is
 * broken off, so that no reader takes a part for the whole.
 */
export function auditStream(
  { ledger, log }: Pick<Authority, "ledger" | "log">,
  choice: AuditChoice,
): ReadableStream<Uint8Array> {
  const rows = ledger.audit.each(choice)[Symbol.iterator]();
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      // Other requests between two parts: a reader that takes all at once held them up for two seconds, at a million rows.
      await new Promise((resolve) => setImmediate(resolve));
      let lines = "";
      try {
        while (lines.length < PART) {
          const { done, value } = rows.next();
          if (done) break;
          lines += `${JSON.stringify(auditJson(value))}\n`;
        }
      } catch (error) {
        const reason = errorLine(statementError(error, basename(ledger.path)));
        log({ level: "error", event: "failure", message: `the audit log cannot be read: ${reason}` });
        throw error;
      }
      if (lines === "") controller.close();
      else controller.enqueue(encoder.encode(lines));
    },
  });
}
