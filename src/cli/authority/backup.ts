/** `svc authority backup`: the one file that an organisation's authority needs to go on elsewhere. */
import { statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { LEDGER_VERSION } from "../../trust/authority/ledger/schema.ts";
import { command, JSON_FLAG } from "../terminal/command.ts";
import { note, print, printJson } from "../terminal/output.ts";
import { DATA, terminalActor, withLedger } from "./data.ts";

export default command({
  details:
    "Copies the present state of the authority into a new file. Works while the server runs. The file holds the keys\n" +
    "that sign licences: keep it as private as those keys. To restore it, put it as ledger.sqlite with mode 600 into\n" +
    "an empty folder, and serve that folder with --data.",
  examples: ["svc authority backup /backup/svc-2027-01-31.sqlite", "svc authority backup --data /srv/svc svc.sqlite"],
  args: {
    file: { type: "positional", description: "file to write, which must not exist yet", required: true },
    data: DATA,
    json: JSON_FLAG,
  },
  async run({ args, env }) {
    const path = resolve(args.file);
    const devices = await withLedger(args.data, env, (ledger) => {
      const copied = ledger.backup(path);
      ledger.audit.add({
        at: Date.now(),
        event: "backup_made",
        actor: terminalActor(),
        detail: { file: basename(path), bytes: statSync(path).size },
      });
      return copied;
    });
    const { size } = statSync(path);
    if (args.json) printJson({ file: path, bytes: size, devices, version: LEDGER_VERSION });
    else print(`wrote ${args.file}: ${devices === 1 ? "1 device" : `${devices} devices`}, ${size} bytes`);
    note("it holds the keys that sign licences: keep it private");
  },
});
