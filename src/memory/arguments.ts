/**
 * Where untrusted JSON becomes the typed arguments of a verb. What is not judged here is what only the store can:
 * whether a collection exists, what is in a row's metadata.
 */
import { type Besides, checkBesides } from "../checks/rows.ts";
import { type ArgumentsOf, SCHEMAS, type VerbName } from "./requests.ts";
import { parseBy } from "./schema.ts";

/**
 * Parses the arguments of a verb: defaults are filled in, JSON `null` for an optional argument counts as omitted, and
 * so does an empty `where`.
 *
 * @param called how messages call an argument; by its own name where this is left out
 * @throws ValueError for an unknown argument or a value outside its domain
 * @throws ArgumentTypeError for a wrong JSON type or a missing argument
 */
export function parseArguments<V extends VerbName>(
  verb: V,
  raw: unknown,
  called?: (argument: string) => string,
): ArgumentsOf<V> {
  const parsed = parseBy(SCHEMAS[verb](), `svc_${verb}`, raw, called);
  const rows = parsed as { texts?: readonly string[] } & Besides;
  if (rows.texts) checkBesides(rows, rows.texts.length);
  return parsed as ArgumentsOf<V>;
}
