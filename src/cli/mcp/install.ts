/** `svc mcp install`: writes the entry that starts this executable into the configuration of MCP clients. */
import type { Client } from "../../clients/client.ts";
import { CLIENTS } from "../../clients/clients.ts";
import { planInstall, readEntry } from "../../clients/plan.ts";
import type { ServerEntry } from "../../clients/shapes.ts";
import { attempt, errorFacts } from "../../errors.ts";
import { TOOL_SETS } from "../../mcp/tools.ts";
import { type Env, svcHome } from "../../paths.ts";
import { command, EXIT, MEMORY_PATH, SECRETS, string } from "../terminal/command.ts";
import { note, print, printJson } from "../terminal/output.ts";
import { changed } from "./change.ts";
import { areMeant, CONSENT_FLAGS } from "./consent.ts";
import {
  type EntryFlags,
  entryOf,
  environmentNotes,
  keptFlags,
  memoryOf,
  ownExecutable,
  placeWarnings,
} from "./entry.ts";
import { type Installed, type InstallNotes, installedJson, showInstalled } from "./install-report.ts";
import { Starter, switchedOff } from "./started.ts";
import { CLIENT_FLAGS, namedClients, presentClients, SCOPE_FLAG, type Target, targetOf } from "./targets.ts";

const IDS = CLIENTS.map(({ id }) => id).join(", ");

export default command({
  details:
    "The entry starts this executable by its absolute path. The rest of the client's file stays byte for byte, and a copy of\n" +
    "the earlier file is kept beside it. A file that cannot be read is left alone. Afterwards the command is started once,\n" +
    "and must answer with its tools. You can repeat it. 'svc mcp uninstall' removes the entry.\n\n" +
    `Clients: ${IDS}.`.replace(/(.{1,118})(?: |$)/g, "$1\n").trimEnd(),
  examples: [
    "svc mcp install",
    "svc mcp install --client claude-code --client cursor",
    "svc mcp install --all --dry-run",
    "svc mcp install --client vscode --scope project",
    "svc mcp install --client codex --path ~/projects/memory --name project-memory",
  ],
  args: {
    ...CLIENT_FLAGS,
    scope: SCOPE_FLAG,
    ...CONSENT_FLAGS,
    path: MEMORY_PATH,
    workspace: string("DIR", "repository of svc_repo_search (what the client works in)"),
    tools: {
      type: "enum",
      options: [...TOOL_SETS],
      description: "offer all 19 tools, the seven for everyday use (core), or only those that change nothing (read)",
    },
    secrets: SECRETS,
    "dry-run": { type: "boolean", description: "print the difference, write nothing" },
    replace: { type: "boolean", description: "replace an entry of the same name that starts another program" },
  },
  async run({ args, env, signal }) {
    const { path, workspace, tools, secrets } = args;
    const plan = { ...targetOf(args, env), env, signal, path, workspace, tools, secrets };
    const plain = planned(plan);
    const clients = await chosen(args, plan);
    if (clients === undefined) return EXIT.failed;
    if (clients.length === 0) return nothingFound(plan.name, plain, args.json);
    return installInto(clients, {
      ...plan,
      replace: args.replace,
      isDry: args["dry-run"],
      json: args.json,
    });
  },
});

