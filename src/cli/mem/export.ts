/** `svc mem export`: a collection as JSON lines, a page at a time, so that its size does not matter. */
import { CancelledError } from "../../errors.ts";
import { command } from "../command.ts";
import { note, printJson } from "../output.ts";
import { startProgress } from "../progress.ts";
import { COLLECTION, readWhere, TIME_FLAGS, timeArguments, WHERE } from "./flags.ts";
import { counted } from "./render.ts";
import { COMMON, prepare, withMemory } from "./verb.ts";

const PAGE_ROWS = 200;

export default command({
  details:
    'Prints one line a row: {"id": …, "metadata": …, "text": …, "created": …, "updated": …}, in the order in which rows were\n' +
    "added, or with --newest the last updated first; the times are milliseconds since 1970. The rows are those that live when it\n" +
    "starts; one that is deleted meanwhile is left out.",
  examples: [
    "svc mem export notes > notes.jsonl",
    "svc mem export notes --where scope=ops | gzip > ops.jsonl.gz",
    "svc mem export notes --since 2026-11-22T00:00Z > today.jsonl",
  ],
  args: {
    collection: COLLECTION,
    where: WHERE,
    ...TIME_FLAGS,
    ...COMMON,
    json: { type: "boolean", description: "what it does anyway" },
  },
  async run(invocation) {
    const { collection, where } = invocation.args;
    const list = prepare("ids", { collection, where: readWhere(where), ...timeArguments(invocation.args) });
    const progress = startProgress(`exporting ${collection}`);
    let exported = 0;
    try {
      await withMemory(invocation, async (verbs, context) => {
        // All ids at once: a page that begins after an id would lose its place when another process deletes that row.
        const { ids } = await list(verbs, context);
        for (let start = 0; start < ids.length; start += PAGE_ROWS) {
          if (invocation.signal.aborted) throw new CancelledError(`interrupted after ${counted(exported, "row")}`);
          const page = prepare("get", { collection, ids: ids.slice(start, start + PAGE_ROWS) });
          const { rows } = await page(verbs, context);
          const found = rows
            .filter((row) => row.found)
            .map(({ id, metadata, text, created, updated }) => ({ id, metadata, text, created, updated }));
          printJson(...found);
          exported += found.length;
          progress.update(start + rows.length, ids.length);
          // Printing is synchronous: without this turn of the event loop Ctrl-C would have effect only at the end.
          await new Promise(setImmediate);
        }
      });
    } finally {
      progress.end();
    }
    note(`exported ${counted(exported, "row")} of ${collection}`);
  },
});
