/** `svc mcp status`: which MCP clients are here, what their configuration starts, and whether that answers. */

import { existsSync } from "node:fs";
import { type Client, type ClientSite, HOOK_EVENTS, type Scope } from "../../clients/client.ts";
import { CLIENTS, isPresent } from "../../clients/clients.ts";
import { readHooks } from "../../clients/hooks.ts";
import { readInstructions } from "../../clients/instructions.ts";
import { ownNames, readEntry } from "../../clients/plan.ts";
import { remoteOf } from "../../clients/ssh.ts";
import type { Env } from "../../paths.ts";
import { command, EXIT } from "../terminal/command.ts";
import { note, oneLine, print, printJson } from "../terminal/output.ts";
import { tableOf } from "../terminal/table.ts";
import { ownExecutableOrNone, programOf, resolved, shownServer } from "./entry.ts";
import { type Remarks, remarkSentences, remarksJson, remarksOn, successorSentences } from "./remarks.ts";
import { type Started, Starter } from "./started.ts";
import { CLIENT_FLAGS, checkName, ENTRY_NAME, linkedFile, namedClients, SCOPE_FLAG, siteOf } from "./targets.ts";

export default command({
  details:
    "Starts each configured command once and asks for its tools; one over ssh without asking for a password. A command\n" +
    "in a project's file is started only if it\n" +
    "is this executable. Nothing is changed. The exit code is 1 if an entry does not work, or a list of the client\n" +
    "blocks it. Without --name, all entries that start svc are shown.",
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

/** The entry of one client in one scope. */
export interface ClientState {
  readonly client: Client;
  readonly scope: Scope;
  /** What the entry is called. */
  readonly name: string;
  /** Whether the client seems to be on this machine. */
  readonly isPresent: boolean;
  readonly entry: ReturnType<typeof readEntry>;
  /** Whether its command is this executable; undefined where there is none, or svc runs from its source. */
  readonly isThis?: boolean | undefined;
  /** What starting it came to; undefined where there is nothing of svc to start. */
  readonly started?: Started;
  /** What is to be known of the entry in addition. */
  readonly remarks: Remarks;
  /** What the client has of hooks and of instructions; undefined where svc has none for it. */
  readonly hooks: HooksStatus | undefined;
  readonly instructions: ReturnType<typeof readInstructions>;
}

/** Hooks of a client, and what they start. */
type HooksStatus = NonNullable<ReturnType<typeof readHooks>> & {
  /** Whether every event has one. */
  readonly isWhole?: boolean;
  /** Whether they start this executable; undefined where there are none, or svc runs from its source. */
  readonly isThis?: boolean | undefined;
  /** A program that is not there; null where all are. */
  readonly missing?: string | null;
};

/**
 * Looks at clients, and starts what of svc their configuration starts.
 * @param name of the entry; without one, all that start svc, and the one of the default name
 * @throws never; a bad file is a state
 */
export async function statesOf(
  clients: readonly Client[],
  scopes: readonly Scope[],
  name: string | undefined,
  site: ClientSite,
  { env, signal, isOnline }: { env: Env; signal: AbortSignal; isOnline?: boolean },
): Promise<ClientState[]> {
  const executable = ownExecutableOrNone();
  const starter = new Starter(executable, env, signal, isOnline);
  const look = async (client: Client, scope: Scope, name: string): Promise<ClientState> => {
    const entry = readEntry(client, scope, name, site);
    const extras = {
      hooks: hooksStatus(client, scope, site, executable),
      instructions: readInstructions(client, scope, site),
    };
    const remarks = remarksOn(client, { scope, name, site }, entry);
    const state = { client, scope, name, isPresent: isPresent(client, site), entry, remarks, ...extras };
    if (entry.state !== "present" || !entry.isOurs) return state;
    const isHere = executable !== undefined && remoteOf(entry.server) === undefined;
    const isThis = isHere ? programOf(entry.server.command, env) === executable : undefined;
    const started = entry.disabled || remarks.blocked ? undefined : await starter.start(entry.server, scope, site);
    return { ...state, isThis, ...(started && { started }) };
  };
  const isThere = (client: Client, scope: Scope) =>
    client.scopes.includes(scope) && (scope === "user" || site.project !== undefined);
  // At once: of those that do not answer each takes ten seconds.
  return Promise.all(
    clients.flatMap((client) =>
      scopes
        .filter((scope) => isThere(client, scope))
        .flatMap((scope) => namesOf(client, scope, name, site).map((one) => look(client, scope, one))),
    ),
  );
}

function hooksStatus(
  client: Client,
  scope: Scope,
  site: ClientSite,
  executable: string | undefined,
): HooksStatus | undefined {
  const hooks = readHooks(client, scope, site);
  if (hooks?.state !== "present") return hooks;
  const programs = Object.values(hooks.programs);
  const isThis = executable === undefined ? undefined : programs.every((one) => resolved(one) === executable);
  const missing = programs.find((one) => !existsSync(one)) ?? null;
  return { ...hooks, isWhole: programs.length === HOOK_EVENTS.length, isThis, missing };
}

function namesOf(client: Client, scope: Scope, name: string | undefined, site: ClientSite): string[] {
  if (name !== undefined) return [name];
  const others = ownNames(client, scope, site).filter((one) => one !== ENTRY_NAME);
  const hasOwn = others.length === 0 || readEntry(client, scope, ENTRY_NAME, site).state !== "absent";
  return hasOwn ? [ENTRY_NAME, ...others] : others;
}

/** Whether a client would not get what its configuration says. */
export function isBroken({ entry, remarks, started, hooks, instructions }: ClientState): boolean {
  const isUnreadable = [entry, hooks, instructions].some((one) => one?.state === "unreadable");
  return isUnreadable || started?.ok === false || remarks.blocked !== undefined || typeof hooks?.missing === "string";
}

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
    const { client, scope, name, entry, remarks, started, hooks, instructions } = state;
    const title = titleOf(state);
    if (entry.state === "unreadable") note(`${title}: ${oneLine(entry.problem)}`);
    if (entry.state === "present") {
      const { command, args = [] } = shownServer(entry.server, entry.isOurs);
      const what =
        command === "" ? "has an entry without a command" : `starts ${oneLine([command, ...args].join(" "))}`;
      note(`${title}: ${linkedFile(entry.file, site)} ${what}`);
    }
    if (entry.state === "present" && entry.isOurs)
      for (const line of remarkSentences(title, client, entry.file, remarks, { scope, name, site })) note(line);
    if (started?.ok && started.note !== undefined) note(`${title}: ${started.note}`);
    if (started?.ok === null) note(`${title}: ${oneLine(started.problem)}`);
    if (started?.ok === false) note(`${title}: it ${oneLine(started.problem)}${lastLine(started.stderr)}`);
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

function cells({ entry, isThis, remarks, started }: ClientState): string[] {
  if (entry.state === "absent") return ["nothing of svc", ""];
  if (entry.state === "unreadable") return ["cannot be read", ""];
  if (!entry.isOurs) return ["another server", ""];
  const host = remoteOf(entry.server)?.host;
  const here = isThis === undefined ? "a svc" : isThis ? "this svc" : "another svc";
  const which = host === undefined ? here : `svc on ${oneLine(host)}`;
  if (entry.disabled) return [`${which}, disabled`, ""];
  if (remarks.blocked !== undefined || started === undefined) return [which, "blocked"];
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

function asJson({ client, scope, name, isPresent, entry, isThis, remarks, started, hooks, instructions }: ClientState) {
  return {
    client: client.id,
    title: client.title,
    scope,
    name,
    present: isPresent,
    file: entry.file,
    entry: entry.state,
    server: entry.state === "present" ? shownServer(entry.server, entry.isOurs) : null,
    host: (entry.state === "present" && remoteOf(entry.server)?.host) || null,
    ours: entry.state === "present" ? entry.isOurs : null,
    disabled: entry.state === "present" ? entry.disabled : null,
    problem: entry.state === "unreadable" ? entry.problem : null,
    this_executable: isThis ?? null,
    started: started ?? null,
    ...remarksJson(remarks),
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