/** What is to be done, for all clients. */
export interface InstallOptions extends Target, EntryFlags {
  readonly env: Env;
  readonly signal: AbortSignal;
  /** The flags of the command of the same names. */
  readonly replace?: boolean | undefined;
  readonly isDry?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** Installs into clients one after the other, starts what was written, and prints what became of each. @returns the exit code */
export async function installInto(clients: readonly Client[], options: InstallOptions): Promise<number> {
  const { env, signal, isDry } = options;
  const executable = ownExecutable();
  const results: Installed[] = [];
  for (const client of clients) results.push(await install(client, options));
  const starter = new Starter(executable, env, signal);
  if (!isDry) for (const result of results) await startWritten(result, options, starter);
  const plain = planned(options);
  const said: InstallNotes = {
    notes: [...placeWarnings(executable, env), ...environmentNotes(plain, env)],
    missing: isDry ? undefined : await loginMissing(env),
  };
  if (options.json) printJson(await installedJson(results, options, plain, said));
  else await showInstalled(results, options, said);
  return results.every(isDone) ? EXIT.done : EXIT.failed;
}

/** The entry, for a client where one is named. */
function planned(options: InstallOptions, client?: Client): ServerEntry {
  const { env, path, workspace, tools, secrets, scope, site } = options;
  const isNamed = client === undefined || scope === "user" || client.namesProject === true;
  const project = isNamed ? undefined : site.project;
  return entryOf({ executable: ownExecutable(), env, path, workspace, tools, secrets, project });
}

const isDone = ({ failure, started }: Installed) => failure === undefined && started?.ok !== false;

/** The clients that are meant: those that are named, else those on this machine; undefined where a person says no. */
async function chosen(
  args: {
    client: readonly string[];
    all?: boolean | undefined;
    yes?: boolean | undefined;
    "dry-run"?: boolean | undefined;
  },
  options: InstallOptions,
): Promise<Client[] | undefined> {
  const { site, scope, env, signal } = options;
  if (args.client.length > 0) return namedClients(args.client);
  const present = presentClients(site, scope);
  if (present.length === 0 || args.all || args.yes || args["dry-run"]) return present;
  if (present.every((client) => hasIt(client, options))) return present;
  return (await areMeant(present, { found: "found", action: "add svc to", env, signal })) ? present : undefined;
}

/** Whether nothing would be changed for a client, and so nothing is to be asked. */
function hasIt(client: Client, options: InstallOptions): boolean {
  const { name, scope, site } = options;
  // What is wrong is said when it is tried.
  return attempt(() => planInstall(client, scope, name, planned(options, client), site).action) === "none";
}

async function install(client: Client, options: InstallOptions): Promise<Installed> {
  const { name, scope, site, isDry, replace = false } = options;
  const plan = () => {
    const server = planned(options, client);
    const entry = readEntry(client, scope, name, site);
    const kept = entry.state === "present" && entry.isOurs ? keptFlags(entry.server.args, server.args) : [];
    return planInstall(client, scope, name, { ...server, args: [...server.args, ...kept] }, site, { replace });
  };
  return changed(client, options, plan, isDry);
}

/** Starts what now stands in the client's file, which is what the client will start. */
async function startWritten(result: Installed, options: InstallOptions, starter: Starter): Promise<void> {
  const { name, scope, site } = options;
  if (result.failure !== undefined) return;
  const entry = readEntry(result.client, scope, name, site);
  if (entry.state === "present") {
    const isOff = entry.disabled;
    result.started = isOff ? switchedOff(result.client.title) : await starter.start(entry.server, scope, site);
    result.keepsMemory = memoryOf(entry.server, site.home) !== memoryOf(planned(options, result.client), site.home);
  } else result.started = { ok: false, problem: "cannot be read back from the client's file", stderr: "" };
}

/** What the tools still lack; a client can be configured before the first login. */
async function loginMissing(env: Env): Promise<string | undefined> {
  try {
    const { requireLogin } = await import("../../trust/account/license/credentials.ts");
    await requireLogin(svcHome(env), env, { readsOnly: true });
    return undefined;
  } catch (error) {
    return errorFacts(error).message;
  }
}

/** @returns the exit code: nothing was installed */
function nothingFound(name: string, entry: ServerEntry, isJson: boolean | undefined): number {
  const block = { mcpServers: { [name]: entry } };
  if (isJson) printJson({ name, server: entry, clients: [], block });
  note(`no MCP client was found on this machine: name one with --client (${IDS}),`);
  note("or put this into the configuration of yours:");
  if (!isJson) print(JSON.stringify(block, undefined, 2));
  return EXIT.failed;
}
