/**
 * How much of a repository is indexed, where a limit or the end of its process stopped a run before the end. It is kept
 * beside the fingerprints, so that every answer about the repository can say so until a run gets to the end.
 */
import { isObject } from "../../checks/kinds.ts";

/** Files whose rows are as the files were last seen, and files that belong to the repository as far as it was seen. */
export interface PartialIndex {
  done: number;
  found: number;
}

/** What an answer about a repository says of it; nothing of a whole index. */
export interface ShownPartial {
  files_done?: number;
  files_found?: number;
}

export function shownPartial(partial: PartialIndex | undefined): ShownPartial {
  return partial === undefined ? {} : { files_done: partial.done, files_found: partial.found };
}

/** Whether a value that was read is one. */
export function isPartialIndex(value: unknown): value is PartialIndex {
  return isObject(value) && Number.isSafeInteger(value.done) && Number.isSafeInteger(value.found);
}
