/**
 * Untrusted JSON becomes the typed arguments of a verb. Only the store can check whether a collection exists, and what
 * is in a row's metadata.
 */

import { isCursor } from "../answers/cursor.ts";
import { checkRowDetails, type RowDetails } from "../checks/rows.ts";
import { parseBy } from "../checks/schema.ts";
import { checkTimes, type Times } from "../checks/times.ts";
import { ValueError } from "../errors.ts";
import { ANSWER_BYTES_DEFAULT } from "../limits.ts";
import { type ArgumentsOf, SCHEMAS, type VerbName } from "./requests.ts";

/**
 * Parses the arguments of a verb: defaults are filled in; null for an optional argument and an empty `where` count as
 * omitted.
 * @param called how messages call an argument; by default its own name
 * @throws ValueError for an unknown argument or a value outside its domain; TypeError for a wrong type or a missing
 * argument
 */
export function parseArguments<V extends VerbName>(
  verb: V,
  raw: unknown,
  called?: (argument: string) => string,
): ArgumentsOf<V> {
  const parsed = parseBy(SCHEMAS[verb](), `svc_${verb}`, raw, called);
  const rows = parsed as { texts?: readonly string[] } & RowDetails;
  if (rows.texts) checkRowDetails(rows, rows.texts.length);
  if (verb === "repo_search")
    settleForm(parsed as ArgumentsOf<"repo_search">, raw as Partial<ArgumentsOf<"repo_search">>, called);
  if (verb === "ids") checkListing(parsed as Times & { after?: string });
  return parsed as ArgumentsOf<V>;
}

/** An id says nothing of a place in the order of times; a cursor does, as the `next` of such a list is. */
function checkListing(given: Times & { after?: string }): void {
  const { after, ...times } = given;
  checkTimes(after !== undefined && isCursor(after) ? times : given);
}

/** `with_text` is another name of the form `windows`, which has more room than the others. */
function settleForm(
  a: ArgumentsOf<"repo_search">,
  given: Partial<ArgumentsOf<"repo_search">>,
  called = (argument: string) => argument,
): void {
  if (a.with_text && a.form !== "windows") {
    if (given.form != null) {
      throw new ValueError(
        `${called("with_text")} means form 'windows', but ${called("form")} is '${a.form}': leave one of them out`,
      );
    }
    a.form = "windows";
  }
  if (a.form === "windows" && given.max_bytes == null) a.max_bytes = ANSWER_BYTES_DEFAULT;
}
