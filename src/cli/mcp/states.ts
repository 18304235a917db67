/** The entries of clients: what each starts, whether that answers, and what is with it. */
import { existsSync } from "node:fs";
import { type Client, type ClientSite, HOOK_EVENTS, type Scope } from "../../clients/client.ts";
import { isPresent } from "../../clients/clients.ts";
import { readHooks } from "../../clients/hooks.ts";
import { readInstructions } from "../../clients/instructions.ts";
import { ownNames, readEntry } from "../../clients/plan.ts";
import { sshTarget } from "../../clients/ssh.ts";
import type { Env } from "../../paths.ts";
import { ownExecutableOrNone, programOf, resolved } from "./entry.ts";
import { type EntryFindings, findingsOn } from "./entry-findings.ts";
import { type MissingLogin, missingLogin } from "./entry-login.ts";
import { otherMachine } from "./served.ts";
import { type Started, Starter } from "./started.ts";
import { ENTRY_NAME } from "./targets.ts";

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
  /** What its tools lack of a login; undefined where nothing, and where it was not started. */
  readonly login?: MissingLogin | undefined;
  /** What svc knows of the entry in addition. */
  readonly findings: EntryFindings;
  /** What the client has of hooks and of instructions; undefined where svc has none for it. */
  readonly hooks: HooksStatus | undefined;
  readonly instructions: ReturnType<typeof readInstructions>;
}

/** Hooks of a client, and what they start. */
export type HooksStatus = NonNullable<ReturnType<typeof readHooks>> & {
  /** Whether every event has one. */
  readonly isWhole?: boolean;
  /** Whether they start this executable; undefined where there are none, or svc runs from its source. */
  readonly isThis?: boolean | undefined;
  /** A program that is not there; null where all are. */
  readonly missing?: string | null;
};

/**
 * Looks at clients, and starts each svc entry of their configuration.
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
    const findings = findingsOn(client, { scope, name, site }, entry);
    const state = { client, scope, name, isPresent: isPresent(client, site), entry, findings, ...extras };
    if (entry.state !== "present" || !entry.isOurs) return state;
    const isHere = executable !== undefined && sshTarget(entry.server) === undefined;
    const isThis = isHere ? programOf(entry.server.command, env) === executable : undefined;
    const started = entry.disabled || findings.blocked ? undefined : await starter.start(entry.server, scope, site);
    // The login of an entry that starts svc on a host is there, and a memory that a server has needs none.
    const looks = started?.ok === true && otherMachine(entry.server) === undefined;
    const login = looks ? await missingLogin(entry.server, env) : undefined;
    return { ...state, isThis, ...(started && { started }), login };
  };
  const isThere = (client: Client, scope: Scope) =>
    client.scopes.includes(scope) && (scope === "user" || site.project !== undefined);
  // In parallel: each silent entry takes ten seconds.
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
export function isBroken({ entry, findings, started, hooks, instructions }: ClientState): boolean {
  const isUnreadable = [entry, hooks, instructions].some((one) => one?.state === "unreadable");
  return isUnreadable || started?.ok === false || findings.blocked !== undefined || typeof hooks?.missing === "string";
}
