/** Ids of which a person typed the beginning, on the commands that take ids. */
import type { Memory } from "../../../memory/memory.ts";
import { note } from "../../terminal/output.ts";
import { showId } from "../render/text.ts";

/**
 * The whole ids; each that was typed in part is named on stderr, so that a person sees which row is meant.
 * @throws ValueError for a beginning of several ids
 */
export async function typedIds(verbs: Memory, collection: string, typed: readonly string[]): Promise<string[]> {
  const ids = await (await verbs.terminal()).full_ids({ collection, ids: typed });
  for (const [i, id] of ids.entries()) {
    if (id !== typed[i]) note(`${showId(typed[i]!)} is the beginning of one id: ${showId(id)}`);
  }
  return ids;
}
