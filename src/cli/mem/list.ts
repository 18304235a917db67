/** `svc mem list`: the collections, with what their folders say of them. */

import type { ListCollectionsPayload, ReplicationPayload } from "../../memory/payloads.ts";
import type { CollectionOverview } from "../../memory/requests.ts";
import { shellWord } from "../../shell-word.ts";
import { whyUnreadable } from "../../store/overview.ts";
import { REMOTE, remoteMemory } from "../access/remote.ts";
import { type Args, command, type Invocation, number, string, UsageError } from "../terminal/command.ts";
import { note, oneLine, print } from "../terminal/output.ts";
import { GAP, tableOf } from "../terminal/table.ts";
import { clipped, terminalColumns } from "../terminal/width.ts";
import { COLLECTION } from "./flags.ts";
import { indexesOf, renderDetail } from "./render/detail.ts";
import { ago, counted, size } from "./render/text.ts";
import { answer, COMMON, type MemoryWork, prepare, withMemory } from "./verb.ts";

/** A name is not cut to fewer columns, and no description shown in fewer. */
const NAME_LEAST = 12;
const DESCRIPTION_LEAST = 10;
const NO_COLLECTIONS = "no collections yet: svc mem add <collection> <text> makes one";

const ARGS = {
  collection: { ...COLLECTION, required: false, description: "show this collection" },
  after: string("NAME", "continue after this name"),
  "max-bytes": number("N", "with --json: print only the tool's answer, of at most N bytes (0 = no limit)"),
  ...REMOTE,
  ...COMMON,
  json: {
    type: "boolean",
    description:
      "print {collections: [name], unreadable: {name: text}, details: [{name, rows, bytes, lexical, ivf, filter_columns, partition_by, description, last_write, damaged, leftover, older, newer}]}, with a database also {replication: {collections: {name: {generation, behind}}, node, nodes: [id]}}; with a name such an object, and with it {partitions: [{key, rows}], partition_count, dim, embedder, meaning, text_rows, meaning_rows}",
  },
} as const satisfies Args;

export default command({
  details:
    "Prints rows, size on disk, indexes, the time of the last save, and the description that 'svc mem describe' sets.\n" +
    "With a database (--engine-file) it also shows the generation of each collection and the ids of the nodes that are\n" +
    "connected now. A node has no other name; 'svc doctor' shows that of this machine.\n\n" +
    "With a name it shows this collection, with its columns and its largest partitions.\n\n" +
    "The list reads only the manifests. It marks a collection whose files are visibly damaged, one of an older or newer\n" +
    "format, and one that an interrupted first save left. 'svc mem check' reads every byte.",
  examples: ["svc mem list", "svc mem list notes", "svc mem list --path ./memory --json"],
  unexpected: (word) => `'svc mem list ${shellWord(word)}' shows one collection, 'svc mem show' its rows`,
  args: ARGS,
  async run(invocation) {
    const { collection, after, json, "max-bytes": max_bytes = 0 } = invocation.args;
    if (remoteMemory(invocation.args, invocation.env) !== undefined) return listRemote(invocation);
    if (collection !== undefined) {
      if (after !== undefined || max_bytes !== 0) throw new UsageError("--after and --max-bytes are for the list");
      const detail = await withMemory(invocation, async (verbs) => (await verbs.terminal()).detail({ collection }));
      answer(detail, json === true, (one) => renderDetail(one));
      return;
    }
    const call = prepare("list_collections", { after, max_bytes });
    if (json || max_bytes !== 0) return listAnswer(invocation, call);
    const [details, replication] = await withMemory(invocation, async (verbs) => {
      return [await verbs.overview({ after }), await verbs.replication()] as const;
    });
    if (details.length === 0) return note(NO_COLLECTIONS);
    print(tableFor(details, terminalColumns(), Date.now(), replication));
    if (replication !== undefined) print(`\n${nodesIn(replication)}`);
  },
});

/** The list as the tool answers; as JSON without a bound, also what folders say of each collection. */
async function listAnswer(
  invocation: Invocation<typeof ARGS>,
  call: MemoryWork<ListCollectionsPayload>,
): Promise<void> {
  const { after, json, "max-bytes": max_bytes = 0 } = invocation.args;
  const [payload, more] = await withMemory(invocation, async (verbs, context) => {
    const names = await call(verbs, { ...context, manifestsOnly: true });
    if (max_bytes !== 0) return [names, {}] as const;
    return [names, { details: await verbs.overview({ after }), replication: await verbs.replication() }] as const;
  });
  if (json) answer({ ...payload, ...more }, true, () => "", max_bytes);
  else if (payload.collections.length > 0 || payload.unreadable !== undefined) print(namesIn(payload));
  else note(NO_COLLECTIONS);
}

