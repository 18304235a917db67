/** `svc mem history`: what saves have changed, when, and by whom. Agents have no tool for it: queries see live rows only. */

import { minuteOf } from "../../answers/local-times.ts";
import { shown } from "../../checks/kinds.ts";
import type { HistoryPayload, SavePayload, VersionPayload } from "../../memory/requests.ts";
import { isUndo } from "../../texts/history/history.ts";
import { command, number, string, UsageError } from "../terminal/command.ts";
import { note, oneLine, style, visible } from "../terminal/output.ts";
import { tableOf } from "../terminal/table.ts";
import { fit, terminalColumns, wrapped } from "../terminal/width.ts";
import { COLLECTION, whole } from "./flags.ts";
import { showId, showMetadata } from "./render/text.ts";
import { answer, COMMON, withMemory } from "./verb.ts";

/** Saves, changes or versions that are shown where --limit does not say otherwise. */
const SHOWN = 20;

export default command({
  details:
    "Lists the latest saves that changed rows: their numbers, when they were made, by which client and tool, and how many\n" +
    "rows they added, replaced and deleted. With ID it shows the versions of that row, with --save the ids that one save\n" +
    "changed. Times are in the time zone of this machine, with its offset. 'svc mem undo' takes saves back.\n\n" +
    "Searches and tools see live rows only. The history goes back 30 days unless 'svc mem alter --history-days' says\n" +
    "otherwise, and less far if it would take more than a quarter of the collection's bytes. 'svc mem compact' removes it,\n" +
    "and 'svc mem delete --purge' removes a row from it.",
  examples: [
    "svc mem history notes",
    "svc mem history notes deploy-rules",
    "svc mem history notes --save 412",
    "svc mem history notes --client claude-code",
  ],
  args: {
    collection: COLLECTION,
    id: { type: "positional", required: false, description: "the id of a row: show its versions" },
    save: number("N", "show the ids that this save changed"),
    client: string("NAME", "only what this client saved: its name, as BY shows it, without the version"),
    limit: number("N", `how many saves, ids or versions to show (${SHOWN}; 0 = all)`),
    ...COMMON,
    json: {
      type: "boolean",
      description:
        "print {collection, saves: [{save, time, origin, added, replaced, deleted, undone_by}]}, {collection, save, changes: [{id, kind}]} or {collection, id, versions: [{save, kind, row}]}",
    },
  },
  async run(invocation) {
    const { collection, id, client, json = false } = invocation.args;
    const save = whole(invocation.args.save, "save", 1);
    if (save !== undefined && client !== undefined)
      throw new UsageError("--save names one save, and --client selects saves: leave one of them out");
    const limit = whole(invocation.args.limit, "limit", 0) ?? SHOWN;
    const history = await withMemory(invocation, async (verbs) => {
      const terminal = await verbs.terminal();
      return terminal.history({ collection, id, save, client, limit: limit === 0 ? Number.MAX_SAFE_INTEGER : limit });
    });
    answer(history, json, render);
    if (json) return;
    const { saves, versions, more } = history;
    const by = client === undefined ? "" : ` by client ${shown(client)}`;
    if (saves?.length === 0)
      note(`the history of ${oneLine(collection)} ${by === "" ? "is empty" : `has no save${by}`}`);
    if (versions?.length === 0) note(`the history of ${oneLine(collection)} has no change of this id${by}`);
    if (more) note("there is more: --limit 0 shows all");
  },
});

function render({ saves, save, changes = [], id, versions = [] }: HistoryPayload): string {
  if (saves !== undefined) return saves.length === 0 ? "" : saveTable(saves);
  if (save !== undefined) {
    return [fit(saveLine(save)), ...changes.map(({ id, kind }) => fit(`  ${showId(id)}  ${kind}`))].join("\n");
  }
  return versions.length === 0 ? "" : [style("bold", showId(id!)), ...versions.map(renderVersion)].join("\n\n");
}

function saveTable(saves: readonly SavePayload[]): string {
  const undone = saves.some(({ undone_by }) => undone_by !== undefined) ? ["UNDONE BY"] : [];
  const rows = saves.map((save) => {
    const by = undone.map(() => (save.undone_by === undefined ? "" : String(save.undone_by)));
    return [String(save.save), minuteOf(save.time), ...by, clientOf(save), toolOf(save), rowsOf(save)];
  });
  return tableOf(["SAVE", "TIME", ...undone, "BY", "WITH", "ROWS"], rows, { whole: [0, 1, undone.length + 1] });
}

function saveLine(save: SavePayload): string {
  const by = [clientOf(save), toolOf(save)].filter((part) => part !== "").join(", ");
  return [`save ${save.save}`, minuteOf(save.time), oneLine(by), whatOf(save)].filter((part) => part !== "").join("  ");
}

function clientOf({ origin: { client, version, author } }: SavePayload): string {
  const name = [client, version].filter((part) => part !== undefined).join(" ");
  return author === undefined ? name : `${author} (${name})`;
}

function toolOf({ origin }: SavePayload): string {
  if (!isUndo({ origin })) return origin.tool ?? "";
  const ranges = origin.undoes!.map(([first, last]) => (first === last ? String(first) : `${first} to ${last}`));
  return `undo of ${ranges.join(", ")}`;
}

function whatOf(save: SavePayload): string {
  return [rowsOf(save), save.undone_by === undefined ? "" : `undone by ${save.undone_by}`]
    .filter((part) => part !== "")
    .join(", ");
}

function rowsOf({ added, replaced, deleted }: SavePayload): string {
  const counts = Object.entries({ added, replaced, deleted }).filter(([, count]) => count > 0);
  return counts.map(([what, count]) => `${count} ${what}`).join(", ");
}

function renderVersion({ save, kind, row }: VersionPayload): string {
  const head = style("bold", `${saveLine({ ...save, added: 0, replaced: 0, deleted: 0 })}  ${kind}`);
  if (row === undefined) return kind === "deleted" ? fit(head) : `${fit(head)}\n(this version is damaged)`;
  const columns = terminalColumns();
  const text = visible(row.text ?? "");
  const lines = columns === undefined ? [text] : text.split("\n").flatMap((line) => wrapped(line, columns));
  return [fit(head + showMetadata(row)), ...(row.text === undefined ? [] : lines)].join("\n");
}
