/**
 * `svc mem check`: every byte of the files, and what is damaged of them. No tool: it is about the disk, not the memory.
 */
import type { CheckedCollection, CheckedDamage } from "../../api/check.ts";
import type { RepairedCollection } from "../../api/repair.ts";
import { errorLine, SvcError, withoutType } from "../../errors.ts";
import { whyUnreadable } from "../../store/overview.ts";
import { withStore } from "../access/with-store.ts";
import { command, EXIT, string, UsageError } from "../terminal/command.ts";
import { oneLine, print, printJson } from "../terminal/output.ts";
import { counted, megabytes } from "./render/text.ts";
import { COMMON } from "./verb.ts";

export default command({
  details:
    "Reads every byte of every collection, or of NAME, and compares it with its checksum. For each damage it names\n" +
    "file, offset and rows, what the damage means and what a repair would do. It also checks a collection that cannot\n" +
    "be opened. Other processes can write meanwhile.\n\n" +
    "--repair builds indexes, tables and codes again in place. If rows themselves are damaged, it saves all readable\n" +
    "rows in a new collection, NAME-repaired, with ids, metadata and times, and leaves the damaged collection as it\n" +
    "is. It restores a single changed bit, embeds a text again whose vector is damaged, and lists what is lost by id.\n" +
    "If the memory's log is in a database, it fetches a damaged collection from there again instead.\n\n" +
    "If an interrupted first save left a collection, it has no rows, and the check names the command that removes it.\n" +
    "A collection of an older or newer format is named with its version and not read.\n\n" +
    "Exit code 0: everything is sound or was repaired; 1: something is damaged or could not be checked.",
  examples: ["svc mem check", "svc mem check notes --json", "svc mem check notes --repair"],
  args: {
    name: { type: "positional", required: false, completes: "collection", description: "only this collection" },
    repair: { type: "boolean", description: "rebuild what is derived, and save the rows that can be read" },
    to: string("NAME", "with --repair and a name: the collection for the rows that can be read (NAME-repaired)"),
    ...COMMON,
    json: {
      type: "boolean",
      description:
        "print {sound, collections: [{name, sound, generation, bytes, found, damages: [{part, file, section, offset, bytes, rows, ids, what, meaning, repair}], leftovers: [{file, bytes}], leftover, older, newer, error, repaired: {action, to, rows, lost: [{id, parts}], lost_rows, restored_bits, lost_blocks: [{file, offset, bytes}], note}}]}",
    },
  },
  async run(invocation) {
    const { args, signal } = invocation;
    if (args.to !== undefined && (!args.repair || args.name === undefined)) {
      throw new UsageError("--to goes with --repair and the name of one collection");
    }
    const results = await withStore(invocation, async (store, progress) => {
      const collections = await store.check({
        names: args.name === undefined ? undefined : [args.name],
        signal,
        onProgress: (done, total, name) => progress.update({ label: `reading ${name}`, done, total, unit: "bytes" }),
      });
      const checked: (CheckedCollection & { repaired?: RepairedCollection })[] = [];
      for (const one of collections) {
        if (!args.repair || one.sound || isUnchecked(one)) checked.push(one);
        else {
          const onProgress = (done: number, total: number) =>
            progress.update({ label: `repairing ${one.name}`, done, total });
          try {
            checked.push({ ...one, repaired: await store.repair(one.name, { to: args.to, signal, onProgress }) });
          } catch (error) {
            // What the others need is said all the same.
            if (args.name !== undefined || signal.aborted || !(error instanceof SvcError)) throw error;
            checked.push({ ...one, error: errorLine(error) });
          }
        }
      }
      return checked;
    });
    const sound = results.every((one) => one.sound || REPAIRED.includes(one.repaired?.action));
    if (args.json) printJson({ sound, collections: results });
    else print(results.length === 0 ? "there is no collection" : results.map(render).join("\n"));
    return sound ? EXIT.done : EXIT.failed;
  },
});

/** After these nothing is damaged. */
const REPAIRED: (string | undefined)[] = ["rebuilt", "fetched"];

function render(one: CheckedCollection & { repaired?: RepairedCollection }): string {
  const { name, damages, error, repaired } = one;
  const more = one.found - damages.length;
  const [word, why] = whyUnreadable(one) ?? [];
  // The files of a leftover are the leftover.
  const leftovers = one.leftover === undefined ? one.leftovers : [];
  return [
    `${oneLine(name)}: ${word ?? `${stateOf(one)} (${megabytes(one.bytes)} read)`}`,
    ...(why === undefined ? [] : [`  ${oneLine(why)}`]),
    ...damages.map(renderDamage),
    ...(more > 0 ? [`  and ${more} more`] : []),
    ...(error === undefined ? [] : [`  ${oneLine(withoutType(error))}`]),
    ...leftovers.map(
      (one) => `  left over: ${oneLine(one.file)} (${megabytes(one.bytes)}); the next compaction removes it`,
    ),
    ...(repaired ? renderRepaired(repaired) : []),
  ].join("\n");
}

function stateOf(one: CheckedCollection): string {
  if (one.sound) return "sound";
  if (isUnchecked(one)) return "not checked";
  return one.error === undefined || one.found > 0 ? counted(one.found, "damaged place") : "damaged";
}

/**
 * Whether nothing is known of its files, as of a name that no collection may have, or while another process holds it.
 */
function isUnchecked({ found, error }: CheckedCollection): boolean {
  return found === 0 && error !== undefined && !error.startsWith("OSError");
}

/** Lost parts that a person is shown. */
const LOST_SHOWN = 20;

function renderRepaired({
  action,
  to,
  rows,
  lost,
  lost_rows,
  restored_bits,
  lost_blocks,
  note: said,
}: RepairedCollection) {
  const blocks = lost_blocks.map(
    ({ file, offset, bytes }) => `  lost: what ${oneLine(file)} has from offset ${offset} on, ${bytes} bytes`,
  );
  const parts = lost
    .slice(0, LOST_SHOWN)
    .map((one) => `  lost: ${one.parts.join(", ")} of ${one.id === null ? "a row without an id" : oneLine(one.id)}`);
  const more = lost_rows - parts.length;
  return [
    ...(action === "salvaged" ? [`  saved ${counted(rows ?? 0, "row")} in ${oneLine(to ?? "")}`] : []),
    ...(restored_bits > 0 ? [`  restored ${counted(restored_bits, "changed bit")}`] : []),
    ...blocks,
    ...parts,
    ...(more > 0 ? [`  and of ${counted(more, "more row")}`] : []),
    `  ${action}: ${oneLine(said)}`,
  ];
}

function renderDamage({ file, offset, bytes, rows, ids, what, meaning, repair }: CheckedDamage): string {
  const place = bytes > 0 ? `, offset ${offset}, ${bytes} bytes` : "";
  const shown = ids.map(oneLine).join(", ");
  const whose = rows === 0 ? "" : ` (${counted(rows, "row")}${shown && `: ${shown}${rows > ids.length ? ", …" : ""}`})`;
  return `  ${oneLine(file)}${place}: ${oneLine(what)}${whose}\n    ${meaning}\n    repair: ${repair}`;
}
