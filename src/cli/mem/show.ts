/** `svc mem show|recent`: rows as a person looks through them. No tools: an agent searches. */
import { readIds } from "../../checks/ids.ts";
import { shown } from "../../checks/kinds.ts";
import { POSITIVE, readNumber } from "../../checks/numbers.ts";
import { readTime } from "../../checks/times.ts";
import { readWhere as readCondition } from "../../checks/where.ts";
import { ValueError } from "../../errors.ts";
import type { LatestArguments, LatestPayload } from "../../memory/latest.ts";
import { shellWord } from "../../shell-word.ts";
import {
  type Args,
  asUsage,
  command,
  type Invocation,
  number,
  string,
  UsageError,
  type Values,
} from "../terminal/command.ts";
import { note, oneLine } from "../terminal/output.ts";
import { COLLECTION, readWhere, time, WHERE } from "./flags.ts";
import { renderList, renderWhole } from "./render/rows.ts";
import { counted } from "./render/text.ts";
import { typedIds } from "./rows/prefixes.ts";
import { COMMON, jsonOf, PAGER, prepare, show as printPaged, withMemory } from "./verb.ts";

/** Rows that are shown where no number is given. */
const ROWS = 20;
/** Bytes of each text in a list, which shows three lines of it. */
const TEXT_BYTES = 1500;

const LIST_FLAGS = {
  limit: number("N", `maximum number of rows (${ROWS})`),
  pager: PAGER,
  ...COMMON,
} as const satisfies Args;

export const show = command({
  details:
    "Without an id it lists rows with id, date, metadata and the beginning of the text, the last added or changed first.\n" +
    "With ids it prints these rows whole. The beginning of an id is enough where no other id begins with it.\n\n" +
    "Times are in the time zone of this machine. Control characters are printed as escapes; --json gives exact texts.",
  examples: ["svc mem show notes", "svc mem show notes --where scope=ops --limit 5", "svc mem show notes deploy"],
  args: {
    collection: COLLECTION,
    "row-id": {
      type: "positional",
      required: false,
      repeatable: true,
      description: "id of a row to print whole, or its beginning",
    },
    where: WHERE,
    ...LIST_FLAGS,
    json: {
      type: "boolean",
      description:
        "print {rows: [{collection, id, created, updated, metadata, text}], total}; with ids, what get answers",
    },
  },
  async run(invocation) {
    const { collection, "row-id": ids, where, limit } = invocation.args;
    if (ids.length > 0) {
      if (where.length > 0 || limit !== undefined) {
        throw new UsageError("--where and --limit choose rows of a list: leave them out, or the id");
      }
      return showWhole(invocation, collection, ids);
    }
    const condition = asUsage(() => readCondition(readWhere(where), "--where"));
    const { rows, total } = await showLatest(invocation, { collection, where: condition });
    if (invocation.args.json) return;
    if (total === 0) note(condition ? "no rows match" : `${oneLine(collection)} has no rows`);
    if (rows[0]) noteWhole(collection, rows[0].id);
  },
});

export const recent = command({
  details:
    "Lists the rows that were added or changed last, of all collections but those with the index of a repository. Each\n" +
    "row names its collection. Deleted rows are not listed. --client asks the history, which goes back 30 days.",
  examples: [
    "svc mem recent",
    "svc mem recent --since 2026-11-01 --limit 50",
    "svc mem recent notes --client claude-code",
  ],
  args: {
    collection: { ...COLLECTION, required: false, description: "only this collection" },
    since: string("TIME", "only rows updated then or later: 2026-11-22, 2026-11-22T14:30Z, or milliseconds since 1970"),
    client: string("NAME", "only rows that this client saved last: its name, as 'svc mem history' shows it"),
    ...LIST_FLAGS,
    json: {
      type: "boolean",
      description:
        "print {rows: [{collection, id, created, updated, metadata, text}], total, unreadable: {name: text}}",
    },
  },
  async run(invocation) {
    const { collection, client } = invocation.args;
    const written = time(invocation.args.since);
    const since = written === undefined ? undefined : asUsage(() => readTime(written, "--since"));
    const { total, unreadable = {} } = await showLatest(invocation, { collection, since, client }, true);
    if (invocation.args.json) return;
    if (total === 0) note("no rows");
    for (const [name, why] of Object.entries(unreadable)) note(`${oneLine(name)} is left out, ${oneLine(why)}`);
  },
});

/** What both commands take. */
type Site = Omit<Invocation, "args"> & { readonly args: Values<typeof LIST_FLAGS> };

async function showWhole(invocation: Site, collection: string, given: readonly string[]): Promise<void> {
  const { json = false, pager } = invocation.args;
  const typed = asUsage(() => readIds(given, "the ids"));
  const payload = await withMemory(invocation, async (verbs, context) => {
    const ids = await typedIds(verbs, collection, typed);
    return prepare("get", { collection, ids })(verbs, context);
  });
  const missing = payload.rows.find(({ found }) => !found);
  if (missing !== undefined) {
    throw new ValueError(`collection ${shown(collection)} has no row ${shown(missing.id)}`, "no_row");
  }
  const text = json ? jsonOf(payload) : payload.rows.map((row) => renderWhole(row)).join("\n\n");
  await printPaged(text, pager && !json);
  if (!json && payload.notice !== undefined) note(payload.notice);
}

/** Prints the list, and how to see more of it. */
async function showLatest(
  invocation: Site,
  which: Omit<LatestArguments, "limit" | "text_bytes">,
  withCollection = false,
): Promise<LatestPayload> {
  const { json = false, pager, limit: given = ROWS } = invocation.args;
  const limit = asUsage(() => readNumber(given, "--limit", POSITIVE));
  const text_bytes = json ? undefined : TEXT_BYTES;
  const payload = await withMemory(invocation, async (verbs) =>
    (await verbs.terminal()).latest({ ...which, limit, text_bytes }),
  );
  const { rows, total, notice } = payload;
  const text = json ? jsonOf(payload) : renderList(rows, { withCollection });
  if (text !== "") await printPaged(text, pager && !json);
  if (json) return payload;
  if (notice !== undefined) note(notice);
  if (rows.length < total) {
    note(`${rows.length} of ${counted(total, "row")}: --limit ${Math.min(total, limit * 2)} shows more`);
  }
  return payload;
}

/** The command that prints a row whole, where its words can be copied from a terminal. */
function noteWhole(collection: string, id: string): void {
  const words = [collection, id];
  if (words.some((word) => /\p{C}/u.test(word))) return;
  const dashes = words.some((word) => word.startsWith("-")) ? "-- " : "";
  note(`one row whole: svc mem show ${dashes}${words.map(shellWord).join(" ")}`);
}
