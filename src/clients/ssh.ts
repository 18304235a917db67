/** Entries that start svc on another host: `ssh -T HOST svc mcp …`. */
import { basename } from "node:path";
import { shellWord, unquoted } from "../shell-word.ts";
import type { ServerEntry } from "./shapes.ts";

/** Such an entry, taken apart. */
export interface SshTarget {
  /** The host that ssh connects to. */
  readonly host: string;
  /** The words of ssh, up to the program on the host. */
  readonly before: readonly string[];
  /** The arguments of svc there, without the quotes for the shell of the host. */
  readonly args: readonly string[];
}

/** The words before the arguments of svc, without further options of ssh. */
const plainWords = (host: string) => ["-T", host, "svc"];

/**
 * An entry. ssh joins the words after the host with spaces, and a shell there takes them apart: each is quoted for it.
 * A `~/` stays for that shell, as it is a folder of the host.
 */
export function overSsh(
  host: string,
  args: readonly string[],
  before: readonly string[] = plainWords(host),
): ServerEntry {
  const word = (arg: string) => (arg.startsWith("~/") ? `~/${shellWord(arg.slice(2))}` : shellWord(arg));
  return { command: "ssh", args: [...before, ...args.map(word)] };
}

/** What an entry starts on which host; undefined where it does not start svc over ssh. */
export function sshTarget({ command, args }: ServerEntry): SshTarget | undefined {
  if (basename(command) !== "ssh") return undefined;
  const at = afterOptions(args, 0);
  const host = args[at];
  if (host === undefined) return undefined;
  // Options may follow the host too, unless '--' has ended them.
  const start = args[at - 1] === "--" ? at + 1 : afterOptions(args, at + 1);
  const program = args.findIndex((word, i) => i >= start && basename(word) === "svc" && args[i + 1] === "mcp");
  if (program < 0) return undefined;
  const word = (arg: string) => (arg.startsWith("~/") ? `~/${unquoted(arg.slice(2))}` : unquoted(arg));
  return { host, before: args.slice(0, program + 1), args: args.slice(program + 1).map(word) };
}

/**
 * Whether an entry only names the host. Options of ssh can start programs on this machine, such as `ProxyCommand`, and
 * words before svc can start others on the host.
 */
export function isPlainSsh({ command }: ServerEntry, { host, before }: SshTarget): boolean {
  const plain = plainWords(host);
  return command === "ssh" && before.length === plain.length && before.every((word, i) => word === plain[i]);
}

/** The arguments of svc in an entry, wherever it runs. */
export function svcArgs(server: ServerEntry): readonly string[] {
  return sshTarget(server)?.args ?? server.args;
}

/** The options of ssh that take a value, as ssh(1) lists them. */
const WITH_VALUE = "BbcDEeFIiJLlmOoPpQRSWw";

/** The index of the first word that is neither an option of ssh nor the value of one. */
function afterOptions(words: readonly string[], from: number): number {
  let at = from;
  while (/^-./.test(words[at] ?? "")) {
    const word = words[at]!;
    if (word === "--") return at + 1;
    const letter = [...word].findIndex((one, i) => i > 0 && WITH_VALUE.includes(one));
    // The value is the rest of the word, or the next word.
    at += letter === word.length - 1 ? 2 : 1;
  }
  return at;
}
