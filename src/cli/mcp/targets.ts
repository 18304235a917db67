/** Which clients a command is about, and where their files are. */
import { relative, sep } from "node:path";
import { applyChange } from "../../clients/apply.ts";
import type { Change, Client, ClientSite, Scope } from "../../clients/client.ts";
import { CLIENTS, findClient, isPresent } from "../../clients/clients.ts";
import { readEntry } from "../../clients/plan.ts";
import { errorLine, SvcError, ValueError } from "../../errors.ts";
import type { Env } from "../../paths.ts";
import { workTreeOf } from "../../repo/worktree.ts";
import { type Arg, asUsage, string, strings, UsageError } from "../command.ts";
import { nextLine } from "../enter.ts";
import { isTerminal, link, note, oneLine, redraw } from "../output.ts";
import { homeFolder, resolved } from "./entry.ts";

/** The flags that `svc mcp install`, `uninstall` and `status` have in common. */
export const CLIENT_FLAGS = {
  client: {
    ...strings("CLIENT", "only this client (all that are on this machine)"),
    completes: CLIENTS.map(({ id }) => id),
  },
  name: string("NAME", "what the entry is called (svc)"),
  json: { type: "boolean", description: "print one JSON object" },
} as const;

/** Whose configuration: the flag of the commands that change it. */
export const SCOPE_FLAG = {
  type: "enum",
  options: ["user", "project"],
  description:
    "user: in every project (the default); project: in the configuration of the project around the working directory",
} satisfies Arg;

/** The flags of a command that asks which clients are meant. */
export const CONSENT_FLAGS = {
  all: { type: "boolean", description: "all clients that are found, without a question" },
  yes: { type: "boolean", description: "answer the question with yes" },
} as const;

/** What an entry is called where nothing else is said. */
export const ENTRY_NAME = "svc";

/** Clients on this machine, for this user; with the project around the working directory where there is one. */
export function siteOf(env: Env): ClientSite {
  const site = { home: homeFolder(env), platform: process.platform === "darwin" ? "darwin" : "linux", env } as const;
  const project = projectHere(site.home);
  return project === undefined ? site : { ...site, project };
}

/** The git work tree around the working directory, else that directory; neither a home nor the root is a project. */
function projectHere(home: string): string | undefined {
  let here: string;
  try {
    here = resolved(process.cwd());
  } catch {
    return undefined;
  }
  const project = workTreeOf(here) ?? here;
  return project === sep || project === resolved(home) ? undefined : project;
}

/** @throws ValueError as wrong usage, for a name that no client takes */
export function checkName(name: string, site: ClientSite): void {
  asUsage(() => readEntry(CLIENTS[0]!, "user", name, site));
}

/** @throws UsageError where a project is asked for and there is none */
export function checkScope(scope: Scope, site: ClientSite): void {
  if (scope === "project" && site.project === undefined)
    throw new UsageError("--scope project: the working directory is no project; go to the folder of one");
}

/** The clients that flags name, each once. @throws ValueError as wrong usage, for an unknown one */
export function namedClients(ids: readonly string[]): Client[] {
  return [...new Set(ids.map((id) => asUsage(() => findClient(id))))];
}

/** Those that seem to be on this machine and have configurations of that scope. */
export function presentClients(site: ClientSite, scope: Scope): Client[] {
  return CLIENTS.filter((client) => client.scopes.includes(scope) && isPresent(client, site));
}

/** Those whose configuration has an entry of svc. One that cannot be read has none that could be removed. */
export function configuredClients(site: ClientSite, scope: Scope, name: string): Client[] {
  return CLIENTS.filter((client) => {
    if (!client.scopes.includes(scope)) return false;
    const entry = readEntry(client, scope, name, site);
    return entry.state === "present" && entry.isOurs;
  });
}

/** Clients in a sentence. */
export function listed(clients: readonly Client[]): string {
  return clients.map(({ title }) => title).join(", ");
}

/** A client's file as it is shown: relative to the home folder or the project, which are not named. */
export function shownFile(file: string, site: ClientSite): string {
  for (const [folder, mark] of [
    [site.project, "."],
    [site.home, "~"],
  ] as const) {
    const inside = folder === undefined ? ".." : relative(folder, file);
    if (inside !== "" && !inside.startsWith("..")) return oneLine(`${mark}/${inside}`);
  }
  return oneLine(file);
}

/** The same as a link to it, where the terminal has links. */
export function linkedFile(file: string, site: ClientSite): string {
  return link(file, shownFile(file, site));
}

/** How long a question waits for its answer; a script on a terminal must not wait for ever. */
const ANSWER_MS_MAX = 60_000;

/** Whether a person can be asked: CI runners give their jobs a terminal at times, but never a person. */
export function hasPerson(env: Env): boolean {
  return isTerminal(0) && isTerminal(2) && !env.CI;
}

/** Asks on the terminal. Only y or yes is yes; Enter, anything else, an interruption and no answer are no. */
export async function confirm(question: string, signal: AbortSignal, ms = ANSWER_MS_MAX): Promise<boolean> {
  // Listening first: what is typed before that is dropped.
  const answer = nextLine(signal, ms);
  redraw(`${question} [y/N] `);
  const line = await answer;
  if (line === undefined) note("");
  return /^\s*y(es)?\s*$/i.test(line ?? "");
}

/** How often a change is planned anew where another process has changed the file meanwhile, as an install beside this one. */
const TRIES = 10;

/**
 * Plans a change and makes it; again where the file changed in between.
 * @param isDry the change is planned only
 * @throws what planning and applying throw
 */
export async function planAndApply(plan: () => Change, isDry = false): Promise<{ change: Change; backup?: string }> {
  let change = plan();
  for (let left = TRIES; ; left--) {
    if (isDry) return { change };
    try {
      const { backup } = await applyChange(change);
      return backup === undefined ? { change } : { change, backup };
    } catch (error) {
      const next = plan();
      if (left === 0 || isSame(next.before, change.before)) throw error;
      change = next;
    }
  }
}

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === undefined || b === undefined ? a === b : Buffer.compare(a, b) === 0;
}

/** What failed for one client, for text and JSON; others are still done. */
export interface Failure {
  readonly type: string;
  readonly code: string;
  readonly message: string;
}

/** An error of one client as what is printed of it. */
export function failureOf(error: unknown): Failure {
  const line = errorLine(error);
  const [type, ...rest] = line.split(": ");
  const code = error instanceof SvcError ? error.code : "RuntimeError.internal";
  return { type: type!, code, message: rest.join(": ") };
}

/** @throws ValueError where a client has no configuration of that scope */
export function requireScope(client: Client, scope: Scope): void {
  if (!client.scopes.includes(scope))
    throw new ValueError(`${client.title} has no configuration of scope ${scope}; it has ${client.scopes.join(", ")}`);
}
