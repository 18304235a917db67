/** How the clients write a server: the fields of an entry, and back. */

import type { Plain, PlainObject } from "./edit/edit.ts";
import { isObject, own } from "./edit/values.ts";

/** A server that a client starts: an absolute path, its arguments, and variables beside those of the client. */
export interface ServerEntry {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** What a client's entry looks like. */
export interface Shape {
  /** The fields that say what is started. They are set whenever svc is installed. */
  command(server: ServerEntry): PlainObject;
  /** Further fields of a new entry. A user's own values of them stay. */
  defaults(name: string): PlainObject;
  /** The server of an entry; `undefined` if it does not start a process. */
  server(entry: PlainObject): ServerEntry | undefined;
}

const strings = (value: Plain): string[] | undefined =>
  Array.isArray(value) && value.every((one) => typeof one === "string") ? [...(value as string[])] : undefined;

function environment(value: Plain): Record<string, string> | undefined {
  if (!isObject(value)) return undefined;
  const pairs = Object.entries(value).filter((pair): pair is [string, string] => typeof pair[1] === "string");
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs);
}

/** The names of the three fields that say what is started. */
interface Names {
  readonly command: string;
  readonly args: string;
  readonly env: string;
}

function serverOf(entry: PlainObject, names: Names): ServerEntry | undefined {
  const command = own(entry, names.command);
  const args = own(entry, names.args);
  if (typeof command !== "string") return undefined;
  const env = environment(own(entry, names.env));
  return { command, args: strings(args) ?? [], ...(env && { env }) };
}

function shape(names: Names, defaults: (name: string) => PlainObject): Shape {
  return {
    command: ({ command, args, env }) => ({
      [names.command]: command,
      [names.args]: args,
      ...(env && Object.keys(env).length > 0 && { [names.env]: env }),
    }),
    defaults,
    server: (entry) => serverOf(entry, names),
  };
}

const STANDARD: Names = { command: "command", args: "args", env: "env" };

/** `{"command", "args", "env"}`, as Claude Desktop began it, with fields of the client's own. */
export function standard(defaults: PlainObject = {}): Shape {
  return shape(STANDARD, () => defaults);
}

/** Goose: an extension has a name, and other words for command and environment. */
export const GOOSE_SHAPE: Shape = shape({ command: "cmd", args: "args", env: "envs" }, (name) => ({
  enabled: true,
  type: "stdio",
  name,
  description: "On-device memory",
  timeout: 300,
}));

/** OpenCode: program and arguments are one list. */
export const OPENCODE_SHAPE: Shape = {
  command: ({ command, args, env }) => ({
    command: [command, ...args],
    ...(env && Object.keys(env).length > 0 && { environment: env }),
  }),
  defaults: () => ({ type: "local" }),
  server(entry) {
    const words = strings(own(entry, "command"));
    if (!words || words.length === 0) return undefined;
    const env = environment(own(entry, "environment"));
    return { command: words[0]!, args: words.slice(1), ...(env && { env }) };
  },
};
