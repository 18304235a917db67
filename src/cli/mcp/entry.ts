/** What a client's configuration is to start: this executable by its absolute path, and what it needs to know. */
import { realpathSync, statSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, dirname, join, resolve, sep } from "node:path";
import type { Client, HookEvent } from "../../clients/client.ts";
import type { ServerEntry } from "../../clients/shapes.ts";
import { attempt, RuntimeError, ValueError } from "../../errors.ts";
import { type Env, memoryPath, svcHome } from "../../paths.ts";
import { NPM_PACKAGE, NPM_SCOPE } from "../../published.ts";
import { allowsLocalLogin } from "../access/local-login.ts";
import { asUsage } from "../terminal/command.ts";
import { argsOf, type EntryFlags, flagValue } from "./entry-flags.ts";

/**
 * The absolute path of this executable, links resolved: graphical clients have no shell's PATH.
 * @throws RuntimeError where svc runs from its source
 */
export function ownExecutable(): string {
  if (!Bun.isStandaloneExecutable)
    throw new RuntimeError("svc runs from its source here: 'npm run build' makes dist/svc, which clients can start");
  return resolved(process.execPath);
}

/** The same; undefined where svc runs from its source. */
export function ownExecutableOrNone(): string | undefined {
  return Bun.isStandaloneExecutable ? ownExecutable() : undefined;
}

/**
 * The path by which clients start an executable. `brew upgrade` removes the folder of the old version and moves the links of
 * its prefix to the new one, so that an executable of Homebrew is started by such a link.
 */
export function lastingPath(executable: string): string {
  const [, prefix, formula, rest] = /^(.*)\/Cellar\/([^/]+)\/[^/]+\/(.+)$/.exec(executable) ?? [];
  const links = [`${prefix}/opt/${formula}/${rest}`, `${prefix}/${rest}`];
  return links.find((link) => resolved(link) === executable) ?? executable;
}

/** What to do with an executable that is in a temporary place. */
export const COPY_HINT = "copy svc to a folder that stays, such as ~/.local/bin, and run the copy";

