/** `svc mcp status`: which MCP clients are here, what their configuration starts, and whether that answers. */

import type { Client, ClientSite, Scope } from "../../clients/client.ts";
import { CLIENTS } from "../../clients/clients.ts";
import { sshTarget } from "../../clients/ssh.ts";
import { command, EXIT } from "../terminal/command.ts";
import { note, oneLine, print, printJson } from "../terminal/output.ts";
import { tableOf } from "../terminal/table.ts";
import { ownExecutableOrNone, shownServer } from "./entry.ts";
import { findingSentences, findingsJson, successorSentences } from "./entry-findings.ts";
import { staleHooks } from "./extras.ts";
import { type ClientState, type HooksStatus, isBroken, statesOf } from "./states.ts";
import { CLIENT_FLAGS, checkName, ENTRY_NAME, linkedFile, namedClients, SCOPE_FLAG, siteOf } from "./targets.ts";

export default command({
  details:
    "Starts each configured command once and asks for its tools; one over ssh without asking for a password. A command\n" +
    "in a project's file is started only if it is this executable. Nothing is changed. The exit code is 1 if an entry\n" +
    "does not work, or a list of the client blocks it. Without --name, all entries that start svc are shown.",
  examples: ["svc mcp status", "svc mcp status --client zed --json"],
  args: { ...CLIENT_FLAGS, scope: { ...SCOPE_FLAG, description: "only the entries of this scope (both)" } },
  async run({ args, env, signal }) {
    const { name } = args;
    const site = siteOf(env);
    checkName(name ?? ENTRY_NAME, site);
    const clients = args.client.length > 0 ? namedClients(args.client) : CLIENTS;
    const scopes = args.scope === undefined ? SCOPES : [args.scope as Scope];
    const states = await statesOf(clients, scopes, name, site, { env, signal });
    if (args.json)
      printJson({ name: name ?? ENTRY_NAME, executable: ownExecutableOrNone() ?? null, clients: states.map(asJson) });
    else show(states, clients, site, name);
    return states.some(isBroken) ? EXIT.failed : EXIT.done;
  },
});

const SCOPES: readonly Scope[] = ["user", "project"];

function show(states: readonly ClientState[], clients: readonly Client[], site: ClientSite, name = ENTRY_NAME): void {
  const shown = states.filter(
    ({ isPresent, scope, entry, hooks, instructions }) =>
      [entry, hooks, instructions].some((one) => one !== undefined && one.state !== "absent") ||
      (isPresent && scope === "user"),
  );
  if (shown.length > 0) {
    const rows = shown.map((state) => [titleOf(state), ...cells(state), ...extraCells(state)]);
    const head = ["CLIENT", "STARTS", "ANSWERS", "HOOKS", "INSTRUCTIONS"];
    const isUsed = head.map((_, i) => i < 3 || rows.some((row) => row[i] !== ""));
    const used = (row: string[]) => row.filter((_, i) => isUsed[i]);
    print(tableOf(used(head), rows.map(used)));
  }
  for (const state of shown) {
    const { client, scope, name, entry, findings, started, login, hooks, instructions } = state;
    const title = titleOf(state);
    if (entry.state === "unreadable") note(`${title}: ${oneLine(entry.problem)}`);
    if (entry.state === "present") {
      const { command, args = [] } = shownServer(entry.server, entry.isOurs);
      const what =
        command === "" ? "has an entry without a command" : `starts ${oneLine([command, ...args].join(" "))}`;
      note(`${title}: ${linkedFile(entry.file, site)} ${what}`);
    }
    if (entry.state === "present" && entry.isOurs)
      for (const line of findingSentences(title, client, entry.file, findings, { scope, name, site })) note(line);
    if (started?.ok && started.note !== undefined) note(`${title}: ${started.note}`);
    if (started?.ok === null) note(`${title}: ${oneLine(started.problem)}`);
    if (started?.ok === false) note(`${title}: it ${oneLine(started.problem)}${lastLine(started.stderr)}`);
    if (login) note(`${title}: ${oneLine(login.sentence)}`);
    if (hooks?.state === "present" && entry.state === "present" && entry.isOurs)
      for (const line of staleHooks(client, { scope, name, site }, entry.server)) note(`${title}: ${line}`);
    for (const one of [hooks, instructions]) if (one?.state === "unreadable") note(`${title}: ${oneLine(one.problem)}`);
    if (typeof hooks?.missing === "string")
      note(`${title}: the hooks start ${oneLine(hooks.missing)}, which is not there; 'svc mcp install' mends them`);
  }
  for (const line of successorSentences([...new Set(shown.map(({ client }) => client))], site)) note(line);
  const absent = clients.filter((client) => !shown.some((state) => state.client === client));
  if (absent.length > 0) note(`not on this machine: ${absent.map(({ title }) => title).join(", ")}`);
  if (shown.some(({ entry }) => entry.state === "absent"))
    note(`'svc mcp install${name === ENTRY_NAME ? "" : ` --name ${oneLine(name)}`}' adds svc to a client`);
}

