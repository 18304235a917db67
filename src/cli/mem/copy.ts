/** `svc mem copy`: collections of this machine into a database that has the logs of a memory, and back. */

import { engineAddress } from "../access/engine.ts";
import { withStore } from "../access/with-store.ts";
import { command, string, UsageError } from "../terminal/command.ts";
import { oneLine, print, printJson } from "../terminal/output.ts";
import { counted, megabytes } from "./render/text.ts";
import { COMMON } from "./verb.ts";

const { "engine-file": _, ...LOCAL } = COMMON;

export default command({
  details:
    "Copies collections of this machine into a PostgreSQL database that has the memory's log, or back. The target\n" +
    "must not have another collection of that name. With --to, other processes cannot change it until the copy is complete. A\n" +
    "copy that was interrupted goes on with the same command: collections and files that are there are not sent again.\n\n" +
    "FILE has the address of the database, as with --engine-file. docs/beyond.md has all steps.",
  examples: ["svc mem copy notes docs --to ~/.svc/engine", "svc mem copy notes --from ~/.svc/engine --path ./memory"],
  args: {
    name: {
      type: "positional",
      repeatable: true,
      completes: "collection",
      description: "collections to copy",
    },
    to: string("FILE", "copy into the database whose address FILE has"),
    from: string("FILE", "copy from the database whose address FILE has"),
    ...LOCAL,
    json: { type: "boolean", description: "print {copied: [{name, generation, bytes}]}" },
  },
  async run(invocation) {
    const { args, env, signal } = invocation;
    const { to, from } = args;
    if ((to === undefined) === (from === undefined)) throw new UsageError("give --to or --from, and not both");
    const address = (await engineAddress(to ?? from, env, to === undefined ? "from" : "to"))!;
    const { copyFrom, copyTo, withDatabase } = await import("../../replication/node/move.ts");
    // The memory of this machine, whatever database the environment names.
    const here = { ...invocation, env: { ...env, SVC_ENGINE_URL: undefined } };
    const copied = await withStore(here, (store, progress) =>
      withDatabase(address, async (engine) => {
        const { env, dir } = store.shared;
        const onProgress = (name: string, done: number, total: number) =>
          progress.update({ label: `copying ${name}`, done, total, unit: "bytes" });
        const site = { env, dir, signal, onProgress };
        const all = [];
        for (const name of args.name) all.push(await (to === undefined ? copyFrom : copyTo)(engine, site, name));
        return all;
      }),
    );
    if (args.json) return printJson({ copied });
    const bytes = copied.reduce((sum, one) => sum + one.bytes, 0);
    const names = copied.map(({ name }) => oneLine(name)).join(", ");
    print(`copied ${counted(copied.length, "collection")} (${megabytes(bytes)}): ${names}`);
  },
});
