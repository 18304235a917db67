/** Which clients a command is about, and where their files are. */
import { sep } from "node:path";
import type { Client, ClientSite, Scope } from "../../clients/client.ts";
import { CLIENTS, findClient, isPresent, shownFile } from "../../clients/clients.ts";
import { ownNames, readEntry } from "../../clients/plan.ts";
import { attempt, ValueError } from "../../errors.ts";
import type { Env } from "../../paths.ts";
import { workTreeOf } from "../../repo/files/top-level.ts";
import { type Arg, asUsage, JSON_FLAG, string, strings, UsageError } from "../terminal/command.ts";
import { link, oneLine } from "../terminal/output.ts";
import { homeFolder, resolved } from "./entry.ts";

/** The clients that `--client` takes. */
export const CLIENT_IDS: readonly string[] = CLIENTS.map(({ id }) => id);

/** The flags that `svc mcp install`, `uninstall` and `status` have in common. */
export const CLIENT_FLAGS = {
  client: {
    ...strings("CLIENT", "only this client (all that are on this machine)"),
    completes: CLIENT_IDS,
  },
  name: string("NAME", "name of the entry (svc)"),
  json: JSON_FLAG,
} as const;

/** Whose configuration: the flag of the commands that change it. */
export const SCOPE_FLAG = {
  type: "enum",
  options: ["user", "project"],
  description:
    "user: in every project (the default); project: in the configuration of the project around the working directory",
} satisfies Arg;

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
  const here = attempt(() => resolved(process.cwd()));
  if (here === undefined) return undefined;
  const project = workTreeOf(here) ?? here;
  return project === sep || project === resolved(home) ? undefined : project;
}

/** @throws UsageError where a project is asked for and there is none */
function checkScope(scope: Scope, site: ClientSite): void {
  if (scope === "project" && site.project === undefined)
    throw new UsageError("--scope project: the working directory is not a project; go to the folder of one");
}

/** What the flags say that installs and uninstalls have in common. */
export interface Target {
  /** What the entry is called. */
  readonly name: string;
  readonly scope: Scope;
  readonly site: ClientSite;
}

/** @throws UsageError for a name that no client takes, and for a project where there is none */
export function targetOf(args: { name?: string | undefined; scope?: string | undefined }, env: Env): Target {
  const target = { name: args.name ?? ENTRY_NAME, scope: (args.scope ?? "user") as Scope, site: siteOf(env) };
  checkName(target.name, target.site);
  checkScope(target.scope, target.site);
  return target;
}

/** @throws ValueError as wrong usage, for a name that no client takes */
export function checkName(name: string, site: ClientSite): void {
  asUsage(() => readEntry(CLIENTS[0]!, "user", name, site));
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

/** What names the entry of a client; all clients without one. */
interface EntryName {
  readonly client?: Client;
  readonly scope: Scope;
  readonly name: string;
}

/** A command about an entry, as it is typed; flags for the defaults are left out. */
export function entryCommand(verb: "install" | "uninstall", { client, scope, name }: EntryName): string {
  const flags = [
    ...(client === undefined ? [] : ["--client", client.id]),
    ...(scope === "user" ? [] : ["--scope", scope]),
    ...(name === ENTRY_NAME ? [] : ["--name", name]),
  ];
  return ["svc mcp", verb, ...flags].join(" ");
}

/** Entries of svc that have other names than this one, each as the command that removes it. */
export function otherEntries(site: ClientSite, scope: Scope, name: string): string[] {
  return CLIENTS.filter((client) => client.scopes.includes(scope)).flatMap((client) =>
    ownNames(client, scope, site)
      .filter((other) => other !== name)
      .map((other) => entryCommand("uninstall", { client, scope, name: other })),
  );
}

/** Clients in a sentence. */
export function listed(clients: readonly Client[]): string {
  return clients.map(({ title }) => title).join(", ");
}

/** A client's file as it is printed: its name may hold any character. */
export function printedFile(file: string, site: ClientSite): string {
  return oneLine(shownFile(file, site));
}

/** The same as a link to it, where the terminal has links. */
export function linkedFile(file: string, site: ClientSite): string {
  return link(file, printedFile(file, site));
}

/** @throws ValueError where a client has no configuration of that scope */
export function requireScope(client: Client, scope: Scope): void {
  if (!client.scopes.includes(scope))
    throw new ValueError(`${client.title} has no configuration of scope ${scope}; it has ${client.scopes.join(", ")}`);
}
