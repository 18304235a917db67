/** `svc mem delete`: rows by id, or all that a filter and an age choose. */
import { readDuration } from "../../checks/durations.ts";
import { shown } from "../../checks/kinds.ts";
import { parseTime } from "../../checks/times.ts";
import { readWhere as readCondition } from "../../checks/where.ts";
import { CancelledError } from "../../errors.ts";
import type { Matching, MatchingRows } from "../../memory/delete-matching.ts";
import type { Terminal } from "../../memory/terminal.ts";
import { asUsage, type Command, EXIT, type Invocation, string, UsageError } from "../terminal/command.ts";
import { agrees } from "../terminal/enter.ts";
import { isTerminal, note, oneLine } from "../terminal/output.ts";
import { fit } from "../terminal/width.ts";
import { ID_ARGS, readIds, readWhere, WHERE } from "./flags.ts";
import { renderList } from "./render/rows.ts";
import { counted, nameAsWord } from "./render/text.ts";
import { answer, type COMMON, verbCommand, withMemory } from "./verb.ts";

/** Rows that are shown before the question, and bytes of each text. */
const SHOWN = 5;
const TEXT_BYTES = 500;

const FLAGS = {
  where: WHERE,
  "older-than": string(
    "AGE",
    "only rows that were last updated so long ago: 12h, 90d, 8w, or before a day: 2026-08-01",
  ),
  "dry-run": { type: "boolean", description: "with --where or --older-than: only count" },
  purge: {
    type: "boolean",
    description: "also remove every earlier version of these ids; 'svc mem undo' cannot undo this",
  },
  yes: { type: "boolean", description: "with --where, --older-than or --purge: do not ask" },
} as const;

const ABOUT = {
  details:
    "Deletes the rows of these ids, or with --where and --older-than all rows that match both. Queries no longer find\n" +
    "them. Their bytes are freed by the next compact. 'svc mem undo' puts them back. Unknown ids are ignored. A terminal\n" +
    "takes the beginning of an id where no other id begins with it, and says which row that is.\n\n" +
    "--where and --older-than count the rows, show some of them and ask, on a terminal; elsewhere they need --yes. If\n" +
    "another process changes these rows before you answer, nothing is deleted.\n\n" +
    "--purge is for what must not stay, such as a credential: it removes the rows of these ids from the history too, also\n" +
    "of rows that were deleted before, and writes the collection again without their bytes. It takes whole ids. Backups\n" +
    "may still have them.",
  examples: [
    "svc mem delete notes deploy retro",
    "svc mem ids notes --newest 10 | svc mem delete notes -",
    "svc mem delete notes --where scope=old --dry-run",
    "svc mem delete notes --where scope=log --older-than 90d --yes",
    "svc mem delete notes api-key --purge",
  ],
};

const byId = verbCommand("delete", {
  ...ABOUT,
  args: { ...ID_ARGS, ...FLAGS },
  async toArguments(invocation) {
    if (invocation.args.yes || invocation.args["dry-run"]) {
      throw new UsageError("--yes and --dry-run go with --where, --older-than or --purge");
    }
    return { collection: invocation.args.collection, ids: await readIds(invocation) };
  },
  // A script deletes the rows that it names, and no others.
  takesPrefixes: (args) => isTerminal(0) && !args["row-id"].includes("-"),
  inOne: true,
  notes: noteUndo,
  render: renderDeleted,
});

/** The command for ids, and beside it the one for rows that match. */
export const remove: Command = {
  ...ABOUT,
  get args() {
    return byId.args;
  },
  async run(invocation) {
    const given = invocation as unknown as Invocation<typeof ID_ARGS & typeof FLAGS & typeof COMMON>;
    const { where, "older-than": age, purge: isPurge = false, yes = false, "dry-run": isDry = false } = given.args;
    const isMatching = where.length > 0 || age !== undefined;
    if (isPurge && (isMatching || isDry)) {
      throw new UsageError("--purge takes ids: 'svc mem ids NAME --where … | svc mem delete NAME - --purge --yes'");
    }
    if (isPurge) return purge(given, yes);
    if (isMatching) return deleteMatching(given);
    await byId.run(invocation);
    return EXIT.done;
  },
};

