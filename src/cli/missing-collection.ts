/** What the terminal adds to the error for a collection that does not exist: the name that was meant, or what there is. */
import { listed } from "../checks/kinds.ts";
import { type SvcError, ValueError } from "../errors.ts";
import { type Env, memoryPath } from "../paths.ts";
import { collectionNames } from "./collection-names.ts";
import { didYouMean } from "./nearest.ts";

/** Names in the message, at most. */
const NAMES_MAX = 5;

/** The same error with the names that there are; as it is where it names no collection. */
export function withNames(error: SvcError, path: string | undefined, env: Env): SvcError {
  const name = /^collection '(.*)' does not exist/s.exec(error.message)?.[1];
  if (name === undefined) return error;
  const names = collectionNames(memoryPath(path, env));
  return new ValueError(`collection '${name}' does not exist${remedy(name, names)}`, "no_collection");
}

function remedy(name: string, names: readonly string[]): string {
  if (names.length === 0) return `, and there is none yet: ${toMake(name)} makes it`;
  const near = didYouMean(name, names);
  if (near !== "" && names.length === 1) return near;
  const shown = names.slice(0, NAMES_MAX).map((each) => `'${each}'`);
  if (names.length > shown.length) shown.push(`${names.length - shown.length} more`);
  return `${near} (there ${names.length === 1 ? "is" : "are"} ${listed(shown, "and")})`;
}

/** The command that makes a collection; of a name that a shell would take apart, without it. */
function toMake(name: string): string {
  return `svc mem add ${/^[\p{L}\p{N}_.-]+$/u.test(name) ? name : "NAME"} "a first text"`;
}
