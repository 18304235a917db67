/** `svc authority keys`: the LICENSE keys of an organisation's authority, and the next one. */

import { shown } from "../../checks/kinds.ts";
import type { LicenseKeyRecord } from "../../trust/authority/ledger/license-keys.ts";
import { rollOver } from "../../trust/authority/organisation/key-ring.ts";
import { command, JSON_FLAG, UsageError } from "../terminal/command.ts";
import { note, print, printJson } from "../terminal/output.ts";
import { DATA, terminalActor, withLedger } from "./data.ts";

export default command({
  details:
    "'list' shows the keys that sign or have signed licences, the latest first. 'roll-over' makes the next key and\n" +
    "signs it with the present one. A running server signs with the new key at once. Machines accept it at their next\n" +
    "renewal or login. Licences signed by earlier keys stay valid until they end.\n\n" +
    "A roll-over does not help against a stolen key, because a thief can sign another next key with it. In that case\n" +
    "begin a new data folder, and log every machine in with the new folder's key.",
  examples: ["svc authority keys", "svc authority keys roll-over", "svc authority keys list --data /srv/svc --json"],
  args: {
    action: {
      type: "positional",
      required: false,
      completes: ["list", "roll-over"],
      description: "list (default) or roll-over",
    },
    data: DATA,
    "leave-behind": {
      type: "boolean",
      description: "roll over even if machines that trust a very old key cannot follow",
    },
    json: JSON_FLAG,
  },
  async run({ args, env }) {
    const { action = "list" } = args;
    if (action !== "list" && action !== "roll-over")
      throw new UsageError(`${shown(action)} is neither list nor roll-over`);
    if (action === "roll-over") {
      const { previous, key } = await withLedger(args.data, env, async (ledger, data) => {
        const key = await rollOver(ledger, data, {
          actor: terminalActor(),
          now: Date.now(),
          leaveBehind: args["leave-behind"] === true,
        });
        return { key, previous: fingerprint(ledger.licenseKeys.list().at(-2)?.id ?? "") };
      });
      if (args.json) return printJson({ ...entry(key, true), previous });
      print(`${fingerprint(key.id)} signs licences from now on`);
      note(`machines that trust ${previous} take it up by themselves; make a new backup`);
      return;
    }
    const keys = (await withLedger(args.data, env, (ledger) => ledger.licenseKeys.list())).reverse();
    if (args.json) return printJson({ keys: keys.map((key, index) => entry(key, index === 0)) });
    for (const [index, { id, createdAt }] of keys.entries())
      print(`${fingerprint(id)}  ${new Date(createdAt).toISOString()}${index === 0 ? "  signs licences" : ""}`);
    if (keys.length === 0) note("there is no key yet: 'svc authority serve' makes the first one");
  },
});

function entry({ id, createdAt, publicPem }: LicenseKeyRecord, signs: boolean) {
  return { fingerprint: fingerprint(id), created_at: new Date(createdAt).toISOString(), signs, public_key: publicPem };
}

/** As a login shows it, and as `--license-pubkey` takes it. */
function fingerprint(id: string): string {
  return `SHA256:${id}`;
}
