/** Turns a request into its reply. */
import { CancelledError, type ErrorType, errorFacts, RuntimeError } from "../../errors.ts";
import { BUFFERED_SHARE_BYTES } from "../../limits.ts";
import { withOrigin } from "../../origin.ts";
import type { Budget } from "./budget.ts";
import { changesNothing, type OperationContext, operation } from "./operations.ts";
import { checkId, failure, success } from "./replies/reply.ts";
import type { Decoded } from "./requests/decoder.ts";

/**
 * Carries a request out. Never throws, and its promise never rejects.
 * @param isRefused an earlier request ended the connection
 * @returns the reply's JSON; a promise only where the operation needs one
 */
export function carryOut(
  decoded: Decoded,
  context: OperationContext,
  budget: Budget,
  isRefused: boolean,
): string | Promise<string> {
  const { op, id } = decoded.request;
  try {
    if (isRefused) throw new CancelledError("an earlier request ended the connection");
    if (decoded.refusal) throw decoded.refusal;
    checkId(id);
    const { run } = operation(op);
    const { caller, audit } = context;
    const { author } = caller;
    const changes = !changesNothing(decoded.request);
    caller.requireRight(changes);
    if (changes) audit?.requireWritable();
    const result = author === undefined ? run(decoded, context) : withOrigin({ author }, () => run(decoded, context));
    if (!(result instanceof Promise)) return unlessCrowded(success(result, id), budget);
    const onDone = (value: unknown) => {
      if (changes) audit?.add(author, op, context.auditEntry);
      return unlessCrowded(success(value, id), budget);
    };
    const onFailed = (error: unknown) => {
      if (changes && !isRefusal(error)) audit?.add(author, op, { ...context.auditEntry, failed: true });
      throw error;
    };
    return result
      .then(onDone, onFailed)
      .catch((error) => failure(error, id))
      .finally(() => decoded.held?.drop());
  } catch (error) {
    decoded.held?.drop();
    return failure(error, id);
  }
}

/** Whether a request failed by what was sent, or by the rights of who sent it: nothing of it is in effect then. */
function isRefusal(error: unknown): boolean {
  return REFUSALS.has(errorFacts(error).type);
}

const REFUSALS: ReadonlySet<ErrorType> = new Set(["ValueError", "TypeError", "KeyError", "PermissionError"]);

/** Drops a large reply where all connections together hold too much: the request can be repeated. */
function unlessCrowded(json: string, budget: Budget): string {
  if (json.length <= BUFFERED_SHARE_BYTES || !budget.isCrowded) return json;
  throw new RuntimeError("the server holds too much for clients that do not read their replies: try again later");
}
