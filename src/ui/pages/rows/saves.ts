/** Saves of the history in words: by whom, with what, what they did. */
import type { SavePayload } from "../../../memory/payloads.ts";
import { escaped, visible } from "../../../pages/text.ts";

/** UTF-16 units of what a client calls itself. */
const NAME_MAX = 60;

/** Who saved, as HTML: the person or token if one is known, the client, its version. */
export function savedBy({ origin: { client, version, author } }: Pick<SavePayload, "origin">): string {
  const program = [client, version].filter((part) => part !== undefined).join(" ");
  const name = author === undefined ? program : program === "" ? author : `${author} (${program})`;
  return name === "" ? "" : `<bdi>${escaped(visible(name.slice(0, NAME_MAX).toWellFormed()))}</bdi>`;
}

/** With which tool or command, as HTML; of an undo the saves that it took back. */
export function savedWith({ origin: { tool, undoes } }: Pick<SavePayload, "origin">): string {
  if (undoes === undefined) {
    return tool === undefined ? "" : `<bdi>${escaped(visible(tool.slice(0, NAME_MAX).toWellFormed()))}</bdi>`;
  }
  const ranges = undoes.map(([first, last]) => (first === last ? `save ${first}` : `saves ${first} to ${last}`));
  return `undo of ${ranges.slice(0, 3).join(", ")}${ranges.length > 3 ? ", …" : ""}`;
}

/** "2 added, 1 deleted". */
export function changesOf({ added, replaced, deleted }: Pick<SavePayload, "added" | "replaced" | "deleted">): string {
  const counts = Object.entries({ added, replaced, deleted }).filter(([, count]) => count > 0);
  return counts.map(([what, count]) => `${count.toLocaleString("en")} ${what}`).join(", ");
}
