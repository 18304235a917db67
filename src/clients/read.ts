/** What a client's file has of an entry. */
import { basename } from "node:path";
import { shown } from "../checks/kinds.ts";
import { SvcError, ValueError } from "../errors.ts";
import type { Client, ClientSite, EntryState, Scope, ToolFilter } from "./client.ts";
import { configFile, isThere, shownFile } from "./clients.ts";
import type { PlainObject } from "./edit/edit.ts";
import { isObject, own, valueAt } from "./edit/values.ts";
import { bytesOf, type Text, targetOf, textOf } from "./file.ts";
import type { ServerEntry, Shape } from "./shapes.ts";
import { sshTarget } from "./ssh.ts";

/** An entry that is there, read. */
export interface Found {
  readonly bytes: Uint8Array | undefined;
  readonly text: Text;
  readonly document: PlainObject;
  readonly path: readonly string[];
  /** The entry's value; `undefined` where there is none. */
  readonly value: unknown;
  /** The real file, behind links. */
  readonly target: string;
}

/** What is there now. Never throws for what a file holds. */
export function readEntry(
  client: Client,
  scope: Scope,
  name: string,
  site: ClientSite,
): EntryState & { readonly file: string } {
  checkName(name);
  const file = fileOf(client, scope, name, site);
  let found: Found;
  try {
    found = read(client, scope, name, site, file);
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    return { state: "unreadable", problem: error.message, file };
  }
  if (found.value === undefined) return { state: "absent", file };
  const server = isObject(found.value) ? shapeOf(client, scope).server(found.value) : undefined;
  const filter = isObject(found.value) ? filterOf(found.value) : undefined;
  return {
    state: "present",
    server: server ?? { command: "", args: [] },
    isOurs: server !== undefined && isOurs(server),
    disabled: isObject(found.value) && (own(found.value, "disabled") === true || own(found.value, "enabled") === false),
    ...(filter && { filter }),
    file,
  };
}

/** The fields of entries that choose tools: those that hide some, and those that name the only ones. */
const FILTERS = [
  ...["disabledTools", "disabled_tools", "excludeTools"].map((key) => [key, false] as const),
  ...["includeTools", "enabledTools", "enabled_tools", "tools"].map((key) => [key, true] as const),
];

function filterOf(entry: PlainObject): ToolFilter | undefined {
  for (const [key, isOnly] of FILTERS) {
    const value = own(entry, key);
    if (!Array.isArray(value) || !value.every((one) => typeof one === "string")) continue;
    const chooses = isOnly ? !value.includes("*") : value.length > 0;
    if (chooses) return { key, tools: value as string[], isOnly };
  }
  return undefined;
}

/** The names of the entries that start svc; none of a file that cannot be read. */
export function ownNames(client: Client, scope: Scope, site: ClientSite): string[] {
  const names = new Set<string>();
  for (const file of allFiles(client, scope, site).filter(isThere)) {
    try {
      const { document, path } = read(client, scope, "svc", site, file);
      const servers = valueAt(document, path);
      for (const [name, entry] of isObject(servers) ? Object.entries(servers) : []) {
        const server = isObject(entry) ? shapeOf(client, scope).server(entry) : undefined;
        if (server !== undefined && isOurs(server) && isName(name)) names.add(name);
      }
    } catch (error) {
      if (!(error instanceof SvcError)) throw error;
    }
  }
  return [...names];
}

/** The file with an entry: of several that a client reads, the one that has it; else the one that gets it. */
export function fileOf(client: Client, scope: Scope, name: string, site: ClientSite): string {
  const file = configFile(client, scope, site);
  const there = allFiles(client, scope, site).filter(isThere);
  if (there.every((one) => one === file)) return file;
  const has = (path: string) => {
    try {
      return read(client, scope, name, site, path).value !== undefined;
    } catch {
      return false; // it is the one that gets it, and refused then, or does not matter
    }
  };
  return there.find(has) ?? file;
}

/** The files that a client has or had in a scope, the newest documented one first. */
function allFiles(client: Client, scope: Scope, site: ClientSite): readonly string[] {
  return [...client.files(scope, site), ...(client.formerFiles?.(scope, site) ?? [])];
}

/** Reads a file up to an entry. @throws ValueError, OSError */
export function read(client: Client, scope: Scope, name: string, site: ClientSite, file: string): Found {
  const label = shownFile(file, site);
  const target = targetOf(file, scope, site);
  const bytes = bytesOf(target, label);
  return inFile(label, () => {
    const text = textOf(bytes ?? new Uint8Array());
    const document = client.notation.parse(text.text);
    const path = client.path(document, name);
    client.notation.checkKeys(text.text, path, name);
    for (let depth = 1; depth <= path.length; depth++) {
      const keys = path.slice(0, depth);
      const value = valueAt(document, keys);
      const isMissing = value === undefined || (value === null && client.notation.isNullEmpty);
      if (!isMissing && !isObject(value)) {
        const kind = value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
        throw new ValueError(`'${keys.join(".")}' is ${kind}; an object is expected`);
      }
    }
    const value = valueAt(document, [...path, name]);
    return { bytes, text, document, path, value, target: target.path };
  });
}

/** What an action throws, about a file: its line and the problem. */
export function inFile<T>(label: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    const line = /^line \d+: /.exec(error.message);
    throw new ValueError(line ? `${label}, ${error.message}` : `${label} cannot be changed: ${error.message}`);
  }
}

/** The shape of an entry in a scope's file. */
export function shapeOf(client: Client, scope: Scope): Shape {
  return scope === "project" && client.projectShape ? client.projectShape : client.shape;
}

/** Whether a server is svc: a program of that name, or this executable, with `mcp` as first argument; or that over ssh. */
export function isOurs(server: ServerEntry): boolean {
  const { command, args } = server;
  const isHere = args[0] === "mcp" && (basename(command) === "svc" || command === process.execPath);
  return isHere || sshTarget(server) !== undefined;
}

/** Names that every client takes, and none that objects have by themselves. */
export function checkName(name: string): void {
  if (!isName(name)) {
    throw new ValueError(
      `${shown(name)} cannot be the name of a server: letters, digits, '-' and '_', at most 64, a letter or digit first`,
    );
  }
}

const isName = (name: string) => /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name) && !(name in Object.prototype);
