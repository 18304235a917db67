/** Entries that start svc on another host: `ssh -T HOST svc mcp …`. */
import { basename } from "node:path";
import type { ServerEntry } from "./shapes.ts";
import { quoted, unquoted } from "./shell-word.ts";

/** Such an entry, taken apart. */
export interface Remote {
  readonly host: string;
  /** The words of ssh, up to the program on the host. */
  readonly before: readonly string[];
  /** The arguments of svc there, without the quotes for the shell of the host. */
  readonly args: readonly string[];
}

/**
 * An entry. ssh joins the words after the host with spaces, and a shell there takes them apart: each is quoted for it.
 * A `~/` stays for that shell, as it is a folder of the host.
 */
export function overSsh(
  host: string,
  args: readonly string[],
  before: readonly string[] = ["-T", host, "svc"],
): ServerEntry {
  const word = (arg: string) => (arg.startsWith("~/") ? `~/${quoted(arg.slice(2))}` : quoted(arg));
  return { command: "ssh", args: [...before, ...args.map(word)] };
}

/** What an entry starts on which host; undefined where it does not start svc over ssh. */
export function remoteOf({ command, args }: ServerEntry): Remote | undefined {
  if (basename(command) !== "ssh") return undefined;
  const at = args.findIndex((word, i) => i > 0 && basename(word) === "svc" && args[i + 1] === "mcp");
  const host = args[at - 1];
  if (host === undefined || host.startsWith("-")) return undefined;
  const word = (arg: string) => (arg.startsWith("~/") ? `~/${unquoted(arg.slice(2))}` : unquoted(arg));
  return { host, before: args.slice(0, at + 1), args: args.slice(at + 1).map(word) };
}

/** The arguments of svc in an entry, wherever it runs. */
export function svcArgs(server: ServerEntry): readonly string[] {
  return remoteOf(server)?.args ?? server.args;
}
