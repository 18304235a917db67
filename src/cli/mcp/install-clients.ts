/** Installs into clients one after the other: the entry, hooks and instructions, and a start of what was written. */
import type { Change, Client } from "../../clients/client.ts";
import { planInstall, readEntry } from "../../clients/plan.ts";
import type { ServerEntry } from "../../clients/shapes.ts";
import { sshTarget, svcArgs } from "../../clients/ssh.ts";
import { EXIT } from "../terminal/command.ts";
import { printJson } from "../terminal/output.ts";
import { changed } from "./change.ts";
import { environmentNotes, memoryOf, ownExecutable, ownExecutableOrNone, placeWarnings } from "./entry.ts";
import { type EntryFindings, findingsOn } from "./entry-findings.ts";
import { missingLogin } from "./entry-login.ts";
import { type EntryPlan, entryFromFlags, mergedEntry } from "./entry-plan.ts";
import { changeExtras, type ExtraFlags } from "./extras.ts";
import { type Installed, type InstallNotes, installedJson, showInstalled } from "./install-report.ts";
import { addressIn, removeUnusedTokenFile, servedNote, type TokenFile, tokenFileIn, writeTokenFile } from "./served.ts";
import { hostNote } from "./ssh.ts";
import { blockedStart, Starter, switchedOff } from "./started.ts";

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

/** The change of a client's file that adds or updates the entry; nothing is written. @throws what `planInstall` throws */
export function planEntry(client: Client, options: InstallOptions): Change {
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