/** Why the place of an executable is a temporary one; undefined where it is not. */
export function temporaryPlace(executable: string, env: Env): string | undefined {
  if (isTemporary(executable, resolved(homeFolder(env))))
    return "this svc is in a temporary folder, which the system empties";
  // npm's folder for programs of a user stays; those of projects and of npx do not.
  if (executable.includes("/node_modules/") && !executable.includes("/lib/node_modules/"))
    return "this svc is in node_modules, where the next install may remove it";
  // nvm, fnm, asdf and mise have a folder for programs in that of each Node.
  if (/\/v?\d+\.\d+\.\d+\/(installation\/)?lib\/node_modules\//.test(executable))
    return "this svc belongs to one version of Node, and is removed with it";
  if (BUILD_FOLDERS.has(basename(dirname(executable))))
    return "this svc is in a build folder, where the next build replaces it";
  return undefined;
}

/** What is wrong with the place of an executable that clients are to start from now on; sentences. */
export function placeWarnings(executable: string, env: Env): string[] {
  const why = temporaryPlace(executable, env);
  const warnings = why === undefined ? [] : [`${why}: ${COPY_HINT}`];
  const first = Bun.which("svc", { PATH: env.PATH ?? "" });
  if (first !== null && !isSame(resolved(first), executable))
    warnings.push("another svc comes first on PATH: 'svc' on the command line is not the one that clients start");
  return warnings;
}

/** Whether a program is this executable, or the launcher in the npm package that brought it. Both without links. */
export function isSame(program: string, executable: string): boolean {
  if (program === executable) return true;
  const launcher = `/node_modules/${NPM_PACKAGE}/bin/svc`;
  if (!program.endsWith(launcher)) return false;
  const folder = program.slice(0, -"/bin/svc".length);
  const places = [dirname(folder), join(folder, "node_modules", NPM_SCOPE)];
  return places.includes(dirname(dirname(executable)));
}

/** What an entry is made of. */
export interface EntryOptions extends EntryFlags {
  readonly executable: string;
  readonly env: Env;
  /** The folder that the server works in where no flag names one. */
  readonly folder?: string | undefined;
}

/**
 * The entry. What of the environment chooses another memory than the default goes into the entry's own, so that the
 * client's server uses the memory that this terminal does.
 * @throws ValueError for a workspace that is not a folder, as wrong usage
 */
export function entryOf({ executable, env, folder: given, ...flags }: EntryOptions): ServerEntry {
  const { path, workspace } = flags;
  const own = {
    path: path === undefined ? undefined : memoryPath(path),
    workspace: workspace === undefined ? given : asUsage(() => folderOf(workspace)),
  };
  const signsIn = allowsLocalLogin() ? ["--login"] : [];
  const args = argsOf({ ...flags, ...own }, signsIn);
  const variables: Record<string, string> = {};
  const home = svcHome(env);
  if (home !== svcHome({ HOME: env.HOME })) variables.SVC_HOME = home;
  const isDefault = path === undefined && flags.remote === undefined;
  const memory = isDefault ? memoryPath(undefined, env) : undefined;
  if (memory !== undefined && memory !== join(home, "memory")) variables.SVC_MEMORY_PATH = memory;
  const entry = { command: lastingPath(executable), args };
  return Object.keys(variables).length === 0 ? entry : { ...entry, env: variables };
}

/**
 * What is shown of an entry: arguments and variables of other programs may be passwords, and so may variables that a
 * user has added to one of svc.
 */
export function shownServer({ command, args, env }: ServerEntry, isOurs: boolean): Partial<ServerEntry> {
  if (!isOurs) return { command };
  const values = Object.entries(env ?? {}).map(([name, value]) => [
    name,
    MEMORY_NAMES.has(name) ? value : "(not shown)",
  ]);
  return env === undefined ? { command, args } : { command, args, env: Object.fromEntries(values) };
}

const MEMORY_NAMES = new Set(["SVC_HOME", "SVC_MEMORY_PATH"]);

/**
 * The memory directory that a server of svc uses, as far as its entry decides, or the address of a memory elsewhere;
 * where the entry has an address in its place, which that server refuses, the address.
 * @param home the user's home folder
 */
export function memoryOf({ args, env = {} }: ServerEntry, home: string): string {
  const { SVC_HOME, SVC_MEMORY_PATH } = env;
  const remote = flagValue(args, "--remote");
  if (remote !== undefined) return remote;
  const path = flagValue(args, "--path");
  const memory = attempt(() => memoryPath(path, { SVC_HOME, SVC_MEMORY_PATH, HOME: home }));
  return memory ?? (path || SVC_MEMORY_PATH || SVC_HOME || home);
}

/** The arguments of a hook for the memory of an entry. They have what the entry has as variables. */
export function hookArgs(event: HookEvent, client: Client, { args, env = {} }: ServerEntry): string[] {
  const { SVC_HOME, SVC_MEMORY_PATH } = env;
  const path = flagValue(args, "--path") ?? SVC_MEMORY_PATH;
  const project = flagValue(args, "--project");
  return [
    ...["mcp", "hook", event, "--client", client.id],
    ...(SVC_HOME === undefined ? [] : ["--home", SVC_HOME]),
    ...(path === undefined ? [] : ["--path", path]),
    ...(project === undefined ? [] : ["--project", project]),
  ];
}

/** Sentences about the environment: what went into the entry, and what did not and changes what the server does. */
export function environmentNotes(entry: ServerEntry, env: Env): string[] {
  const given = Object.keys(entry.env ?? {});
  const left = NOT_PASSED.filter((name) => env[name]);
  const notes: string[] = [];
  if (given.length > 0)
    notes.push(`${given.join(" and ")} of this shell went into the entry: clients use the same memory`);
  if (left.length > 0)
    notes.push(`${left.join(", ")}, set in this shell, did not go into the entry: the client's svc runs without`);
  return notes;
}

/** Secrets and trust anchors do not belong into files of other programs, and a workspace has its own flag. */
const NOT_PASSED = [
  ...["SVC_TOKEN", "SVC_API_KEY", "SVC_MCP_WORKSPACE", "SVC_ACCOUNTS_URL", "SVC_API_URL", "SVC_PACKAGES_URL"],
  ...["SVC_RELEASE_PUBKEY", "SVC_RELEASE_PUBKEY_FILE", "SVC_LICENSE_PUBKEY", "SVC_LICENSE_PUBKEY_FILE"],
];

const BUILD_FOLDERS = new Set(["dist", "build", ".build", "out", "target"]);

/** Whether a path is below a folder that the system or its users empty; with a whole home in it, that one is not. */
function isTemporary(path: string, home: string): boolean {
  const folders = new Set([tmpdir(), "/tmp", "/var/tmp", "/dev/shm", "/private/tmp"].map(resolved));
  return [...folders].some((folder) => path.startsWith(folder + sep)) && !path.startsWith(home + sep);
}

/** A path without links; one that is not there, as it is. */
export function resolved(path: string): string {
  return attempt(() => realpathSync(path)) ?? path;
}

/**
 * The program that an entry's command is, links resolved: a bare name is looked for on PATH. Undefined where there is
 * none, and for a path that depends on the folder or the process of what starts it.
 */
export function programOf(command: string, env: Env): string | undefined {
  if (command.startsWith("/proc/")) return undefined;
  if (command.startsWith(sep)) return resolved(command);
  const found = command.includes(sep) ? null : Bun.which(command, { PATH: env.PATH ?? "" });
  return found === null ? undefined : resolved(found);
}

/** The folder of this user. */
export function homeFolder(env: Env): string {
  return resolve(env.HOME || homedir());
}

function folderOf(workspace: string): string {
  const folder = resolve(workspace);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new ValueError(`--workspace: '${workspace}' is not a folder`);
  return folder;
}
