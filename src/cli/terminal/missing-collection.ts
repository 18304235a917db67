/** What the terminal adds to the error for a collection that does not exist: the name that was meant, or what there is. */
import { namesHint } from "../../memory/missing-collection.ts";
import { type Env, memoryPath } from "../../paths.ts";
import { MissingCollection } from "../../store/folder-lock.ts";
import { collectionNames } from "./collection-names.ts";

/** The same error with the names that there are; another error as it is. */
export function withNames(error: unknown, path: string | undefined, env: Env): unknown {
  if (!(error instanceof MissingCollection)) return error;
  const { collection } = error;
  const names = namesHint(collection, collectionNames(memoryPath(path, env)), toMake(collection));
  return new MissingCollection(collection, names, "");
}

/** The command that makes a collection; of a name that a shell would take apart, without it. */
function toMake(name: string): string {
  return `svc mem add ${/^[\p{L}\p{N}_.-]+$/u.test(name) ? name : "NAME"} "a first text"`;
}
