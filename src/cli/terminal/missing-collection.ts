/** What the terminal adds to the error for a collection that does not exist: the name that was meant, or what there is. */
import { type SvcError, ValueError } from "../../errors.ts";
import { namesHint } from "../../memory/missing-collection.ts";
import { type Env, memoryPath } from "../../paths.ts";
import { collectionNames } from "./collection-names.ts";

/** The same error with the names that there are; as it is where it names no collection. */
export function withNames(error: SvcError, path: string | undefined, env: Env): SvcError {
  // The first of these sentences, as names of other collections may follow. What else follows says more than names.
  const name = /^collection '(.*?)' does not exist(?! yet| \(create it first\);)/s.exec(error.message)?.[1];
  if (name === undefined) return error;
  const hint = namesHint(name, collectionNames(memoryPath(path, env)), toMake(name));
  return new ValueError(`collection '${name}' does not exist${hint}`, "no_collection");
}

/** The command that makes a collection; of a name that a shell would take apart, without it. */
function toMake(name: string): string {
  return `svc mem add ${/^[\p{L}\p{N}_.-]+$/u.test(name) ? name : "NAME"} "a first text"`;
}
