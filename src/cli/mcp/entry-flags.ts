/** The flags of `svc mcp` in an entry: as words, out of the words of an entry, and those of an earlier install that stay. */
import { TOOL_SETS } from "../../mcp/tools.ts";

/** Flags of `svc mcp` that go into an entry, as given. */
export interface EntryFlags {
  readonly path?: string | undefined;
  /** The memory that a server has, and the files of the token for it and of certificates. */
  readonly remote?: string | undefined;
  readonly "token-file"?: string | undefined;
  readonly "tls-ca"?: string | undefined;
  readonly "tls-cert"?: string | undefined;
  readonly "tls-key"?: string | undefined;
  readonly workspace?: string | undefined;
  readonly tools?: string | undefined;
  readonly project?: string | undefined;
  readonly secrets?: string | undefined;
  /** False for `--no-persistent-index`. */
  readonly "persistent-index"?: boolean | undefined;
}

/** Those about a memory that a server has: its address, and files. */
export const SERVED = ["remote", "token-file", "tls-ca", "tls-cert", "tls-key"] as const;

/** Those with a value, in the order of an entry. */
export const VALUED = ["path", ...SERVED, "workspace", "tools", "project", "secrets"] as const;

/** The arguments of an entry. @param signsIn the flag with which its server signs in, where this build has it */
export function argsOf(flags: EntryFlags, signsIn: readonly string[] = []): string[] {
  const words = VALUED.flatMap((name) => {
    const value = flags[name];
    return value === undefined ? [] : [`--${name}`, value];
  });
  const index = flags["persistent-index"] === false ? ["--no-persistent-index"] : [];
  return ["mcp", ...words, "--with-text", ...signsIn, ...index];
}

/** The value of a flag among the arguments of an entry. */
export function flagValue(args: readonly string[], flag: string): string | undefined {
  const at = args.findIndex((arg) => arg === flag || arg.startsWith(`${flag}=`));
  if (at < 0) return undefined;
  return args[at] === flag ? args[at + 1] : args[at]!.slice(flag.length + 1);
}

/**
 * The flags of an entry where an earlier install has made one: a flag that this install does not give stays as it is, so
 * that a new version of svc can be installed without them.
 * @param args the arguments of that entry
 * @param isSameMachine whether svc goes on to run there: folders and files of another machine are not kept
 */
export function mergedFlags(given: EntryFlags, args: readonly string[], isSameMachine: boolean): EntryFlags {
  const former = (name: (typeof VALUED)[number]) => flagValue(args, `--${name}`) || undefined;
  const known = (value: string | undefined, values: readonly string[]) =>
    value !== undefined && values.includes(value) ? value : undefined;
  const place = isSameMachine ? formerPlace(given, former) : {};
  return {
    ...Object.fromEntries((["path", ...SERVED] as const).map((name) => [name, given[name] ?? place[name]])),
    workspace: given.workspace ?? (isSameMachine ? former("workspace") : undefined),
    tools: given.tools ?? known(former("tools"), TOOL_SETS),
    project: given.project ?? former("project"),
    secrets: given.secrets ?? known(former("secrets"), ["refuse", "mask"]),
    "persistent-index": given["persistent-index"] ?? (args.includes("--no-persistent-index") ? false : undefined),
  };
}

/** Which memory an entry names: a folder or an address, and nothing of it where this install names one. */
function formerPlace(
  given: EntryFlags,
  former: (name: "path" | (typeof SERVED)[number]) => string | undefined,
): Pick<EntryFlags, "path" | (typeof SERVED)[number]> {
  if (given.path !== undefined || given.remote !== undefined) return {};
  if (former("remote") === undefined) return { path: former("path") };
  return Object.fromEntries(SERVED.map((name) => [name, former(name)]));
}
