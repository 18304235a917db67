/** `svc mem search`: two tools behind one verb, because at a terminal the question is the same. */
import type { LexicalSearchPayload, SearchPayload } from "../../memory/requests.ts";
import { command, UsageError } from "../command.ts";
import { numberFlag } from "../flags.ts";
import { note } from "../output.ts";
import { readWhere, WHERE_FLAG } from "./input.ts";
import { renderHits } from "./render.ts";
import { answer, COLLECTION, COMMON, callVerb, siteOf } from "./verb.ts";

export const search = command({
  summary: "search by meaning, or by word",
  details:
    "Prints the hits best first. Where the collection has an index by word, both rankings are joined; --lexical asks that index\n" +
    "alone. With --json the texts are left out unless --with-text is given.",
  examples: [
    'svc mem search notes "blue green deploy" --top-k 3 --where scope=ops',
    'svc mem search docs "EPIPE" --lexical --explain',
  ],
  args: {
    collection: COLLECTION,
    query: { type: "positional", description: "what to look for, in plain words" },
    "top-k": { type: "string", valueHint: "N", description: "at most so many hits (5)" },
    ...WHERE_FLAG,
    "with-text": { type: "boolean", description: "with --json: the texts too" },
    lexical: { type: "boolean", description: "search by word only; needs svc mem build-lexical" },
    explain: { type: "boolean", description: "with --lexical: what each word contributed" },
    ...COMMON,
  },
  repeatable: ["where"],
  async run(invocation) {
    const { args, all } = invocation;
    if (args.explain && !args.lexical) throw new UsageError("--explain belongs to --lexical");
    const json = args.json === true;
    const raw = {
      collection: args.collection,
      query: args.query,
      top_k: numberFlag("top-k", args["top-k"]),
      where: readWhere(all("where")),
      // A list of bare ids would tell a person nothing.
      with_text: json ? args["with-text"] : true,
    };
    const payload: SearchPayload | LexicalSearchPayload = args.lexical
      ? await callVerb("search_lexical", { ...raw, explain: args.explain }, siteOf(invocation))
      : await callVerb("search", raw, siteOf(invocation));
    if (!json && payload.hits.length === 0) return note("no hits");
    answer(payload, json, ({ hits }) => renderHits(hits));
  },
});
