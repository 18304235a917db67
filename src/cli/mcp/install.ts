/** `svc mcp install`: writes the entry that starts this executable into the configuration of MCP clients. */
import type { Change, Client } from "../../clients/client.ts";
import { CLIENTS } from "../../clients/clients.ts";
import { planInstall, readEntry } from "../../clients/plan.ts";
import type { ServerEntry } from "../../clients/shapes.ts";
import { sshTarget, svcArgs } from "../../clients/ssh.ts";
import { attempt } from "../../errors.ts";
import { TOOL_SETS } from "../../mcp/tools.ts";
import { REMOTE } from "../access/remote.ts";
import { command, EXIT, MEMORY_PATH, SECRETS, string, UsageError } from "../terminal/command.ts";
import { note, print, printJson } from "../terminal/output.ts";
import { changed } from "./change.ts";
import { CONSENT_FLAGS, chosenOf, confirm } from "./consent.ts";
import { environmentNotes, memoryOf, ownExecutable, ownExecutableOrNone, placeWarnings } from "./entry.ts";
import { type EntryFindings, findingsOn } from "./entry-findings.ts";
import type { EntryFlags } from "./entry-flags.ts";
import { missingLogin } from "./entry-login.ts";
import { type EntryPlan, entryFromFlags, mergedEntry } from "./entry-plan.ts";
import { changeExtras, EXTRA_FLAGS, type ExtraFlags, statesOfExtras } from "./extras.ts";
import { type Installed, type InstallNotes, installedJson, showInstalled } from "./install-report.ts";
import {
  addressIn,
  otherMachine,
  removeUnusedTokenFile,
  servedEntry,
  servedNote,
  type TokenFile,
  tokenFileIn,
  writeTokenFile,
} from "./served.ts";
import { checkHost, hostNote, SSH_FLAG } from "./ssh.ts";
import { blockedStart, Starter, switchedOff } from "./started.ts";
import { CLIENT_FLAGS, listed, namedClients, presentClients, SCOPE_FLAG, targetOf } from "./targets.ts";

const IDS = CLIENTS.map(({ id }) => id).join(", ");

const titlesWith = (what: "hooks" | "instructions") => listed(CLIENTS.filter((client) => client[what] !== undefined));

export default command({
  details:
    "The entry starts this executable by its absolute path. The rest of the client's file stays byte for byte, and a copy of\n" +
    "the earlier file is kept beside it. A file that cannot be read is left alone. Afterwards the command is started once,\n" +
    "and must answer with its tools. You can repeat it: a flag of the earlier install stays unless you give it again,\n" +
    "--path, --workspace and --tools included. 'svc mcp uninstall' removes the entry.\n\n" +
    "With --ssh the entry starts 'svc mcp' on another host, with these flags: --path and --workspace are folders there.\n" +
    "ssh must connect without a question.\n\n" +
    "With --remote the entry uses a memory that 'svc serve' has. A token in SVC_ACCESS_TOKEN is put into a file of mode\n" +
    "0600 under SVC_HOME, and the entry names the file. It is removed with the last entry that names it.\n\n" +
    `Hooks: ${titlesWith("hooks")}. Instructions: ${titlesWith("instructions")}.\n` +
    "An install without these two flags updates existing hooks and instructions.\n\n" +
    `Clients: ${IDS}.`.replace(/(.{1,118})(?: |$)/g, "$1\n").trimEnd(),
  examples: [
    "svc mcp install",
    "svc mcp install --client claude-code --client cursor",
    "svc mcp install --all --dry-run",
    "svc mcp install --client claude-code --hooks --instructions",
    "svc mcp install --client vscode --scope project",
    "svc mcp install --client codex --path ~/projects/memory --name project-memory",
    "svc mcp install --client cursor --ssh me@team.example.org",
    "svc mcp install --client cursor --remote team.example.org:8471 --token-file ~/.svc/team-token",
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
      description: "offer all 19 tools, the eight for everyday use (core), or only those that change nothing (read)",
    },
    project: string(
      "auto|NAME",
      "scope for rows that name none; its rows come first. auto: the project that the client works in",
    ),
    secrets: SECRETS,
    ...REMOTE,
    ssh: SSH_FLAG,
    ...EXTRA_FLAGS,
    "dry-run": { type: "boolean", description: "print the difference, write nothing" },
    replace: { type: "boolean", description: "replace an entry of the same name that starts another program" },
  },
  async run({ args, env, signal }) {
    const { ssh, path, workspace, tools, secrets, project, hooks, instructions } = args;
    if (ssh !== undefined) checkHost(ssh);
    if (ssh !== undefined && hooks === true)
      throw new UsageError(
        "--hooks: hooks use the memory of this machine, and --ssh that of another host: leave one out",
      );
    if (args.remote !== undefined && (ssh !== undefined || hooks === true))
      throw new UsageError(
        `--${ssh === undefined ? "hooks" : "ssh"} is for a memory of another machine than --remote: leave one out`,
      );
    const target = targetOf(args, env);
    // With --ssh the memory is one of the host: SVC_REMOTE of this machine does not count.
    const served = await servedEntry(args, target, ssh === undefined ? env : { ...env, SVC_REMOTE: undefined });
    const flags = { ssh, path, ...served.flags, workspace, tools, secrets, project, hooks, instructions };
    return installChosen(args, { ...target, env, signal, ...flags, tokenFile: served.tokenFile });
  },
});

