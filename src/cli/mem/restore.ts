/** `svc mem restore`: the collections of a backup in the memory again. No tool: what is replaced is a person's choice. */
import { withoutType } from "../../errors.ts";
import { withStore } from "../access/with-store.ts";
import { command, EXIT } from "../terminal/command.ts";
import { note, oneLine, print, printJson } from "../terminal/output.ts";
import { ONLY_COLLECTIONS } from "./flags.ts";
import { counted, megabytes } from "./render/text.ts";
import { COMMON } from "./verb.ts";

export default command({
  details:
    "Copies every collection of a backup ('svc mem backup'), or those you name, into the memory directory. It reads\n" +
    "every byte of a copy before the copy gets its name, so each collection is there whole or not at all. It waits\n" +
    "for another process that is writing.\n\n" +
    "If the memory already has one of the collections, nothing is done, unless you give --replace. Then the verified\n" +
    "copy takes its place in one step, and the old collection is gone.\n\n" +
    "A damaged collection of the backup is named and not restored, and the exit code is 1; 'svc mem check --path DIR'\n" +
    "shows the damage. Files that never change are shared with the backup if both are on one file system; --copy\n" +
    "copies every byte.",
  examples: [
    "svc mem restore ~/backups/monday",
    "svc mem restore /mnt/usb/memory notes --replace",
    "svc mem restore ~/backups/monday --path ./memory --json",
  ],
  args: {
    dir: { type: "positional", completes: "folder", description: "folder of the backup" },
    name: ONLY_COLLECTIONS,
    replace: { type: "boolean", description: "replace collections of the same names" },
    copy: { type: "boolean", description: "copy every byte, and share no file with the backup" },
    ...COMMON,
    json: {
      type: "boolean",
      description:
        "print {directory, collections: [{name, generation, rows, bytes, linked_bytes, replaced}], failed: [{name, error}]}",
    },
  },
  async run(invocation) {
    const { args, signal } = invocation;
    const result = await withStore(invocation, (store, progress) =>
      store.restore(args.dir, {
        names: args.name.length > 0 ? args.name : undefined,
        replace: args.replace,
        copy: args.copy,
        signal,
        // What is copied is read a second time.
        onProgress: (done, total, name) =>
          progress.update({ label: `restoring ${name}`, done: done / 2, total: total / 2, unit: "bytes" }),
      }),
    );
    const { collections, failed } = result;
    if (args.json) printJson(result);
    else {
      for (const { name, rows, bytes, replaced } of collections) {
        const how = replaced ? "replaced" : "restored";
        print(`${how} ${oneLine(name)}: ${counted(rows, "row")}, ${megabytes(bytes)}`);
      }
    }
    for (const { name, error } of failed) note(`svc: ${oneLine(name)} is not restored: ${oneLine(withoutType(error))}`);
    return failed.length > 0 ? EXIT.failed : EXIT.done;
  },
});
