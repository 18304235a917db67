/** `svc mem undo`: takes back what saves have changed. Agents have no tool for it: a person decides what is undone. */

import { minuteOf } from "../../answers/local-times.ts";
import { readTime } from "../../checks/times.ts";
import { CancelledError } from "../../errors.ts";
import type { UndoPayload } from "../../memory/requests.ts";
import type { Undone } from "../../texts/history/undo.ts";
import { asUsage, command, EXIT, number, string, UsageError } from "../terminal/command.ts";
import { agrees } from "../terminal/enter.ts";
import { isTerminal, note, oneLine } from "../terminal/output.ts";
import { fit } from "../terminal/width.ts";
import { COLLECTION, time, whole } from "./flags.ts";
import { counted, showId } from "./render/text.ts";
import { answer, COMMON, withMemory } from "./verb.ts";

/** Ids of each kind that are listed; --json lists all. */
const LISTED_MAX = 20;

export default command({
  details:
    "Without options it undoes the latest save that is neither an undo nor undone; repeat it to go further back. A command\n" +
    "that saved several times, such as an import, is undone as a whole.\n" +
    "Rows that the save replaced or deleted are as they were: id, text, metadata, vector and time of creation; they count\n" +
    "as updated now. Rows that it added are deleted. Deleted rows come back at the end of the insertion order.\n\n" +
    "An undo is a save of its own. 'svc mem history' lists the saves, and 'svc mem undo NAME --save N' with the number of\n" +
    "an undo brings back what it took away. Rows that a later save changed stay as they are; --force takes them back too.\n\n" +
    "On a terminal it lists what would change, and asks; elsewhere it does not ask. If another process changes one of\n" +
    "these rows before you answer, nothing is done.\n\n" +
    "The history goes back 30 days unless 'svc mem alter --history-days' says otherwise, and less far if it would take\n" +
    "more than a quarter of the collection's bytes. 'svc mem compact' removes it.",
  examples: [
    "svc mem undo notes --dry-run",
    "svc mem undo notes",
    "svc mem undo notes --save 412",
    "svc mem undo notes --since 2026-11-28T17:00Z",
    "svc mem undo notes --id deploy-rules",
    "svc mem undo notes --client claude-code",
  ],
  args: {
    collection: COLLECTION,
    save: number("N", "undo this save, by its number in 'svc mem history'"),
    since: string(
      "TIME",
      "undo all saves from then on, in UTC: 2026-11-22, 2026-11-22T14:30Z, or milliseconds since 1970",
    ),
    id: string("ID", "undo only what was done to this row"),
    client: string("NAME", "undo the latest save of this client: its name, as 'svc mem history' shows it under BY"),
    "dry-run": { type: "boolean", description: "list what would change; change nothing" },
    force: { type: "boolean", description: "also take back rows that later saves changed" },
    yes: { type: "boolean", description: "do not ask" },
    ...COMMON,
    json: {
      type: "boolean",
      description:
        "print {collection, undone, first, last, saved, restored: [id], reverted: [id], removed: [id], changed: [id], lost: [id], dry_run}",
    },
  },
  async run(invocation) {
    const { args, signal } = invocation;
    const { collection, id, client, "dry-run": dry_run = false, force = false, json = false } = args;
    const save = whole(args.save, "save", 1);
    const since = args.since === undefined ? undefined : asUsage(() => readTime(time(args.since), "--since"));
    if (save !== undefined && since !== undefined) throw new UsageError("give --save or --since, not both");
    if (client !== undefined && (save ?? since) !== undefined) {
      throw new UsageError("--client undoes the latest save of a client: leave it or --save and --since out");
    }
    const request = { collection, save, since, id, client, force };
    const asks = !dry_run && !args.yes && isTerminal(0) && isTerminal(2);
    const undone = await withMemory(invocation, async (verbs, context) => {
      const terminal = await verbs.terminal();
      const planned = asks ? await terminal.undo({ ...request, dry_run: true }, context) : undefined;
      // Where later saves changed all rows, the undo itself says so: there is nothing to ask.
      if (planned !== undefined && isAny(planned, force) && !(await isMeant(planned, force, signal))) return undefined;
      return terminal.undo({ ...request, dry_run, ...(planned && { planned: undoneOf(planned) }) }, context);
    });
    if (undone === undefined) {
      if (signal.aborted) throw new CancelledError("nothing was undone");
      note("nothing was undone");
      return EXIT.failed;
    }
    // What a person has read before the question is not listed again.
    answer(undone, json, (payload) => (asks ? headOf(payload) : renderUndone(payload, force)));
    return EXIT.done;
  },
});

/** Whether an undo would do anything. */
function isAny({ restored, reverted, removed, changed }: UndoPayload, force: boolean): boolean {
  return restored.length + reverted.length + removed.length + (force ? changed.length : 0) > 0;
}

function undoneOf({ collection: _, undone: __, dry_run: ___, ...undone }: UndoPayload): Undone {
  return undone;
}

/** Shows what would change, and asks. */
function isMeant(planned: UndoPayload, force: boolean, signal: AbortSignal): Promise<boolean> {
  note(renderUndone(planned, force));
  return agrees("undo this? y: anything else changes nothing", signal);
}

function renderUndone(undone: UndoPayload, force: boolean): string {
  const { restored, reverted, removed, changed, lost, dry_run } = undone;
  const now = dry_run ? "would be" : "is";
  const stays = force ? "which is undone too" : "and stays: --force undoes that too";
  return [
    headOf(undone),
    ...listed(restored, `was deleted, and ${now} back`),
    ...listed(reverted, `was replaced, and ${now} as before`),
    ...listed(removed, `was added, and ${now} deleted`),
    ...listed(changed, `was changed by a later save, ${stays}`),
    ...listed(lost, "is damaged in the history, and stays as it is"),
  ].join("\n");
}

function headOf(undone: UndoPayload): string {
  const { collection, first, last, saved, dry_run } = undone;
  const saves = first === last ? `save ${first}` : `saves ${first} to ${last}`;
  const done = dry_run ? "would undo" : "undid";
  return fit(`${done} ${saves} of ${oneLine(collection)}, from ${minuteOf(saved)}: ${counted(undone.undone, "row")}`);
}

function listed(ids: readonly string[], what: string): string[] {
  const lines = ids.slice(0, LISTED_MAX).map((id) => fit(`  ${showId(id)}  ${what}`));
  const more = ids.length - lines.length;
  return more > 0 ? [...lines, `  and ${more} more: ${what}`] : lines;
}
