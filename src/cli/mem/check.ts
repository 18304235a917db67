/** `svc mem check`: every byte of the files, and what is damaged of them. No tool: it is about the disk, not the memory. */
import type { CheckedCollection, CheckedDamage } from "../../engine/check.ts";
import { CancelledError } from "../../errors.ts";
import { command, EXIT } from "../command.ts";
import { note, oneLine, print, printJson } from "../output.ts";
import { startProgress } from "../progress.ts";
import { counted, megabytes } from "./render.ts";
import { COMMON } from "./verb.ts";

export default command({
  details:
    "Reads every byte of every collection, or of the one that is named, compares it with its checksum, and names what is damaged:\n" +
    "file, offset, the rows concerned, what that means and what a repair would do. A collection that cannot be opened is checked\n" +
    "as well. Others may write meanwhile. Exit code 0: all is sound; 1: something is damaged.",
  examples: ["svc mem check", "svc mem check notes --json"],
  args: {
    name: { type: "positional", required: false, description: "only this collection" },
    ...COMMON,
    json: {
      type: "boolean",
      description:
        "print {sound, collections: [{name, sound, generation, bytes, found, damages: [{part, file, section, offset, bytes, rows, ids, what, meaning, repair}], leftovers: [{file, bytes}], error}]}",
    },
  },
  async run({ args, env, signal }) {
    const { openStore } = await import("../gate.ts");
    const store = await openStore({ env, path: args.path, warn: note });
    const progress = startProgress("check");
    try {
      if (signal.aborted) throw new CancelledError("interrupted");
      const collections = await store.check({
        names: args.name === undefined ? undefined : [args.name],
        signal,
        onProgress: (done, total, name) =>
          progress.draw(() => `reading ${oneLine(name)}: ${Math.floor((100 * done) / Math.max(total, 1))} %`),
      });
      progress.end();
      const sound = collections.every((one) => one.sound);
      if (args.json) printJson({ sound, collections });
      else print(collections.length === 0 ? "there is no collection" : collections.map(render).join("\n"));
      return sound ? EXIT.done : EXIT.failed;
    } finally {
      progress.end();
      await store.close();
    }
  },
});

function render({ name, sound, bytes, found, damages, leftovers, error }: CheckedCollection): string {
  const more = found - damages.length;
  return [
    `${oneLine(name)}: ${sound ? "sound" : error === undefined || found > 0 ? counted(found, "damaged place") : "damaged"} (${megabytes(bytes)} read)`,
    ...damages.map(renderDamage),
    ...(more > 0 ? [`  and ${more} more`] : []),
    ...(error === undefined ? [] : [`  ${oneLine(error)}`]),
    ...leftovers.map(
      (one) => `  left over: ${oneLine(one.file)} (${megabytes(one.bytes)}); the next compaction removes it`,
    ),
  ].join("\n");
}

function renderDamage({ file, offset, bytes, rows, ids, what, meaning, repair }: CheckedDamage): string {
  const place = bytes > 0 ? `, offset ${offset}, ${bytes} bytes` : "";
  const shown = ids.map(oneLine).join(", ");
  const whose = rows === 0 ? "" : ` (${counted(rows, "row")}${shown && `: ${shown}${rows > ids.length ? ", …" : ""}`})`;
  return `  ${oneLine(file)}${place}: ${oneLine(what)}${whose}\n    ${meaning}\n    repair: ${repair}`;
}
