/** `svc authority devices`: which machines an organisation's authority has let in, and what becomes of one. */

import { checkDeviceName } from "../../checks/device-name.ts";
import type { DeviceEntry } from "../../trust/authority/ledger/devices.ts";
import type { Ledger } from "../../trust/authority/ledger/ledger.ts";
import {
  allowDevice,
  findDevice,
  renameDevice,
  revokeDevice,
} from "../../trust/authority/organisation/device-actions.ts";
import { deviceJson } from "../../trust/authority/organisation/device-json.ts";
import { type Args, asUsage, command, JSON_FLAG, string, UsageError, type Values } from "../terminal/command.ts";
import { minute, note, oneLine, print, printJson } from "../terminal/output.ts";
import { tableOf } from "../terminal/table.ts";
import { DATA, terminalActor, withLedger } from "./data.ts";

const ARGS = {
  action: {
    type: "positional",
    required: false,
    completes: ["list", "rename", "revoke", "allow"],
    description: "list (default), rename, revoke or allow",
  },
  id: { type: "positional", required: false, description: "the device: its id, or a name that only one has" },
  name: { type: "positional", required: false, description: "its new name, of 1 to 64 characters" },
  search: string("TEXT", "only devices with this in their name, id, account, platform, key or tags"),
  revoked: {
    type: "boolean",
    description: "only revoked devices",
    negativeDescription: "only those that are not revoked",
  },
  data: DATA,
  json: JSON_FLAG,
} as const satisfies Args;

export default command({
  details:
    "Lists the devices, the last registered first. rename, revoke and allow take a device by its id, or by a name\n" +
    "that only one device has. Works while the server runs and while it does not. Every change is in the audit log.\n\n" +
    "A revoked device is refused from then on, with any credential. Its licence ends at its next request to the\n" +
    "authority, or else after the licence's days of grace. Its memory is not touched. After allow, 'svc login' works\n" +
    "on it again.",
  examples: [
    "svc authority devices",
    "svc authority devices list --search ci --json",
    'svc authority devices rename 0c7e46ad8b1f4f6f9d0d6c3c0b6a9e11 "laptop of Ada"',
    "svc authority devices revoke 0c7e46ad8b1f4f6f9d0d6c3c0b6a9e11",
    'svc authority devices allow "laptop of Ada"',
  ],
  args: ARGS,
  async run({ args, env }) {
    const { action = "list", json = false } = args;
    const act = ACTIONS[action];
    if (act === undefined) throw new UsageError(`'${action}' is none of list, rename, revoke and allow`);
    const does = asUsage(() => act(args));
    await withLedger(args.data, env, (ledger) => does(ledger, json));
  },
});

type Given = Values<typeof ARGS>;

type Act = (ledger: Ledger, json: boolean) => void;

/** Each checks the command line, and returns what is done with the ledger. */
const ACTIONS: Readonly<Record<string, (given: Given) => Act>> = {
  __proto__: null as never,
  list: (given) => {
    refuse(given.id);
    return (ledger, json) => list(ledger, given, json);
  },
  rename: (given) => {
    if (given.name === undefined) throw new UsageError("rename needs a device and its new name");
    const name = checkDeviceName(given.name);
    const what = `is called ${oneLine(name)} now`;
    return change(given, what, `is called ${oneLine(name)} already`, (ledger, id) =>
      renameDevice(ledger, id, name, actor(), Date.now()),
    );
  },
  revoke: (given) => {
    refuse(given.name);
    const what = "is revoked: it is refused from now on, and loses its licence when it next asks";
    return change(given, what, "was revoked before", (ledger, id) => revokeDevice(ledger, id, actor(), Date.now()));
  },
  allow: (given) => {
    refuse(given.name);
    const what = "is allowed again: 'svc login' on it gets a licence";
    return change(given, what, "is not revoked", (ledger, id) => allowDevice(ledger, id, actor(), Date.now()));
  },
};

const actor = () => ({ by: terminalActor() });

/** Does something with one device, and says what became of it. */
function change(
  { id, search, revoked }: Given,
  done: string,
  before: string,
  does: (ledger: Ledger, id: string) => boolean,
): Act {
  if (id === undefined) throw new UsageError("which device? 'svc authority devices' lists them with their ids");
  if (search !== undefined || revoked !== undefined) throw new UsageError("--search and --revoked are for list");
  return (ledger, json) => {
    const { deviceId } = findDevice(ledger, id);
    const changed = does(ledger, deviceId);
    const device = ledger.devices.get(deviceId);
    if (json && device) return printJson({ ...deviceJson(device), changed });
    print(`device ${deviceId} ${changed ? done : before}`);
  };
}

const PAGE = 1000;

function list(ledger: Ledger, { search = "", revoked }: Given, json: boolean): void {
  const devices: DeviceEntry[] = [];
  for (let page: DeviceEntry[]; ; ) {
    page = ledger.devices.list({ search, after: devices.at(-1)?.deviceId, limit: PAGE, revoked });
    devices.push(...page);
    if (page.length < PAGE) break;
  }
  const count = ledger.devices.count();
  if (json) printJson({ devices: devices.map(deviceJson), count });
  else if (count.all === 0) print("there are no devices: 'svc authority enroll' makes a key that lets one in");
  else if (devices.length > 0) print(tableOf(HEADER, devices.map(row), { whole: [0] }));
  if (!json && count.all > 0) note(`${devices.length} of ${count.all} devices; ${count.revoked} of all are revoked`);
}

const HEADER = ["ID", "NAME", "ACCOUNT", "PLATFORM", "TAGS", "LAST LICENCE", "UNTIL", "STATE"];

function row(device: DeviceEntry): string[] {
  const { deviceId, name, account, platform, tags, licensedAt, licenseEnds, revokedAt, revokedBy } = device;
  const state = revokedAt === null ? "" : `revoked ${minute(revokedAt)} by ${revokedBy ?? "unknown"}`;
  const [last, until] = [licensedAt, licenseEnds].map((time) => (time === null ? "never" : minute(time)));
  return [deviceId, name, account, platform, tags.join(" "), last!, until!, state];
}

function refuse(word: string | undefined): void {
  if (word !== undefined) throw new UsageError(`unexpected argument '${oneLine(word)}'`);
}
