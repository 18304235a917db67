/** `svc mem backup`: collections copied into another folder while others write. No tool: where copies go is a person's choice. */

import { resolve } from "node:path";
import { withoutType } from "../../errors.ts";
import { withStore } from "../access/with-store.ts";
import { command, EXIT } from "../terminal/command.ts";
import { link, note, oneLine, print, printJson } from "../terminal/output.ts";
import { fit } from "../terminal/width.ts";
import { ONLY_COLLECTIONS } from "./flags.ts";
import { counted, megabytes } from "./render/text.ts";
import { COMMON } from "./verb.ts";

export default command({
  details:
    "Copies the last saved state of every collection, or of those you name, and reads every byte of the copies before\n" +
    "they get their names. Other processes can read and write meanwhile; changes that they have not saved are not in\n" +
    "the backup. To use a backup, give it as --path, or use 'svc mem restore'.\n\n" +
    "DIR may be absent, empty, or hold collections of other names. A DIR that this command makes is complete or\n" +
    "absent; in an existing DIR, each collection is complete or absent. After a crash, a folder named .svc-backup-…\n" +
    "may remain next to DIR: remove it.\n\n" +
    "Files that never change are shared with the original if both are on one file system; that takes no room. To be\n" +
    "safe from the loss of a disk, take a DIR on another disk. To be safe from damaged sectors of the same disk, give\n" +
    "--copy.\n\n" +
    "A damaged collection is left out and named, and the exit code is 1. A collection that another process is saving\n" +
    "for the first time is left out and named too, with exit code 0; if you named it, the backup waits for that save.",
  examples: [
    "svc mem backup ~/backups/monday",
    "svc mem backup /mnt/usb/memory notes docs",
    "svc mem backup ~/backups/tuesday --copy --json",
  ],
  args: {
    dir: { type: "positional", completes: "folder", description: "folder to copy into" },
    name: ONLY_COLLECTIONS,
    copy: { type: "boolean", description: "copy every byte, and share no file with the original" },
    ...COMMON,
    json: {
      type: "boolean",
      description:
        "print {directory, collections: [{name, generation, rows, bytes, linked_bytes}], failed: [{name, error}], left_out: [{name, reason}]}",
    },
  },
  async run(invocation) {
    const { args, signal } = invocation;
    const result = await withStore(invocation, (store, progress) =>
      store.backup(args.dir, {
        names: args.name.length > 0 ? args.name : undefined,
        copy: args.copy,
        signal,
        onProgress: (done, total, name) =>
          // Each byte counts twice: it is copied, and then the copy is read.
          progress.update({ label: `copying ${name}`, done: done / 2, total: total / 2, unit: "bytes" }),
      }),
    );
    const { collections, failed, left_out } = result;
    if (args.json) printJson(result);
    else print(render(collections, failed.length + left_out.length > 0, args.dir));
    for (const { name, reason } of left_out) note(`svc: ${oneLine(name)} is not in the backup: ${oneLine(reason)}`);
    for (const { name, error } of failed)
      note(`svc: ${oneLine(name)} is not in the backup: ${oneLine(withoutType(error))}`);
    return failed.length > 0 ? EXIT.failed : EXIT.done;
  },
});

function render(
  collections: readonly { rows: number; bytes: number; linked_bytes: number }[],
  isPartial: boolean,
  dir: string,
): string {
  if (collections.length === 0) return isPartial ? "nothing was copied" : "there is no collection: nothing was copied";
  const sum = (of: (one: (typeof collections)[number]) => number) =>
    collections.reduce((total, one) => total + of(one), 0);
  const bytes = sum((one) => one.bytes);
  const linked = sum((one) => one.linked_bytes);
  const sizes = linked > 0 ? `${megabytes(bytes)}, of which ${megabytes(linked)} shared` : megabytes(bytes);
  return fit(
    `backed up ${counted(collections.length, "collection")} with ${counted(
      sum((one) => one.rows),
      "row",
    )} (${sizes}) to ${link(resolve(dir), oneLine(dir))}`,
  );
}
