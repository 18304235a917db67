/** Errors: one class a cause, each with a sentence that says what to do. */
import { strict as assert } from "node:assert";
import {
  ArgumentTypeError,
  CancelledError,
  type ErrorType,
  KeyError,
  OSError,
  PermissionError,
  RuntimeError,
  Store,
  SvcError,
  TimeoutError,
  ValueError,
} from "svc";

await using store = await Store.open();
const c = await store.createCollection("c", { dim: 2 });
await c.add([[1, 0]], { ids: ["a"] });

// A value outside its domain, a collection that does not exist.
await assert.rejects(store.openCollection("nowhere"), ValueError);
await assert.rejects(c.add([[1, Number.NaN]]), ValueError);
// An id that is live. Nothing of the call is written.
await assert.rejects(c.add([[0, 1]], { ids: ["a"] }), KeyError);
// An argument of another type; a name of its own, so that it is not mistaken for the language's TypeError.
await assert.rejects(c.search("a vector" as never), ArgumentTypeError);
// An index that was never built.
await assert.rejects(c.searchLexical("word"), RuntimeError);
// Stopped by the caller.
await assert.rejects(c.compact({ signal: AbortSignal.abort() }), CancelledError);

/** What a program can do about each. */
function remedy(error: SvcError): string {
  if (error instanceof TimeoutError) return "another process is writing: try again later";
  if (error instanceof PermissionError) return "run svc login";
  if (error instanceof OSError) return "free some space; the last saved state stands";
  const type: ErrorType = error.type;
  return `${type}: ${error.message}`;
}
const error = await store.openCollection("nowhere").catch((failure) => failure);
assert.ok(error instanceof SvcError);
assert.match(remedy(error), /^ValueError: .*create it first/);
