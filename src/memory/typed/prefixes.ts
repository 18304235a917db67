/** Ids as a person types them: whole, or a beginning that only one id has. Never over MCP. */
import { firstAndMore, listed, shown } from "../../checks/kinds.ts";
import { ValueError } from "../../errors.ts";
import type { Collection } from "../../store/collection.ts";

/** Ids that an error names. */
const NAMED_MAX = 3;

/**
 * The whole ids. An id that is live stands for itself, also where other ids begin with it. One with which no live id
 * begins stays as it is: the verb says what it does about an id that does not exist.
 *
 * Where an id is not live, the ids of all live rows are read: about 100 ms for 100,000.
 * @throws ValueError for a beginning of several ids
 */
export function fullIds(collection: Collection, given: readonly string[]): string[] {
  const known = collection.get(given, {});
  if (known.every(({ found }) => found)) return [...given];
  const all = collection.ids();
  return given.map((id, i) => (known[i]!.found ? id : onlyOne(collection.name, all, id)));
}

function onlyOne(name: string, all: readonly string[], prefix: string): string {
  const matches = all.filter((id) => id.startsWith(prefix));
  if (matches.length <= 1) return matches[0] ?? prefix;
  const named = firstAndMore(matches, NAMED_MAX, shown);
  throw new ValueError(
    `${matches.length} ids of collection ${shown(name)} begin with ${shown(prefix)}: ${listed(named, "and")}; ` +
      "type more of the id",
  );
}
