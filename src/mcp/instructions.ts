/**
 * What `initialize` and `server/discover` tell a client's model about svc as a whole, once a session: when to search, when to add, and what
 * collections and scopes are for. Descriptions of tools say the rest. Every client pays for it in every session: below
 * 200 words.
 */
import { shown } from "../checks/kinds.ts";
import type { ToolEntry } from "./tools.ts";

/**
 * The instructions for a server that offers these tools.
 * @param project the scope of rows that name none, where it is known
 * @param isServed whether the memory is one of `svc serve`, which may run on another machine
 */
export function instructionsFor(tools: readonly ToolEntry[], project?: string, isServed = false): string {
  const offered = new Set(tools.map(({ verb }) => verb));
  return [
    `svc is a memory${isServed ? "" : " on this machine"} that outlasts the session: collections of texts, and the files ` +
      "of the repository you work in.",
    "Search before you answer from memory or make a decision: svc_search for decisions, preferences and solutions of " +
      "earlier sessions, svc_repo_search for where the code does something (its index is brought up to date first). " +
      "Ask in your own words, and write names and identifiers as they are. Texts in English are found by meaning too, " +
      "others and files by their words. Try other words before you say that nothing is stored.",
    offered.has("add")
      ? "Add what a later session will need as soon as it is settled: one fact a text, whole sentences with names and " +
        "dates. `kind` in the metadata: decision, preference or open. svc_upsert with an id of your own for facts that change. No secrets. Delete only what the user wants gone."
      : "This server only reads: nothing can be stored or deleted through it.",
    'A collection is a subject, such as notes; "*" searches all of them. `scope` in the metadata is what a row belongs to (a project, a person); ' +
      'where: {"scope": …} narrows a search to one, without it all rows are searched.' +
      (project === undefined ? "" : ` Without a scope, rows get ${shown(project)}, and its rows come first.`),
    "An answer that was cut has `next`: pass it as `after`.",
  ].join("\n\n");
}
