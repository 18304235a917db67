/** `svc mem get|list|ids|count|stats`. */
import { numberFlag } from "../flags.ts";
import { readIds, readWhere, TEXT_FLAGS, WHERE_FLAG } from "./input.ts";
import { renderFields, renderRows, showId } from "./render.ts";
import { COLLECTION, verbCommand } from "./verb.ts";

export const get = verbCommand("get", {
  summary: "look rows up by id",
  details: "Prints the rows in the order asked, with metadata and text; an id that is not there is marked so.",
  examples: ["svc mem get notes deploy retro", "svc mem ids notes --limit 10 | svc mem get notes - --json"],
  args: {
    collection: COLLECTION,
    id: TEXT_FLAGS.id,
    ids: TEXT_FLAGS.ids,
    "with-metadata": { type: "boolean", default: true, description: "leave the metadata out" },
    "with-text": { type: "boolean", default: true, description: "leave the texts out" },
  },
  repeatable: ["id"],
  rest: { name: "id", description: "ids to look up; - reads one a line from stdin" },
  async toArguments(invocation) {
    const { collection, "with-metadata": with_metadata, "with-text": with_text } = invocation.args;
    return { collection, ids: await readIds(invocation), with_metadata, with_text };
  },
  join: (all) => ({ ...all[0]!, rows: all.flatMap((p) => p.rows) }),
  render: ({ rows }) => renderRows(rows),
});

export const list = verbCommand("list_collections", {
  summary: "list the collections",
  examples: ["svc mem list", "svc mem list --path ./memory --json"],
  args: {},
  toArguments: () => ({}),
  render: ({ collections }) => collections.map(showId).join("\n"),
  nothing: "no collections yet: svc mem add <collection> <text> makes one",
});

export const ids = verbCommand("ids", {
  summary: "list the live ids",
  details: "One id a line, in the order in which they were added.",
  examples: ["svc mem ids notes", "svc mem ids notes --where scope=ops --limit 100 --after deploy"],
  args: {
    collection: COLLECTION,
    ...WHERE_FLAG,
    limit: { type: "string", valueHint: "N", description: "at most so many (all)" },
    after: { type: "string", valueHint: "ID", description: "continue after this id" },
  },
  repeatable: ["where"],
  toArguments({ args: { collection, limit, after }, all }) {
    return { collection, where: readWhere(all("where")), limit: numberFlag("limit", limit), after };
  },
  render: (payload) => payload.ids.map(showId).join("\n"),
});

export const count = verbCommand("count", {
  summary: "count the live rows",
  examples: ["svc mem count notes", "svc mem count notes --where scope=ops"],
  args: { collection: COLLECTION, ...WHERE_FLAG },
  repeatable: ["where"],
  toArguments: ({ args: { collection }, all }) => ({ collection, where: readWhere(all("where")) }),
  render: (payload) => String(payload.count),
});

export const stats = verbCommand("stats", {
  summary: "show a collection's figures",
  examples: ["svc mem stats notes", "svc mem stats notes --json"],
  args: { collection: COLLECTION },
  toArguments: ({ args: { collection } }) => ({ collection }),
  render: (payload) => renderFields(payload.stats),
});