function titleOf({ client, scope, name }: ClientState): string {
  const title = name === ENTRY_NAME ? client.title : `${client.title} (${name})`;
  return scope === "project" ? `${title}, project` : title;
}

function cells({ entry, isThis, findings, started }: ClientState): string[] {
  if (entry.state === "absent") return ["nothing of svc", ""];
  if (entry.state === "unreadable") return ["cannot be read", ""];
  if (!entry.isOurs) return ["another server", ""];
  const host = sshTarget(entry.server)?.host;
  const here = isThis === undefined ? "a svc" : isThis ? "this svc" : "another svc";
  const which = host === undefined ? here : `svc on ${oneLine(host)}`;
  if (entry.disabled) return [`${which}, disabled`, ""];
  if (findings.blocked !== undefined || started === undefined) return [which, "blocked"];
  if (started.ok === null) return [which, "not started"];
  return [which, started.ok ? `${started.version}, ${started.tools} tools` : "no"];
}

function extraCells({ hooks, instructions }: ClientState): string[] {
  return [
    hooks === undefined ? "" : hooksCell(hooks),
    instructions === undefined ? "" : instructionsCell(instructions),
  ];
}

function hooksCell(hooks: HooksStatus): string {
  if (hooks.state !== "present") return hooks.state === "absent" ? "none" : "cannot be read";
  const which = hooks.isThis === undefined ? "a svc" : hooks.isThis ? "this svc" : "another svc";
  return hooks.isWhole ? which : `${which}, not all`;
}

function instructionsCell(block: NonNullable<ClientState["instructions"]>): string {
  if (block.state !== "present") return block.state === "absent" ? "none" : "cannot be read";
  return block.isCurrent ? "yes" : "of another version";
}

function lastLine(stderr: string): string {
  const line = stderr.split("\n").at(-1) ?? "";
  return line === "" ? "" : ` (${oneLine(line)})`;
}

function asJson({
  client,
  scope,
  name,
  isPresent,
  entry,
  isThis,
  findings,
  started,
  login,
  hooks,
  instructions,
}: ClientState) {
  return {
    client: client.id,
    title: client.title,
    scope,
    name,
    present: isPresent,
    file: entry.file,
    entry: entry.state,
    server: entry.state === "present" ? shownServer(entry.server, entry.isOurs) : null,
    host: (entry.state === "present" && sshTarget(entry.server)?.host) || null,
    ours: entry.state === "present" ? entry.isOurs : null,
    disabled: entry.state === "present" ? entry.disabled : null,
    problem: entry.state === "unreadable" ? entry.problem : null,
    this_executable: isThis ?? null,
    started: started ?? null,
    login: login ? { message: login.sentence, signs_in: login.signsIn } : null,
    ...findingsJson(findings),
    successor: client.successor?.id ?? null,
    hooks:
      hooks === undefined
        ? null
        : {
            file: hooks.file,
            state: hooks.state,
            events: hooks.state === "present" ? Object.keys(hooks.programs) : [],
            this_executable: hooks.isThis ?? null,
            missing: hooks.missing ?? null,
            problem: hooks.state === "unreadable" ? hooks.problem : null,
          },
    instructions:
      instructions === undefined
        ? null
        : {
            file: instructions.file,
            state: instructions.state,
            current: instructions.state === "present" ? instructions.isCurrent : null,
            problem: instructions.state === "unreadable" ? instructions.problem : null,
          },
  };
}
