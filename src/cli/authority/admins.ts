/** The commands of `svc authority admin`. They write to the ledger beside a server that runs, or without one. */
import { addAdministrator, removeAdministrator } from "../../trust/authority/administrators.ts";
import { command, JSON_FLAG } from "../terminal/command.ts";
import { note, print, printJson } from "../terminal/output.ts";
import { DATA, terminalActor, withLedger } from "./data.ts";

export const add = command({
  details:
    "The code is printed once, on stdout. The authority keeps only its hash. To get a new code, remove the\n" +
    "administrator and add them again.",
  examples: ["svc authority admin add ada", "svc authority admin add 'Ada Lovelace' --data /srv/svc"],
  args: {
    name: { type: "positional", description: "name of the administrator, as the audit log shows it", required: true },
    data: DATA,
    json: JSON_FLAG,
  },
  async run({ args, env }) {
    const { name } = args;
    const code = await withLedger(args.data, env, (ledger) => {
      return addAdministrator(ledger, name, terminalActor(), Date.now());
    });
    if (args.json) printJson({ name, code });
    else print(code);
    note("this code is not shown again: give it to the administrator, who signs in with it at /admin");
  },
});

export const list = command({
  examples: ["svc authority admin list", "svc authority admin list --json"],
  args: { data: DATA, json: { type: "boolean", description: "print one JSON object per line" } },
  async run({ args, env }) {
    const found = await withLedger(args.data, env, (ledger) => ledger.admins.list());
    const all = found.map(({ name, createdAt }) => ({ name, added_at: new Date(createdAt).toISOString() }));
    if (args.json) printJson(...all);
    else for (const { name, added_at } of all) print(`${added_at.slice(0, 10)}  ${name}`);
    if (all.length === 0) note("there is no administrator yet: 'svc authority admin add' makes one");
  },
});

export const remove = command({
  details: "Their code no longer signs in or approves logins. Pages that they have open are signed out.",
  examples: ["svc authority admin remove ada"],
  args: {
    name: { type: "positional", description: "name of the administrator", required: true },
    data: DATA,
    json: JSON_FLAG,
  },
  async run({ args, env }) {
    const { name } = args;
    const left = await withLedger(args.data, env, (ledger) => {
      removeAdministrator(ledger, name, terminalActor(), Date.now());
      return ledger.admins.list().length;
    });
    if (args.json) printJson({ name, administrators: left });
    else print(`removed ${name}`);
    if (left === 0) note("there is no administrator left: 'svc authority admin add' makes one");
  },
});
