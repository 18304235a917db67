/** Which clients there are, and which of them are on this machine. */
import { accessSync, constants, lstatSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { shown } from "../checks/kinds.ts";
import { ValueError } from "../errors.ts";
import { CLIENTS } from "./catalog.ts";
import type { Client, ClientSite, Scope } from "./client.ts";

export { CLIENTS } from "./catalog.ts";

/** The client with this id. @throws ValueError with the nearest id and all of them */
export function findClient(id: string): Client {
  const found = CLIENTS.find((client) => client.id === id);
  if (found) return found;
  const wanted = plain(id);
  const near = CLIENTS.map((client) => [commonBeginning(wanted, plain(client.id)), client.id] as const)
    .filter(([length]) => length >= 3)
    .sort(([a], [b]) => b - a)[0];
  const hint = near ? `: did you mean '${near[1]}'? The` : "; the";
  throw new ValueError(
    `there is no client ${shown(id)}${hint} clients are ${CLIENTS.map((client) => client.id).join(", ")}`,
  );
}

const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, "");

function commonBeginning(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}

/** Whether a client seems to be on this machine: its folder, its file, or its program on PATH. */
export function isPresent(client: Client, site: ClientSite): boolean {
  if (client.traces(site).some(isThere)) return true;
  return client.program !== undefined && isOnPath(client.program, site);
}

function isOnPath(program: string, site: ClientSite): boolean {
  for (const folder of (site.env.PATH ?? "").split(delimiter)) {
    if (!folder.startsWith("/")) continue;
    try {
      accessSync(join(folder, program), constants.X_OK);
      if (statSync(join(folder, program)).isFile()) return true;
    } catch {
      // Not there.
    }
  }
  return false;
}

/**
 * The file in which a client keeps its servers: the first that exists of those it may be, else the newest documented one.
 * @throws ValueError where the client has no such scope, or the site no project
 */
export function configFile(client: Client, scope: Scope, site: ClientSite): string {
  if (!client.scopes.includes(scope)) {
    throw new ValueError(`${client.title} has no configuration of a ${scope}; use --scope ${client.scopes[0]}`);
  }
  if (scope === "project" && site.project === undefined) {
    throw new ValueError(`--scope project needs a project: run this in its folder`);
  }
  const files = client.files(scope, site);
  return files.find(isThere) ?? files[0]!;
}

/** The other clients that read a file of a client. */
export function otherReaders(client: Client, scope: Scope, file: string, site: ClientSite): Client[] {
  return CLIENTS.filter((other) => {
    if (other === client || !other.scopes.includes(scope)) return false;
    return other.files(scope, site).includes(file) || other.alsoReads?.(scope, site).includes(file) === true;
  });
}

/** Where the current version of a client looks, for a file that earlier versions read; undefined for any other file. */
export function currentFile(client: Client, scope: Scope, file: string, site: ClientSite): string | undefined {
  return client.formerFiles?.(scope, site).includes(file) ? configFile(client, scope, site) : undefined;
}

/** Whether there is something at a path, a link that leads to nothing included. What cannot be looked at is not there. */
export function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** A file for a message: from the home folder, from the project, or as it is. */
export function shownFile(file: string, site: ClientSite): string {
  if (site.project !== undefined && file.startsWith(`${site.project}/`)) return file.slice(site.project.length + 1);
  return file.startsWith(`${site.home}/`) ? `~${file.slice(site.home.length)}` : file;
}
