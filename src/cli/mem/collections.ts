/**
 * `svc mem drop|rename|describe|alter`: collections as a whole. No tools: what a person keeps is for them to decide.
 */

import { readDescription } from "../../checks/strings.ts";
import { CancelledError } from "../../errors.ts";
import { MissingCollection } from "../../store/folder-lock.ts";
import type { CollectionOverview } from "../../store/overview.ts";
import { whyUnreadable } from "../../store/overview.ts";
import { withStore } from "../access/with-store.ts";
import { asUsage, command, EXIT, number, strings, UsageError } from "../terminal/command.ts";
import { agrees } from "../terminal/enter.ts";
import { isTerminal, note, oneLine, print, printJson } from "../terminal/output.ts";
import { fit } from "../terminal/width.ts";
import { COLLECTION, isOn, MEANING } from "./flags.ts";
import { ago, counted, megabytes } from "./render/text.ts";
import { COMMON } from "./verb.ts";

export const drop = command({
  details:
    "Removes the collections with all of their rows, for good: only a backup brings them back ('svc mem backup'). On\n" +
    "a terminal it shows what they hold and asks; elsewhere it needs --yes. All names are looked up before the first\n" +
    "collection is dropped. A damaged collection can be dropped too.\n\n" +
    "It waits for another process that is writing. If a server has unsaved changes, it stops and names the server.\n" +
    "Processes that have a dropped collection open get an error that it is gone. The index of a repository is built\n" +
    "again by the next search.",
  examples: ["svc mem drop notes", "svc mem drop scratch old-notes --yes"],
  args: {
    name: { type: "positional", repeatable: true, completes: "collection", description: "names of the collections" },
    yes: { type: "boolean", description: "do not ask" },
    ...COMMON,
    json: { type: "boolean", description: "print {dropped: [name]}" },
  },
  async run(invocation) {
    const { args, signal } = invocation;
    const names = [...new Set(args.name)];
    if (names.length === 0) throw new UsageError("which collections? svc mem list shows them");
    if (!args.yes && !(isTerminal(0) && isTerminal(2))) {
      throw new UsageError(`drop removes ${names.map(oneLine).join(", ")} for good: say so with --yes`);
    }
    return withStore(invocation, async (store) => {
      const found = store.overview().filter((one) => names.includes(one.name));
      // The store says what a folder without rows is.
      const missing = names.find((name) => !found.some((one) => one.name === name));
      if (missing !== undefined && names.length > 1) throw new MissingCollection(missing);
      const asks = !args.yes && missing === undefined;
      if (asks && !(await isMeant(found, signal))) {
        if (signal.aborted) throw new CancelledError("nothing was dropped");
        note("nothing was dropped");
        return EXIT.failed;
      }
      const dropped: string[] = [];
      for (const name of names) {
        await store.dropCollection(name, { signal });
        dropped.push(name);
        if (!args.json) print(`dropped ${oneLine(name)}`);
      }
      if (args.json) printJson({ dropped });
      return EXIT.done;
    });
  },
});

/** Shows what would be gone, and asks for `y` or, of one collection, its name. */
async function isMeant(found: readonly CollectionOverview[], signal: AbortSignal): Promise<boolean> {
  for (const one of found) note(`${oneLine(one.name)}: ${summary(one)}`);
  const isOne = found.length === 1;
  const [which, left] = isOne ? ["it", "it"] : [`all ${found.length}`, "them"];
  const question = `drop ${which} for good? y, or the name of the collection: anything else leaves ${left}`;
  return agrees(question, signal, isOne ? found[0]!.name : undefined);
}

function summary(one: CollectionOverview): string {
  const { rows, bytes, last_write, description } = one;
  const [word, why] = whyUnreadable(one) ?? [];
  return [
    rows === undefined ? "" : counted(rows, "row"),
    megabytes(bytes),
    last_write === undefined ? "" : `last written ${ago(last_write)}`,
    word === undefined ? "" : word === "leftover" ? word : `${word} (${oneLine(why!)})`,
    description === undefined ? "" : `"${oneLine(description)}"`,
  ]
    .filter((part) => part !== "")
    .join(", ");
}

export const rename = command({
  details:
    "Rows, indexes and description stay as they are; nothing is copied. A name that is taken is refused, also if only\n" +
    "upper and lower case differ. It waits for another process that is writing. Processes that have the collection\n" +
    "open find it under its new name only. You cannot rename repo_symbols, which holds the index of repositories.",
  examples: ["svc mem rename notes decisions", "svc mem rename notes-repaired notes"],
  args: {
    name: { type: "positional", completes: "collection", description: "name of the collection" },
    "new-name": { type: "positional", description: "its name from now on" },
    ...COMMON,
    json: { type: "boolean", description: "print {renamed, to}" },
  },
  async run(invocation) {
    const { args, signal } = invocation;
    const [from, to] = [args.name, args["new-name"]];
    await withStore(invocation, async (store) => {
      await store.renameCollection(from, to, { signal });
    });
    if (args.json) printJson({ renamed: from, to });
    else print(`renamed ${oneLine(from)} to ${oneLine(to)}`);
  },
});

