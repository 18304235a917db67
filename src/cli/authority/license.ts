/** `svc authority license`: a licence for a server, which is given it. */
import { issueByHand, type Licensee } from "../../trust/authority/organisation/given-license.ts";
import { command, JSON_FLAG, number, string, UsageError } from "../terminal/command.ts";
import { note, oneLine, print, printJson } from "../terminal/output.ts";
import { DATA, terminalActor, withLedger } from "./data.ts";
import { daysOf, TERMS_FLAGS, termsOf } from "./license-flags.ts";

/** A person has to bring the next one. */
const DAYS = 365;

export default command({
  details:
    "Prints a licence for a device that has enrolled, or for a device key, which 'svc runtime status' shows on that\n" +
    "device. Give it as SVC_LICENSE to 'svc serve --require-license'. It is not renewed by itself, unlike the licence\n" +
    "of a login. Works while the server runs and while it does not. The audit log records it.",
  examples: [
    "svc authority license --device build-server > license.jwt",
    "svc authority license --device build-server --feature serve --feature memory --days 90",
    "svc authority license --thumbprint ed25519:… --account ci --tier team --json",
  ],
  args: {
    device: string("ID|NAME", "the device, as 'svc authority devices' lists it"),
    thumbprint: string("ed25519:…", "or the key of a device, which need not have enrolled"),
    account: string("NAME", "account in the licence (the device's, else local)"),
    days: number("N", `days until it ends (${DAYS})`),
    ...TERMS_FLAGS,
    data: DATA,
    json: JSON_FLAG,
  },
  async run({ args, env }) {
    const to = licenseeOf(args.device, args.thumbprint);
    const terms = { ...termsOf(args), licenseDays: daysOf("days", args.days) ?? DAYS, account: args.account };
    const issued = await withLedger(args.data, env, (ledger) =>
      issueByHand(ledger, to, terms, { by: terminalActor(), now: Date.now() }),
    );
    const { id, jwt, device, deviceThumbprint, account, tier, features } = issued;
    const expires = new Date(issued.expiresAt * 1000).toISOString();
    const bound = { device_id: device?.deviceId ?? null, thumbprint: deviceThumbprint };
    if (args.json) return printJson({ license: jwt, id, ...bound, account, tier, features, expires_at: expires });
    print(jwt);
    const whom = oneLine(device ? device.name || device.deviceId : deviceThumbprint);
    note(`for ${whom}, of tier ${tier}, until ${expires.slice(0, 10)}`);
  },
});

function licenseeOf(device: string | undefined, thumbprint: string | undefined): Licensee {
  if (device !== undefined && thumbprint === undefined) return { device };
  if (device === undefined && thumbprint !== undefined) return { thumbprint };
  throw new UsageError("give one of --device ID|NAME and --thumbprint ed25519:…");
}
