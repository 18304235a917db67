/** `svc authority enroll`: keys that let machines in without a person. */

import { readDuration } from "../../checks/durations.ts";
import { givenEnrollKey } from "../../trust/account/enroll-key.ts";
import { type EnrollKey, enrollKeyState } from "../../trust/authority/ledger/enroll-keys.ts";
import type { Ledger } from "../../trust/authority/ledger/ledger.ts";
import {
  createEnrollKey,
  ENROLL_ACCOUNT,
  revokeEnrollKey,
} from "../../trust/authority/organisation/enroll-key-actions.ts";
import {
  type Args,
  asUsage,
  command,
  JSON_FLAG,
  number,
  string,
  strings,
  UsageError,
  type Values,
} from "../terminal/command.ts";
import { minute, note, oneLine, print, printJson } from "../terminal/output.ts";
import { tableOf } from "../terminal/table.ts";
import { DATA, terminalActor, withLedger } from "./data.ts";

const VALIDITY = "7d";

/** The flags that say what a new key is like. */
const KEY_FLAGS = {
  uses: number("N", "how many machines the key lets in (1)"),
  reusable: { type: "boolean", description: "the key lets in any number of machines" },
  expires: string("TIME", `how long it can be used: 30m, 12h, 7d, 2w, or never (${VALIDITY})`),
  tag: strings("TAG", "what the machines are tagged with"),
  label: string("TEXT", "what the key is for, shown in lists"),
  account: string("NAME", `the account of the machines and of their licences (${ENROLL_ACCOUNT})`),
} as const satisfies Args;

export default command({
  details:
    "Makes a key and prints it once; the authority keeps only its hash. A machine enrols with 'svc login --enroll-key\n" +
    "-', which reads the key from stdin and asks no person. Without flags a key lets one machine in, within 7 days.\n\n" +
    "'svc authority enroll list' lists the keys by id, never their text. 'svc authority enroll revoke ID' ends a key;\n" +
    "machines that it let in stay, and 'svc authority devices revoke' ends those. Works while the server runs and\n" +
    "while it does not. The audit log has every key that is made, used or revoked.",
  examples: [
    'svc authority enroll --label "laptop of Ada"',
    "svc authority enroll --uses 40 --expires 12h --tag ci",
    "svc authority enroll --reusable --expires 30d --tag ci --account build-farm --json",
    "svc authority enroll list",
    "svc authority enroll revoke 3f9c2a7be014",
  ],
  args: {
    action: {
      type: "positional",
      required: false,
      completes: ["list", "revoke"],
      description: "list or revoke; without it, make a key",
    },
    id: { type: "positional", required: false, description: "id of the key to revoke" },
    ...KEY_FLAGS,
    data: DATA,
    json: JSON_FLAG,
  },
  async run({ args, env }) {
    const { action = "create", id } = args;
    const act = asUsage(() => actOf(action, args, id));
    const { json, show } = await withLedger(args.data, env, act);
    if (args.json) printJson(json);
    else show();
  },
});

/** What was done, for programs and for people. */
interface Answer {
  readonly json: unknown;
  show(): void;
}

type Act = (ledger: Ledger) => Answer;

type Flags = Values<typeof KEY_FLAGS>;

/** Checks the command line before the ledger is opened. @throws UsageError, ValueError */
function actOf(action: string, flags: Flags, id: string | undefined): Act {
  if (action !== "revoke" && id !== undefined) throw new UsageError(`unexpected argument '${id}'`);
  if (action === "create") return createWith(flags);
  if (action !== "list" && action !== "revoke") throw new UsageError(`'${action}' is none of list and revoke`);
  refuseFlags(action, flags);
  if (action === "list") return list;
  if (id === undefined) throw new UsageError("which key? 'svc authority enroll list' shows their ids");
  // Who has only the key's text, as of one that was leaked, names it by that: it is not repeated.
  const name = asUsage(() => (id.startsWith("sve_") ? givenEnrollKey(id).id : id));
  return (ledger) => revoke(ledger, name);
}

function createWith({ uses, reusable = false, expires = VALIDITY, tag, label, account }: Flags): Act {
  if (reusable && uses !== undefined) throw new UsageError("--uses and --reusable exclude each other");
  const validMs = expires === "never" ? null : readDuration(expires, "--expires");
  return (ledger) => {
    const now = Date.now();
    const wish = {
      usesMax: reusable ? null : (uses ?? 1),
      expiresAt: validMs === null ? null : now + validMs,
      tags: tag,
      ...(label !== undefined && { label }),
      ...(account !== undefined && { account }),
    };
    const { text, key } = asUsage(() => createEnrollKey(ledger, wish, { by: terminalActor() }, now));
    const show = () => {
      print(text);
      const end = key.expiresAt === null ? "without an end" : `until ${minute(key.expiresAt)} UTC`;
      note(`key ${key.id}: for ${machines(key.usesMax)}, ${end}`);
      note("it is not shown again; a machine enrols with 'svc login --enroll-key -', which reads it from stdin");
    };
    return { json: { key: text, ...asJson(key, now) }, show };
  };
}

function machines(usesMax: number | null): string {
  if (usesMax === null) return "the key lets in any number of machines";
  return usesMax === 1 ? "one machine" : `${usesMax} machines`;
}

function list(ledger: Ledger): Answer {
  const now = Date.now();
  const keys = ledger.enrollKeys.list();
  const show = () => {
    const rows = keys.map((key) => [
      key.id,
      stateOf(key, now),
      `${key.uses}${key.usesMax === null ? "" : ` of ${key.usesMax}`}`,
      key.expiresAt === null ? "never" : `${minute(key.expiresAt)} UTC`,
      key.usedAt === null ? "" : `${minute(key.usedAt)} UTC`,
      key.account,
      key.tags.join(" "),
      key.label,
    ]);
    const names = ["ID", "STATE", "USES", "EXPIRES", "LAST USED", "ACCOUNT", "TAGS", "LABEL"];
    print(
      keys.length > 0 ? tableOf(names, rows, { whole: [0] }) : "there are no keys: 'svc authority enroll' makes one",
    );
  };
  return { json: { keys: keys.map((key) => asJson(key, now)) }, show };
}

function revoke(ledger: Ledger, id: string): Answer {
  const revoked = revokeEnrollKey(ledger, id, { by: terminalActor() }, Date.now());
  const said = revoked ? "is revoked: it lets no further machine in" : "was revoked before";
  return { json: { id, revoked }, show: () => print(`key ${oneLine(id)} ${said}`) };
}

function refuseFlags(action: string, flags: Flags): void {
  for (const name of Object.keys(KEY_FLAGS) as (keyof Flags)[]) {
    const value = flags[name];
    const isGiven = Array.isArray(value) ? value.length > 0 : value !== undefined;
    if (isGiven) throw new UsageError(`--${name} is for a new key, not for ${action}`);
  }
}

function asJson(key: EnrollKey, now: number) {
  const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return {
    id: key.id,
    state: stateOf(key, now),
    label: key.label,
    tags: key.tags,
    account: key.account,
    uses: key.uses,
    uses_max: key.usesMax,
    expires_at: time(key.expiresAt),
    created_at: time(key.createdAt),
    created_by: key.createdBy,
    used_at: time(key.usedAt),
    revoked_at: time(key.revokedAt),
    revoked_by: key.revokedBy,
  };
}

function stateOf(key: EnrollKey, now: number): string {
  const state = enrollKeyState(key, now);
  return state === "ok" ? "open" : state;
}
