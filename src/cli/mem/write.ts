/** `svc mem add|upsert|update|create`. */
import { readDescription } from "../../checks/strings.ts";
import type { Masked } from "../../memory/requests.ts";
import { asUsage, command, SECRETS, string, strings } from "../terminal/command.ts";
import { isTerminal, oneLine } from "../terminal/output.ts";
import { isOn, MEANING, SCHEMA_FLAGS, schemaArguments, TEXT_ARGS, textArguments } from "./flags.ts";
import { noteSame, noteSimilar } from "./render/duplicates.ts";
import { counted, showId } from "./render/text.ts";
import { madeAs } from "./schema.ts";
import { answer, COMMON, prepare, verbCommand, withMemory } from "./verb.ts";

const SUPERSEDES = strings("ID", "id of a row that the first text replaces: the row stays, and searches rank it last");

/** Only where there are some. */
const supersedes = (ids: readonly string[]) => (ids.length > 0 ? { supersedes: ids } : {});

export const add = verbCommand("add", {
  details:
    "Texts are arguments, files or stdin. A whole file or stdin is one text; with --lines each of its lines is one.\n\n" +
    "Without ids, a new id is made for each text and printed. An id that exists is an error, and nothing is written.\n" +
    "If the collection already has the same text, byte for byte, the text is added again and stderr names it; with\n" +
    "--skip-duplicates it is not added, and the id printed is that of the existing row. If a text nearly repeats a\n" +
    "stored one, or holds a credential in a well-known format, stderr says so.\n\n" +
    "--lexical, --filter-column and --partition-by apply when this call makes the collection. If the collection\n" +
    "exists, it must already have them: 'svc mem alter' adds lexical search and filter columns.",
  examples: [
    'svc mem add notes "we deploy blue green" "retro is on Friday"',
    'svc mem add notes --file runbook.md --id runbook --metadata \'{"scope":"ops"}\'',
    "git log --oneline | svc mem add commits --lines",
    'svc mem add notes "retro is on Monday now" --supersedes retro-friday',
  ],
  args: { ...TEXT_ARGS, supersedes: SUPERSEDES, secrets: SECRETS, ...SCHEMA_FLAGS },
  before: (args) => madeAs(args.collection, args),
  async toArguments(invocation) {
    const { "skip-duplicates": skip_duplicates, supersedes: ids } = invocation.args;
    return { ...(await textArguments(invocation)), skip_duplicates, ...supersedes(ids) };
  },
  join: true,
  notes: (payload) => [...noteMasked(payload), ...noteSame(payload), ...noteSimilar(payload)],
  render: ({ added, collection, ids }) => withIds(`added ${counted(added, "text")} to ${oneLine(collection)}`, ids),
});

export const upsert = verbCommand("upsert", {
  details:
    "Without ids it does what add does. If an id occurs twice in one call, the last one wins. upsert removes metadata\n" +
    "that you do not give; update keeps it. If another row has the same text, stderr names it. With --skip-duplicates\n" +
    "such a text gets no new row; rows of existing ids are still replaced.",
  examples: [
    'svc mem upsert notes "we deploy canaries now" --id deploy',
    "svc mem upsert notes --file a.md --file b.md --ids a,b",
  ],
  args: { ...TEXT_ARGS, supersedes: SUPERSEDES, secrets: SECRETS, ...SCHEMA_FLAGS },
  // As in the tool, a partition key is for a collection that the command makes, and ignored otherwise.
  before: ({ collection, ...args }) =>
    args.lexical === undefined && args["filter-column"].length === 0 && args["filter-columns"] === undefined
      ? undefined
      : madeAs(collection, args),
  async toArguments(invocation) {
    const given = await textArguments(invocation);
    const { "partition-by": partition_by, "skip-duplicates": skip_duplicates, supersedes: ids } = invocation.args;
    return { ...given, ids: given.ids ?? null, partition_by, skip_duplicates, ...supersedes(ids) };
  },
  notes: (payload) => [...noteMasked(payload), ...noteSame(payload), ...noteSimilar(payload)],
  join: true,
  render: ({ upserted, collection, ids }) =>
    withIds(`upserted ${counted(upserted, "text")} in ${oneLine(collection)}`, ids),
});

export const update = verbCommand("update", {
  details:
    "Metadata that you do not give stays. An unknown or deleted id is an error, and nothing is written. A terminal takes\n" +
    "the beginning of an id where no other id begins with it, and says which row that is. 'svc mem edit' opens a row in\n" +
    "your editor.",
  examples: ['svc mem update notes "retro is on Monday" --id retro'],
  args: { ...TEXT_ARGS, secrets: SECRETS },
  toArguments: textArguments,
  // A script replaces the rows that it names, and no others.
  takesPrefixes: () => isTerminal(0),
  join: true,
  notes: (payload) => [...noteMasked(payload), ...noteSimilar(payload)],
  render: ({ updated, collection }) => `updated ${counted(updated, "text")} in ${oneLine(collection)}`,
});

/**
 * The tool keeps a new collection in memory until something is written; a process that ends here has to save it itself.
 */
export const create = command({
  details:
    "You can repeat it with the same schema: then it sets --description and --meaning, where they are given. A different\n" +
    "schema is an error.",
  examples: ["svc mem create notes", "svc mem create docs --lexical --filter-column language --partition-by project"],
  args: {
    name: { type: "positional", description: "name of the new collection" },
    ...SCHEMA_FLAGS,
    description: string("TEXT", "what the collection is for (see svc mem describe)"),
    meaning: MEANING,
    ...COMMON,
  },
  async run(invocation) {
    const { name, json, description } = invocation.args;
    const meaning = isOn(invocation.args.meaning);
    if (description !== undefined) asUsage(() => readDescription(description, "--description"));
    const call = prepare("create_collection", { name, ...schemaArguments(invocation.args) });
    // A delete of nothing saves like any other change, and costs least.
    const save = prepare("delete", { collection: name, ids: [] });
    const payload = await withMemory(invocation, async (verbs, context) => {
      const { collections } = await verbs.list_collections({ max_bytes: 0 });
      const created = await call(verbs, context);
      const terminal = await verbs.terminal();
      if (description !== undefined) await terminal.describe({ collection: name, description }, context);
      if (meaning !== undefined) await terminal.set_meaning({ collection: name, meaning }, context);
      const isSaved = description !== undefined || meaning !== undefined || collections.includes(created.created);
      if (!isSaved) await save(verbs, context);
      return created;
    });
    answer(payload, json === true, ({ created, dim, partition_by }) => {
      return `created ${oneLine(created)} (dimension ${dim}, partitioned by ${oneLine(partition_by)})`;
    });
  },
});

function noteMasked({ masked = 0 }: Masked): string[] {
  return masked > 0 ? [`${counted(masked, "credential")} masked`] : [];
}

/** Ids that were made by the call are the only place where the caller can learn them. */
function withIds(line: string, ids: readonly string[] | undefined): string {
  return [line, ...(ids ?? []).map((id) => `  ${showId(id)}`)].join("\n");
}