async function deleteMatching(invocation: Invocation<typeof ID_ARGS & typeof FLAGS & typeof COMMON>): Promise<number> {
  const { args, signal } = invocation;
  const { collection, json = false, yes = false, "dry-run": isDry = false } = args;
  if (args["row-id"].length > 0 || args.id.length > 0 || args.ids !== undefined) {
    throw new UsageError("ids and --where or --older-than exclude each other: give one of them");
  }
  const where = asUsage(() => readCondition(readWhere(args.where), "--where"));
  // One point in time, for the count and for the delete after the answer.
  const until = args["older-than"] === undefined ? undefined : readAge(args["older-than"]);
  const matching = { where, until };
  const asks = !isDry && !yes && isTerminal(0) && isTerminal(2);
  if (!isDry && !yes && !asks) {
    throw new UsageError(`this deletes all rows of ${oneLine(collection)} that match: say so with --yes, or --dry-run`);
  }
  const deleted = await withMemory(invocation, async (verbs, context) => {
    const terminal = await verbs.terminal();
    if (isDry) {
      const { ids } = await terminal.matching({ collection, ...matching });
      return { deleted: ids.length, collection, dry_run: true as const };
    }
    const planned = asks ? await terminal.matching({ collection, ...matching }) : undefined;
    if (planned?.ids.length === 0) return { deleted: 0, collection };
    if (planned !== undefined && !(await isMeant(terminal, collection, matching, planned, signal))) return undefined;
    return terminal.delete_matching({ collection, ...matching, planned }, context);
  });
  if (deleted === undefined) {
    if (signal.aborted) throw new CancelledError("nothing was deleted");
    note("nothing was deleted");
    return EXIT.failed;
  }
  answer(deleted, json, renderDeleted);
  if (!json && !isDry) for (const line of noteUndo(deleted)) note(line);
  return EXIT.done;
}

/** Removes rows and every earlier version of them. @throws UsageError without a terminal and without --yes */
async function purge(invocation: Invocation<typeof ID_ARGS & typeof COMMON>, yes: boolean): Promise<number> {
  const { args, signal } = invocation;
  const { collection, json = false } = args;
  const ids = [...new Set(await readIds(invocation))];
  const asks = !yes && isTerminal(0) && isTerminal(2);
  if (!yes && !asks) {
    throw new UsageError(
      `this removes ${counted(ids.length, "id")} of ${oneLine(collection)} for good: say so with --yes`,
    );
  }
  const question = `remove ${counted(ids.length, "id")} of ${oneLine(collection)} and their history for good? y`;
  const purged = await withMemory(invocation, async (verbs, context) => {
    if (asks && !(await agrees(`${question}: anything else removes nothing`, signal))) return undefined;
    return (await verbs.terminal()).purge({ collection, ids }, context);
  });
  if (purged === undefined) {
    if (signal.aborted) throw new CancelledError("nothing was removed");
    note("nothing was removed");
    return EXIT.failed;
  }
  const isNothing = purged.deleted + purged.versions === 0;
  if (isNothing && !json) {
    note("nothing was removed: no row and no change of the history has such an id; --purge takes whole ids");
    return EXIT.failed;
  }
  answer(purged, json, ({ deleted, versions }) => {
    const rows = `${counted(deleted, "live row")} and ${counted(versions, "change")} of the history`;
    return fit(`removed ${rows} from ${oneLine(collection)}. Backups may still have them.`);
  });
  return EXIT.done;
}

/** Shows how many rows would be gone, and the first of them, and asks. */
async function isMeant(
  terminal: Terminal,
  collection: string,
  matching: Matching,
  planned: MatchingRows,
  signal: AbortSignal,
): Promise<boolean> {
  const count = planned.ids.length;
  const { rows } = await terminal.latest({ collection, ...matching, limit: SHOWN, text_bytes: TEXT_BYTES });
  const which = rows.length < count ? `, the last ${rows.length} of them` : "";
  note(`${counted(count, "row")} of ${oneLine(collection)}${which}:`);
  note(renderList(rows));
  return agrees(`delete ${count === 1 ? "it" : `all ${count}`}? y: anything else deletes nothing`, signal);
}

/** When a row of this age was updated, in milliseconds since 1970. @throws UsageError */
export function readAge(written: string, now = Date.now()): number {
  const day = parseTime(written);
  if (day !== undefined) return day;
  try {
    return now - readDuration(written, "--older-than");
  } catch {
    throw new UsageError(
      `--older-than is ${shown(written)}: give an age such as 12h, 90d or 8w, or a day such as 2026-08-01`,
    );
  }
}

function renderDeleted({ deleted, collection, dry_run }: { deleted: number; collection: string; dry_run?: true }) {
  return `${dry_run ? "would delete" : "deleted"} ${counted(deleted, "row")} from ${oneLine(collection)}`;
}

// For a person only: a script that deletes knows what it does.
function noteUndo({ deleted, collection }: { deleted: number; collection: string }): string[] {
  return deleted > 0 && isTerminal(2)
    ? [`to put ${deleted === 1 ? "it" : "them"} back: svc mem undo ${nameAsWord(collection)}`]
    : [];
}
