/**
 * `svc mem undo`: the rows that the last delete, upsert or update took away. No tool: what is undone is for a person to
 * decide.
 */
import { CancelledError } from "../../errors.ts";
import type { UndoPayload } from "../../memory/requests.ts";
import { command, EXIT } from "../terminal/command.ts";
import { agrees } from "../terminal/enter.ts";
import { isTerminal, note, oneLine } from "../terminal/output.ts";
import { fit } from "../terminal/width.ts";
import { COLLECTION } from "./flags.ts";
import { counted, showId } from "./render/text.ts";
import { answer, COMMON, withMemory } from "./verb.ts";

/** Ids of each kind that are listed; --json lists all, except that of the ids that stay it has the first 100. */
const LISTED_MOST = 20;

export default command({
  details:
    "Puts back the rows that the last delete, upsert, update or import took away, with their id, text, metadata,\n" +
    "vector and time of creation; they count as updated now. The undo is a new save, and you cannot undo an undo.\n" +
    "Rows that the undone save or a later one added stay, and are listed. Deleted rows come back at the end of the\n" +
    "insertion order.\n\n" +
    "On a terminal it lists what would be put back and what stays, and asks; elsewhere it does not ask. If another\n" +
    "process changes one of these rows before you answer, nothing is done.\n\n" +
    "Rows can be put back for 24 hours, and for longer while the collection is not compacted. Earlier ends are a\n" +
    "compact, an index build and the next save of this kind. An id that was deleted and added again since is replaced\n" +
    "only with --force.",
  examples: ["svc mem undo notes --dry-run", "svc mem undo notes", "svc mem undo notes --yes"],
  args: {
    collection: COLLECTION,
    "dry-run": { type: "boolean", description: "list what would be put back and what stays; change nothing" },
    force: { type: "boolean", description: "also replace rows whose ids were added again since" },
    yes: { type: "boolean", description: "do not ask" },
    ...COMMON,
    json: {
      type: "boolean",
      description:
        "print {collection, undone, saved, restored: [id], reverted: [id], changed: [id], left: [id], left_omitted, dry_run}",
    },
  },
  async run(invocation) {
    const { args, signal } = invocation;
    const { collection, "dry-run": dry_run = false, force = false, json = false } = args;
    const asks = !dry_run && !args.yes && isTerminal(0) && isTerminal(2);
    const undone = await withMemory(invocation, async (verbs, context) => {
      const terminal = await verbs.terminal();
      const planned = asks ? await terminal.undo({ collection, force, dry_run: true }, context) : undefined;
      // Ids that were added again are refused by the undo itself: there is nothing to ask.
      const isRefused = !force && planned !== undefined && planned.changed.length > 0;
      if (planned !== undefined && !isRefused && !(await isMeant(planned, force, signal))) return undefined;
      return terminal.undo({ collection, force, dry_run, ...(planned && { planned }) }, context);
    });
    if (undone === undefined) {
      if (signal.aborted) throw new CancelledError("nothing was put back");
      note("nothing was put back");
      return EXIT.failed;
    }
    // What a person has read before the question is not listed again.
    answer(undone, json, (payload) => (asks ? headOf(payload) : renderUndone(payload, force)));
    return EXIT.done;
  },
});

/** Shows what would be put back and what stays, and asks. */
function isMeant(planned: UndoPayload, force: boolean, signal: AbortSignal): Promise<boolean> {
  note(renderUndone(planned, force));
  return agrees("put these rows back? y: anything else changes nothing", signal);
}

function renderUndone(undone: UndoPayload, force: boolean): string {
  const { restored, reverted, changed, left, left_omitted = 0 } = undone;
  const again = force ? "was added again since, and is replaced" : "was added again since: --force replaces it";
  return [
    headOf(undone),
    ...listed(restored, "was deleted"),
    ...listed(reverted, "was replaced"),
    ...listed(changed, again),
    ...listed(left, "was added by that save or later, and stays", left_omitted),
  ].join("\n");
}

function headOf({ collection, undone, saved, dry_run }: UndoPayload): string {
  const done = dry_run ? "would put back" : "put back";
  const time = new Date(saved).toISOString();
  return fit(`${done} ${counted(undone, "row")} of ${oneLine(collection)}, as before the save of ${time}`);
}

/** @param omitted how many more there are */
function listed(ids: readonly string[], what: string, omitted = 0): string[] {
  const lines = ids.slice(0, LISTED_MOST).map((id) => `  ${showId(id)}  ${what}`);
  const more = ids.length - lines.length + omitted;
  if (more > 0) lines.push(`  and ${more} more: ${what}`);
  return lines;
}