/** The list of a memory elsewhere: the tool's answer. */
async function listRemote(invocation: Invocation<typeof ARGS>): Promise<void> {
  const { collection, after, json, "max-bytes": max_bytes = 0 } = invocation.args;
  if (collection !== undefined) {
    throw new UsageError(
      `one collection is shown from its folder, which a server has: 'svc mem stats ${shellWord(collection)} --remote …'`,
    );
  }
  const call = prepare("list_collections", { after, max_bytes });
  const payload = await withMemory(invocation, call, { needs: "verbs" });
  if (json) answer(payload, true, () => "", max_bytes);
  else if (payload.collections.length === 0) note(NO_COLLECTIONS);
  else if (payload.details === undefined) print(namesIn(payload));
  else {
    const rows = payload.details.map(({ name, rows, last_write = "", description = "" }) =>
      [name, rows === undefined ? "?" : String(rows), last_write, description].map((cell) => oneLine(cell)),
    );
    print(tableOf(["NAME", "ROWS", "LAST WRITE", "DESCRIPTION"], rows));
  }
}

/** Which nodes are connected. An id as short as its first digits is enough to tell nodes apart. */
function nodesIn({ node, nodes }: ReplicationPayload): string {
  if (nodes === undefined) return `this machine is node ${short(node)}; the database does not answer`;
  const named = nodes.map((id) => `${short(id)}${id === node ? " (this machine)" : ""}`);
  return `${counted(nodes.length, "node")} connected: ${named.join(", ")}`;
}

const short = (id: string) => id.slice(0, 8);

function namesIn({ collections, unreadable = {} }: ListCollectionsPayload): string {
  const others = Object.entries(unreadable).map(([name, why]) => `${name}: ${why}`);
  return [...collections.filter((name) => !Object.hasOwn(unreadable, name)), ...others].map(oneLine).join("\n");
}

/** @param columns that no line exceeds; undefined: nothing is cut */
export function tableFor(
  details: readonly CollectionOverview[],
  columns: number | undefined,
  now = Date.now(),
  replication?: ReplicationPayload,
): string {
  const rows = details.map((one) => [
    one.name,
    one.rows === undefined ? "?" : String(one.rows),
    size(one.bytes),
    generationOf(replication?.collections[one.name]),
    indexesOf(one),
    one.last_write === undefined ? "?" : ago(one.last_write, now),
    whyUnreadable(one)?.[1] ?? one.description ?? "",
  ]);
  const header = ["NAME", "ROWS", "SIZE", "GENERATION", "INDEXES", "LAST WRITE", "DESCRIPTION"];
  // A column that would be empty is left out.
  const isShown = header.map((_, at) => at < 3 || at === 5 || rows.some((row) => row[at] !== ""));
  const shown = [header, ...rows].map((row) => row.filter((_, at) => isShown[at]).map((cell) => oneLine(cell)));
  const [titles = [], ...lines] = cut(shown, isShown[6] === true, columns);
  return tableOf(titles, lines);
}

/** "41", or "41 of 43" where the copy is behind; nothing for a collection that is stored here only. */
function generationOf(one: ReplicationPayload["collections"][string] | undefined): string {
  if (one === undefined) return "";
  return one.behind === 0 ? String(one.generation) : `${one.generation} of ${one.generation + one.behind}`;
}

/** Cuts names and descriptions, so that lines fit; the columns between are short. A narrow table has no descriptions. */
function cut(rows: readonly string[][], isDescribed: boolean, columns = Number.POSITIVE_INFINITY): string[][] {
  const fixed = isDescribed ? -1 : undefined;
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => Bun.stringWidth(row[at]!))));
  const between = widths.slice(1, fixed).reduce((sum, width) => sum + width + GAP, 0);
  const described = isDescribed ? columns - between - Math.min(widths[0]!, NAME_LEAST) - GAP : 0;
  if (isDescribed && described < DESCRIPTION_LEAST)
    return cut(
      rows.map((row) => row.slice(0, -1)),
      false,
      columns,
    );
  const room = columns - between - (isDescribed ? GAP + DESCRIPTION_LEAST : 0);
  const name = Math.min(widths[0]!, Math.max(NAME_LEAST, room));
  const last = columns - between - name - GAP;
  return rows.map((row) =>
    row.map((cell, at) =>
      at === 0 ? clipped(cell, name) : isDescribed && at === row.length - 1 ? clipped(cell, last) : cell,
    ),
  );
}
