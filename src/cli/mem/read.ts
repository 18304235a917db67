/** `svc mem get|search|list|ids|count|stats`. */
import { string, UsageError } from "../terminal/command.ts";
import { note } from "../terminal/output.ts";
import {
  COLLECTION,
  ID_ARGS,
  QUERY,
  RECENCY_FLAGS,
  readIds,
  recencyArgument,
  TIME_FLAGS,
  timeArguments,
  toolArguments,
  WHERE,
  withoutRecency,
} from "./flags.ts";
import { excerptBytes } from "./render/hits.ts";
import { renderFields, renderRows, showId } from "./render/text.ts";
import { verbCommand } from "./verb.ts";

export const get = verbCommand("get", {
  details:
    "Prints the rows in the order of the ids, with metadata and text. An id that does not exist is marked as missing.\n" +
    "Without --json the beginning of an id is enough where no other id begins with it; not for ids from stdin.\n" +
    "Control characters are printed as escapes such as \\x1b, also into a pipe; --json and 'svc mem export' give the\n" +
    "exact text.",
  examples: ["svc mem get notes deploy retro", "svc mem ids notes --limit 10 | svc mem get notes - --json"],
  args: ID_ARGS,
  async toArguments(invocation) {
    const { collection, "with-metadata": with_metadata, "with-text": with_text, offset, after } = invocation.args;
    return { collection, ids: await readIds(invocation), with_metadata, with_text, offset, after };
  },
  // A program that reads JSON gets the answer of the tool, where an id is an id.
  takesPrefixes: (args) => args.json !== true && !args["row-id"].includes("-"),
  join: true,
  render({ rows }) {
    for (const { id, next_offset } of rows) {
      if (next_offset !== undefined) note(`the text of ${showId(id)} goes on: --offset ${next_offset}`);
    }
    return renderRows(rows);
  },
});

/** Two tools behind one verb. */
export const search = verbCommand(
  "search" as "search" | "search_lexical",
  {
    details:
      "Searches by words and by meaning, and prints the best hits first; --lexical searches by words alone. For each hit\n" +
      "it prints the piece of the text that matches the query, or with --with-text the whole text. It prints no text of a\n" +
      "weak hit: one that has few of the query's words, is not close to it in meaning, and is not a turn of a\n" +
      "conversation. --json prints texts only with --with-text.",
    examples: [
      'svc mem search notes "blue green deploy" --top-k 3 --where scope=ops',
      'svc mem search docs "EPIPE" --lexical --explain',
      "svc mem search '*' \"who is on call\"",
      'svc mem search notes "deploy" --recency-field updated --recency-half-life-days 30 --recency-weight 0.2',
    ],
    unexpected: () => "put a query of several words in quotes",
    args: {
      collection: { ...COLLECTION, description: "name of the collection; '*': all collections of texts" },
      query: QUERY,
      where: WHERE,
      "with-text": { type: "boolean", description: "print whole texts (without it, --json prints none)" },
      lexical: { type: "boolean", description: "search by word only; needs svc mem build-lexical" },
      explain: {
        type: "boolean",
        description: "show what each score is made of; with --lexical, what each word contributed",
      },
      ...RECENCY_FLAGS,
    },
    toArguments({ args: { lexical, ...given } }) {
      const recency = recencyArgument(given);
      if (recency && lexical) throw new UsageError("--recency-field and its like do not go with --lexical");
      const args = withoutRecency(given);
      const explain = lexical ? args.explain : undefined;
      // A list of bare ids would say nothing to a person.
      const tool = toolArguments(args);
      // By word, scores are always there.
      if (lexical) delete tool.with_score;
      return { ...tool, recency, explain, with_text: args.json ? args["with-text"] : true };
    },
    context: ({ json, explain, "with-text": isWhole }) => ({
      ...(json || isWhole ? {} : { textBytes: excerptBytes() }),
      ...(explain && { explain }),
    }),
    async render({ hits }, { query, "with-text": isWhole }) {
      const { renderHits } = await import("./render/hits.ts");
      return renderHits(hits, { query, isWhole: isWhole === true });
    },
    nothing: "no hits",
  },
  ({ lexical }) => (lexical ? "search_lexical" : "search"),
);

export const ids = verbCommand("ids", {
  details: "One id a line, in the order in which they were added, or with --newest the last updated first.",
  examples: [
    "svc mem ids notes --where scope=ops --limit 100 --after deploy",
    "svc mem ids notes --newest 10",
    "svc mem ids notes --since 2026-11-01 --until 2026-12-01",
  ],
  args: {
    collection: COLLECTION,
    where: WHERE,
    after: string("ID", "continue after this id"),
    ...TIME_FLAGS,
  },
  toArguments: ({ args }) => ({ ...toolArguments(args), ...timeArguments(args) }),
  render: (payload) => payload.ids.map(showId).join("\n"),
});

export const count = verbCommand("count", {
  examples: ["svc mem count notes", "svc mem count notes --where scope=ops"],
  args: { collection: COLLECTION, where: WHERE },
  render: (payload) => String(payload.count),
});

export const stats = verbCommand("stats", {
  examples: ["svc mem stats notes", "svc mem stats notes --json"],
  args: { collection: COLLECTION },
  render: (payload) => renderFields(payload.stats),
});
