/** The MCP clients of this machine: what their configuration starts, and whether that answers. */

import { buildInfo } from "../../build-info.ts";
import type { ClientSite } from "../../clients/client.ts";
import { CLIENTS, isThere } from "../../clients/clients.ts";
import type { ServerEntry } from "../../clients/shapes.ts";
import { sshTarget, svcArgs } from "../../clients/ssh.ts";
import { attempt } from "../../errors.ts";
import { type Env, memoryPath } from "../../paths.ts";
import { shellWord } from "../../shell-word.ts";
import { memoryOf, programOf } from "../mcp/entry.ts";
import { blockSentence } from "../mcp/entry-findings.ts";
import { flagValue, VALUED } from "../mcp/entry-flags.ts";
import { type ClientState, statesOf } from "../mcp/states.ts";
import { ENTRY_NAME, entryCommand, printedFile, siteOf } from "../mcp/targets.ts";
import { oneLine } from "../terminal/output.ts";
import { type Finding, Findings, tilde } from "./finding.ts";

/** Looks at every client that is here or has an entry; starts each distinct command of svc once. */
export async function checkClients(env: Env, signal: AbortSignal): Promise<Finding[]> {
  const found = new Findings("clients");
  const site = siteOf(env);
  const states = await statesOf(CLIENTS, ["user", "project"], undefined, site, { env, signal, isOnline: false });
  for (const state of states) checkState(found, state, site);
  const without = states.filter(({ entry, isPresent, scope }) => {
    return entry.state === "absent" && isPresent && scope === "user";
  });
  if (without.length > 0) {
    const names = without.map(({ client }) => client.title).join(", ");
    found.ok("absent", `clients on this machine without svc: ${names}`, "svc mcp install");
  }
  for (const client of CLIENTS) {
    const own = states.filter((state) => state.client === client && isOurs(state));
    for (const { name } of own.filter(({ scope }) => scope === "project")) {
      const ofUser = own.find((state) => state.scope === "user" && state.name === name);
      if (ofUser === undefined) continue;
      const wins = ofUser.findings.override?.scope === "project" ? "the project's" : "one of them";
      const message = `${client.title} has ${entryTitle(name)} in the user's configuration and in the project's: only ${wins} is started`;
      found.warning("duplicate", message, entryCommand("uninstall", { client, scope: "project", name }));
    }
  }
  if (found.list.length === 0)
    found.ok(
      "none",
      "no MCP client was found on this machine: to set one up anyway, run 'svc mcp install --client NAME'",
    );
  return found.list;
}

const isOurs = ({ entry }: ClientState) => entry.state === "present" && entry.isOurs;

const entryTitle = (name: string) => (name === ENTRY_NAME ? "svc" : `svc as '${name}'`);

/** The flags that install an entry again with what it chose, after an uninstall or on another machine. */
function chosenFlags(server: ServerEntry): string {
  const host = sshTarget(server)?.host;
  const args = svcArgs(server);
  let flags = host === undefined ? "" : ` --ssh ${shellWord(oneLine(host))}`;
  for (const valued of VALUED) {
    const name = `--${valued}`;
    const value = flagValue(args, name);
    if (value !== undefined) flags += ` ${name} ${shellWord(oneLine(value))}`;
  }
  return flags;
}

function checkState(found: Findings, state: ClientState, site: ClientSite): void {
  const { client, scope, name, entry, isThis, started } = state;
  const inProject = scope === "project" ? ", this project" : "";
  const where =
    name === ENTRY_NAME
      ? `${client.title}${inProject && " (this project)"}`
      : `${client.title} ('${name}'${inProject})`;
  const install = entryCommand("install", state);
  const { hooks } = state;
  if (hooks?.state === "unreadable") {
    const message = `${where}: ${printedFile(hooks.file, site)} cannot be read: ${oneLine(hooks.problem)}`;
    found.problem("hooks_unreadable", message, "mend the file");
  }
  if (typeof hooks?.missing === "string") {
    const message = `${where} has hooks that start ${oneLine(hooks.missing)}, which is not there`;
    found.problem("hooks_missing", message, `${install} --hooks`);
  }
  const again = entry.state === "present" ? `${install}${chosenFlags(entry.server)}` : install;
  if (entry.state === "absent") return;
  if (entry.state === "unreadable") {
    const message = `${where}: ${printedFile(entry.file, site)} cannot be read: ${oneLine(entry.problem)}`;
    found.problem("unreadable", message, `mend the file, then ${install}`);
    return;
  }
  if (!entry.isOurs) {
    const message = `${where} has an entry '${ENTRY_NAME}' that starts something else: replace it, or give svc another --name`;
    found.warning("other_server", message, `${install} --replace`);
    return;
  }
  if (entry.disabled) {
    found.warning("disabled", `${where} has svc, but it is switched off there`, `switch it on in ${client.title}`);
    return;
  }
  if (state.findings.blocked !== undefined) {
    const { file, key } = state.findings.blocked;
    const remedy = `change '${oneLine(key)}' in ${printedFile(file, site)}`;
    found.problem("blocked", `${where} ${blockSentence(state.findings.blocked, site)}`, remedy);
    return;
  }
  if (started?.ok === false) {
    const message = `${where} starts ${oneLine(entry.server.command)}, which ${oneLine(started.problem)}`;
    // Where the program is there, the arguments may be what is wrong: none of them is taken over.
    const isGone = programOf(entry.server.command, site.env) === undefined || !isThere(entry.server.command);
    found.problem("command", message, isGone ? again : install);
    return;
  }
  if (started?.ok !== true) {
    const message = `${where} has svc, and its command was ${started?.problem ?? "not started"}`;
    if (started?.why === "command") found.problem("not_started", message, install);
    else found.ok("not_started", message);
    return;
  }
  // One that --path names was meant.
  const memory = memoryOf(entry.server, site.home);
  const here = memoryPath(undefined, site.env);
  if (flagValue(entry.server.args, "--path") === undefined && memory !== here) {
    const message = `${where} uses another memory than the one here: ${tilde(memory, site.env)}`;
    // One of --path of this command is not that of the next.
    const path = here === memoryPath(undefined, process.env) ? "" : ` --path ${shellWord(oneLine(here))}`;
    found.warning("memory", message, `${entryCommand("uninstall", state)} && ${again}${path}`);
  }
  const version = started.version;
  if (isThis === false) {
    const isOld = version !== attempt(() => buildInfo().version);
    const message = `${where} starts another svc, ${oneLine(version)}, at ${oneLine(entry.server.command)}`;
    found.warning(isOld ? "version" : "executable", message, again);
    return;
  }
  found.ok(
    "answers",
    `${where} starts ${isThis === undefined ? "svc" : "this svc"}: ${oneLine(version)}, ${started.tools} tools`,
  );
}
