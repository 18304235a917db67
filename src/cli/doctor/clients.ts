/** The MCP clients of this machine: what their configuration starts, and whether that answers. */

import { buildInfo } from "../../build-info.ts";
import type { ClientSite } from "../../clients/client.ts";
import { CLIENTS } from "../../clients/clients.ts";
import { type Env, memoryPath } from "../../paths.ts";
import { memoryOf } from "../mcp/entry.ts";
import { type ClientState, statesOf } from "../mcp/status.ts";
import { ENTRY_NAME, shownFile, siteOf } from "../mcp/targets.ts";
import { oneLine } from "../output.ts";
import { type Finding, Findings, tilde } from "./finding.ts";

/** Looks at every client that is here or has an entry; starts each distinct command of svc once. */
export async function checkClients(env: Env, signal: AbortSignal): Promise<Finding[]> {
  const found = new Findings("clients");
  const site = siteOf(env);
  const states = await statesOf(CLIENTS, ["user", "project"], ENTRY_NAME, site, { env, signal });
  for (const state of states) checkState(found, state, site);
  const without = states.filter(({ entry, isPresent, scope }) => {
    return entry.state === "absent" && isPresent && scope === "user";
  });
  if (without.length > 0) {
    const names = without.map(({ client }) => client.title).join(", ");
    found.ok("absent", `on this machine, and without svc: ${names}`, "svc mcp install");
  }
  for (const client of CLIENTS) {
    const both = states.filter((state) => state.client === client && isOurs(state));
    if (both.length < 2) continue;
    const message = `${client.title} has svc in the user's configuration and in the project's: only one of them is started`;
    found.warning("duplicate", message, `svc mcp uninstall --client ${client.id} --scope project`);
  }
  if (found.list.length === 0)
    found.ok("none", "no MCP client was found on this machine: 'svc mcp install --client NAME' names one");
  return found.list;
}

const isOurs = ({ entry }: ClientState) => entry.state === "present" && entry.isOurs;

function checkState(found: Findings, { client, scope, entry, isThis, started }: ClientState, site: ClientSite): void {
  const where = `${client.title}${scope === "project" ? " (this project)" : ""}`;
  const flags = `--client ${client.id}${scope === "project" ? " --scope project" : ""}`;
  const install = `svc mcp install ${flags}`;
  if (entry.state === "absent") return;
  if (entry.state === "unreadable") {
    const message = `${where}: ${shownFile(entry.file, site)} cannot be read: ${oneLine(entry.problem)}`;
    found.problem("unreadable", message, `mend the file, then ${install}`);
    return;
  }
  if (!entry.isOurs) {
    const message = `${where} has an entry '${ENTRY_NAME}' that starts something else`;
    found.warning("other_server", message, `${install} --replace, or --name with another name`);
    return;
  }
  if (entry.disabled) {
    found.warning("disabled", `${where} has svc, and it is switched off there`, `switch it on in ${client.title}`);
    return;
  }
  if (started?.ok === false) {
    const message = `${where} starts ${oneLine(entry.server.command)}, which ${oneLine(started.problem)}`;
    found.problem("command", message, `${install} --replace`);
    return;
  }
  if (started?.ok !== true) {
    found.ok("not_started", `${where} has svc in a file of the project, which was not started`);
    return;
  }
  // One that --path names was meant.
  const isMeant = entry.server.args.some((arg) => /^--path(=|$)/.test(arg));
  const memory = memoryOf(entry.server, site.home);
  if (!isMeant && memory !== memoryPath(undefined, site.env)) {
    const message = `${where} uses another memory than the one here: ${tilde(memory, site.env)}`;
    found.warning("memory", message, `svc mcp uninstall ${flags} && ${install}`);
  }
  const version = started.version;
  if (isThis === false) {
    const isOld = version !== ownVersion();
    const message = `${where} starts another svc, ${oneLine(version)}, at ${oneLine(entry.server.command)}`;
    found.warning(isOld ? "version" : "executable", message, install);
    return;
  }
  found.ok(
    "answers",
    `${where} starts ${isThis === undefined ? "svc" : "this svc"}: ${oneLine(version)}, ${started.tools} tools`,
  );
}

function ownVersion(): string | undefined {
  try {
    return buildInfo().version;
  } catch {
    return undefined;
  }
}