export const describe = command({
  details:
    "Stores a sentence that says what the collection is for, of at most 4096 bytes. 'svc mem list' shows it.\n" +
    "svc_list_collections shows it to agents, which choose by it where to search or add. Without TEXT it prints the\n" +
    "present description.",
  examples: [
    'svc mem describe notes "decisions of the team, one a note"',
    "svc mem describe notes",
    "svc mem describe notes --remove",
  ],
  unexpected: () => "put a description of several words in quotes",
  args: {
    collection: COLLECTION,
    text: { type: "positional", required: false, description: "what it is for" },
    remove: { type: "boolean", description: "remove the description" },
    ...COMMON,
    json: { type: "boolean", description: "print {collection, description}" },
  },
  async run(invocation) {
    const { collection, text, remove = false, json } = invocation.args;
    if (remove && text !== undefined) throw new UsageError("--remove takes no text");
    if (text !== undefined) asUsage(() => readDescription(text, "the description"));
    const description = await withStore(invocation, async (store) => {
      const opened = await store.openCollection(collection);
      if (remove || text !== undefined) await opened.describe(text);
      return opened.description;
    });
    if (json) printJson({ collection, description });
    else if (remove) print(`removed the description of ${oneLine(collection)}`);
    else if (text !== undefined) print(`described ${oneLine(collection)}`);
    else if (description !== undefined) print(description);
    else note(`${oneLine(collection)} has no description: svc mem describe ${oneLine(collection)} <text> adds one`);
  },
});

export const alter = command({
  details:
    "Adds lexical search, adds and drops filter columns, turns search by meaning on or off, or says how much history is\n" +
    "kept.\n" +
    "Ids, texts, metadata, vectors, times, description, indexes and the partition key stay. The index of a repository\n" +
    "cannot be altered.\n\n" +
    "--meaning is applied first, and in place. 'off' deletes the vectors of meaning. After 'on' they are made as for a\n" +
    "new collection (see svc mem build-meaning).\n\n" +
    "The other changes write the rows into a new collection and compare them with the old ones; then the new collection\n" +
    "takes the old one's place in one step. A kill or a full disk before that step leaves the old collection as it was.\n" +
    "Meanwhile the rows need their size on disk a second time. Searches go on; writes wait, for 30 seconds at most.\n" +
    "The history stays, with the numbers of its saves. --history-days and --history-percent are applied in place. Saves\n" +
    "that are too old are hidden at once; the next compaction removes them.",
  examples: [
    "svc mem alter notes --lexical",
    "svc mem alter notes --filter-column project --drop-filter-column team",
    "svc mem alter notes --meaning off",
    "svc mem alter notes --history-days 90",
  ],
  args: {
    collection: COLLECTION,
    lexical: { type: "boolean", description: "allow search by word alone, and build its index" },
    "filter-column": strings("COLUMN", "a metadata column that --where may name from now on"),
    "drop-filter-column": strings("COLUMN", "a column that --where may no longer name"),
    meaning: MEANING,
    "history-days": number(
      "N",
      "keep the history of so many days (30); 0 hides it at once, and the next compaction removes it",
    ),
    "history-percent": number(
      "N",
      "bytes of history in percent of those of rows and indexes (25; 8 MiB are always allowed)",
    ),
    ...COMMON,
    json: { type: "boolean", description: "print {name, altered, rows, lexical, filter_columns, meaning, history}" },
  },
  async run(invocation) {
    const { args, signal } = invocation;
    const [addColumns, dropColumns] = [args["filter-column"], args["drop-filter-column"]];
    const meaning = isOn(args.meaning);
    const [historyDays, historyPercent] = [args["history-days"], args["history-percent"]];
    const given = [args.lexical, addColumns[0], dropColumns[0], meaning, historyDays, historyPercent];
    if (given.every((one) => one === undefined)) {
      throw new UsageError(
        "nothing to change: give --lexical, --filter-column, --drop-filter-column, --meaning or --history-days",
      );
    }
    const result = await withStore(invocation, (store, progress) => {
      const onProgress = (done: number, total: number) => progress.update({ done, total });
      return store.alterCollection(args.collection, {
        lexical: args.lexical,
        addColumns,
        dropColumns,
        meaning,
        historyDays,
        historyPercent,
        signal,
        onProgress,
      });
    });
    const { name, altered, rows, lexical, filter_columns } = result;
    const ways = [...(lexical ? ["search by word"] : []), ...(result.meaning ? ["search by meaning"] : [])];
    const has = [`filter columns ${filter_columns.map(oneLine).join(", ")}`, ...ways].join(", ");
    if (args.json) printJson(result);
    else if (altered) print(fit(`altered ${oneLine(name)}: ${counted(rows, "row")}, ${has}`));
    else print(fit(`${oneLine(name)} is so already: ${has}`));
  },
});
