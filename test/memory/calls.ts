/** A call of every verb that a tool has. */
import { parseArguments } from "../../src/memory/arguments.ts";
import type { Memory } from "../../src/memory/memory.ts";
import type { VerbName } from "../../src/memory/requests.ts";

/** Runs a verb with the arguments of a client. */
export async function call(memory: Memory, verb: VerbName, args: object) {
  return (await memory[verb](parseArguments(verb, args) as never, {})) as unknown as Record<string, unknown>;
}

/** Arguments for each, over the collections "notes" and "words" and a repository that the caller names. */
export const CALLS: Record<VerbName, object> = {
  search: { collection: "notes", query: "deploy" },
  add: { collection: "notes", texts: ["more"] },
  create_collection: { name: "other" },
  list_collections: {},
  stats: { collection: "notes" },
  upsert: { collection: "new", texts: ["more"], ids: ["deploy"] },
  update: { collection: "notes", texts: ["more"], ids: ["deploy"] },
  delete: { collection: "notes", ids: ["deploy"] },
  ids: { collection: "notes" },
  count: { collection: "notes" },
  get: { collection: "notes", ids: ["deploy"] },
  search_lexical: { collection: "words", query: "word" },
  compact: { collection: "notes" },
  build_ivf: { collection: "notes", min_rows: 1 },
  build_lexical: { collection: "words" },
  tune: { collection: "notes" },
  index_repo: {},
  repo_search: { query: "manifest" },
  workspace_info: {},
};