/** The flags that say which clients are meant, and what an install may do. */
interface ChoiceFlags {
  readonly client: readonly string[];
  readonly all?: boolean | undefined;
  readonly yes?: boolean | undefined;
  readonly "dry-run"?: boolean | undefined;
  readonly replace?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** Installs into the clients that flags name or a person chooses. @returns the exit code */
export async function installChosen(args: ChoiceFlags, plan: InstallOptions): Promise<number> {
  const plain = entryFromFlags(plan);
  const chose = await chosen(args, plan);
  if (chose === undefined) return EXIT.failed;
  const { clients, isAsked } = chose;
  const answered = isAsked ? await answers(clients, plan) : {};
  if (clients.length === 0) {
    // The entry that is printed names it.
    if (!args["dry-run"] && plan.tokenFile) writeTokenFile(plan.tokenFile, plan.env);
    return nothingFound(plan.name, plain, args.json);
  }
  const { replace, json, "dry-run": isDry } = args;
  return installInto(clients, { ...plan, ...answered, replace, isDry, json });
}

/** What is to be done, for all clients. */
export interface InstallOptions extends EntryPlan, ExtraFlags {
  readonly signal: AbortSignal;
  /** Written with the first entry that names it. */
  readonly tokenFile?: TokenFile | undefined;
  /** The flags of the command of the same names. */
  readonly replace?: boolean | undefined;
  readonly isDry?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** Installs into clients one after the other, starts what was written, and prints what became of each. @returns the exit code */
export async function installInto(clients: readonly Client[], options: InstallOptions): Promise<number> {
  const { env, signal, isDry, ssh } = options;
  const executable = ssh === undefined ? ownExecutable() : ownExecutableOrNone();
  const results: Installed[] = [];
  for (const client of clients) results.push(await install(client, options));
  const starter = new Starter(executable, env, signal);
  if (!isDry) for (const result of results) await startWritten(result, options, starter);
  const plain = entryFromFlags(options);
  const hosts = [...new Set(results.flatMap(({ host }) => (host === undefined ? [] : [host])))];
  const isHere = results.some(({ host }) => host === undefined) || hosts.length === 0;
  const here =
    executable !== undefined && isHere ? [...placeWarnings(executable, env), ...environmentNotes(plain, env)] : [];
  const addresses = [...new Set(results.flatMap(({ address }) => (address === undefined ? [] : [address])))];
  const isOwn = results.some(({ host, address }) => host === undefined && address === undefined);
  const login = isDry || !isOwn ? undefined : await missingLogin(plain, env);
  const installNotes: InstallNotes = {
    notes: [
      ...hosts.map(hostNote),
      ...addresses.map(servedNote),
      ...results.flatMap(({ hookNotes = [] }) => hookNotes),
      ...here,
      ...(login?.signsIn ? [login.sentence] : []),
    ],
    missing: login?.signsIn ? undefined : login?.sentence,
  };
  if (options.json) printJson(await installedJson(results, options, plain, installNotes));
  else await showInstalled(results, options, installNotes);
  return results.every(isDone) ? EXIT.done : EXIT.failed;
}

const isDone = ({ failure, started, findings, hooks, instructions }: Installed) =>
  [failure, hooks?.failure, instructions?.failure, findings?.blocked].every((one) => one === undefined) &&
  started?.ok !== false;

/**
 * The clients that are meant: those that are named, else those on this machine, and whether a person was asked; undefined
 * where that person says no.
 */
async function chosen(
  args: ChoiceFlags,
  options: InstallOptions,
): Promise<{ clients: Client[]; isAsked: boolean } | undefined> {
  const { site, scope, env, signal } = options;
  const isAsked = false;
  if (args.client.length > 0) return { clients: namedClients(args.client), isAsked };
  const clients = presentClients(site, scope);
  if (clients.length === 0 || args.all || args.yes || args["dry-run"]) return { clients, isAsked };
  if (clients.every((client) => hasIt(client, options))) return { clients, isAsked };
  const isThere = (client: Client) => hasIt(client, options);
  const meant = await chosenOf(clients, { found: "found", action: "add svc to", isThere, env, signal });
  return meant && { clients: meant, isAsked: true };
}

/** What a person answers to what no flag has said. */
async function answers(
  clients: readonly Client[],
  options: InstallOptions,
): Promise<ExtraFlags & Pick<EntryFlags, "secrets" | "project">> {
  const { hooks, secrets, project, signal } = options;
  const servers = new Map(clients.map((client) => [client, mergedEntry(client, options)]));
  // Hooks use the memory of this machine.
  const hookable = clients.filter(
    (client) =>
      statesOfExtras(client, options).hooks?.state === "absent" && otherMachine(servers.get(client)!) === undefined,
  );
  const answered: { hooks?: true; secrets?: string; project?: string } = {};
  if (hooks === undefined && hookable.length > 0) {
    const question = `add hooks, which put stored notes into each session of ${listed(hookable)}?`;
    if (await confirm(question, signal)) answered.hooks = true;
  }
  if (secrets === undefined && (await confirm("mask private keys and tokens in what is stored?", signal)))
    answered.secrets = "mask";
  if (
    project === undefined &&
    [...servers.values()].some((server) => sshTarget(server) === undefined) &&
    (await confirm("store notes under the project worked in, and find its notes first?", signal))
  )
    answered.project = "auto";
  signal.throwIfAborted();
  return answered;
}

/** Whether nothing would be changed for a client, and so nothing is to be asked. */
function hasIt(client: Client, options: InstallOptions): boolean {
  // What is wrong is said when it is tried.
  return attempt(() => planEntry(client, options).action) === "none";
}

async function install(client: Client, options: InstallOptions): Promise<Installed> {
  const { name, scope, site, env, isDry, tokenFile } = options;
  const server = mergedEntry(client, options);
  const former = readEntry(client, scope, name, site);
  const hasToken = !isDry && tokenFile !== undefined && tokenFileIn(server) === tokenFile.path;
  const plan = () => {
    const change = planEntry(client, options);
    // Nothing is left where the client's file cannot be changed; an entry never names a file that is not there.
    if (hasToken) writeTokenFile(tokenFile, env);
    return change;
  };
  const entry = await changed(client, options, plan, isDry);
  if (!isDry) {
    if (former.state === "present") removeUnusedTokenFile(tokenFileIn(former.server), options, env);
    if (hasToken) removeUnusedTokenFile(tokenFile.path, options, env);
  }
  if (entry.failure !== undefined) return entry;
  const extras = await changeExtras(client, options, server, options, isDry);
  const host = sshTarget(server)?.host;
  return {
    ...entry,
    host,
    // One over ssh names it to svc on that host.
    address: host === undefined ? addressIn(server.args) : undefined,
    findings: findingsOf(client, options, server, entry.change!.file),
    ...extras,
  };
}

/** What svc finds out about the entry as it is then; a dry run has not written it. */
function findingsOf(client: Client, options: InstallOptions, server: ServerEntry, file: string): EntryFindings {
  const { name, scope, site } = options;
  const entry = readEntry(client, scope, name, site);
  const isThere = entry.state === "present" && entry.isOurs;
  const entryThen = { state: "present", server, isOurs: true, disabled: false, file } as const;
  return findingsOn(client, options, isThere ? entry : entryThen);
}

/** Whether this command named where an entry leads; what came with a project's file is not connected to. */
function isOwn(server: ServerEntry, { ssh, remote }: InstallOptions): boolean {
  return sshTarget(server)?.host === ssh && addressIn(svcArgs(server)) === remote;
}

function planEntry(client: Client, options: InstallOptions): Change {
  const { name, scope, site, replace = false } = options;
  return planInstall(client, scope, name, mergedEntry(client, options), site, { replace });
}

/** Starts what now stands in the client's file, which is what the client will start. */
async function startWritten(result: Installed, options: InstallOptions, starter: Starter): Promise<void> {
  const { name, scope, site } = options;
  if (result.failure !== undefined) return;
  const entry = readEntry(result.client, scope, name, site);
  if (entry.state === "present") {
    const target = sshTarget(entry.server);
    const { title } = result.client;
    const block = result.findings?.blocked;
    if (entry.disabled) result.started = switchedOff(title);
    else if (block) result.started = blockedStart(title, block, site);
    // A host that came with a project's file is not connected to.
    else result.started = await starter.start(entry.server, scope, site, isOwn(entry.server, options));
    if (target !== undefined) {
      result.keepsHost = options.ssh === undefined;
      return;
    }
    result.keepsMemory =
      memoryOf(entry.server, site.home) !== memoryOf(entryFromFlags(options, result.client), site.home);
  } else result.started = { ok: false, problem: "cannot be read back from the client's file", stderr: "" };
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
