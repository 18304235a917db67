/** The entry that an install gives a client: what its flags say, and what an earlier install said and this one does not. */
import { isAbsolute } from "node:path";
import type { Client } from "../../clients/client.ts";
import { readEntry } from "../../clients/plan.ts";
import type { ServerEntry } from "../../clients/shapes.ts";
import { overSsh, sshTarget, svcArgs } from "../../clients/ssh.ts";
import type { Env } from "../../paths.ts";
import { entryOf, ownExecutable } from "./entry.ts";
import { argsOf, type EntryFlags, mergedFlags } from "./entry-flags.ts";
import type { Target } from "./targets.ts";

/** What an entry is made of. */
export interface EntryPlan extends Target, EntryFlags {
  readonly env: Env;
  /** The host on which svc is started, over ssh. */
  readonly ssh?: string | undefined;
}

/** The entry from this call's flags alone. @param client where the entry is for one */
export function entryFromFlags(plan: EntryPlan, client?: Client): ServerEntry {
  const { env, ssh } = plan;
  if (ssh !== undefined) return overSsh(ssh, argsOf(plan));
  return entryOf({ ...plan, executable: ownExecutable(), env, folder: folderFor(client, plan) });
}

/**
 * The entry that a client gets. What an earlier install chose stays where this one does not choose: the host, the memory
 * and the other flags.
 */
export function mergedEntry(client: Client, plan: EntryPlan): ServerEntry {
  const { name, scope, site, env, ssh, remote } = plan;
  const entry = readEntry(client, scope, name, site);
  const former = entry.state === "present" && entry.isOurs ? entry.server : undefined;
  if (former === undefined) return entryFromFlags(plan, client);
  const target = sshTarget(former);
  // An address is for a memory that svc reaches from this machine.
  const host = ssh ?? (remote === undefined ? target?.host : undefined);
  const flags = mergedFlags(plan, svcArgs(former), host === target?.host);
  if (host === undefined) {
    // One that depends on the client's working directory is another folder here.
    const path = plan.path ?? (isAbsolute(flags.path ?? "") ? flags.path : undefined);
    // A former workspace may be gone: only one that this command names is checked.
    const folder = folderFor(client, plan) ?? flags.workspace;
    return entryOf({ ...flags, path, workspace: plan.workspace, executable: ownExecutable(), env, folder });
  }
  // Options of ssh in a project's file can run a program on this machine: a host that this command names gets none.
  const isTrusted = scope === "user" || ssh === undefined;
  return overSsh(host, argsOf(flags), isTrusted && target?.host === host ? target.before : undefined);
}

/** The folder of the project, for a project's entry of a client that does not say to its servers where it works. */
function folderFor(client: Client | undefined, { scope, site }: Target): string | undefined {
  const needsNoFolder = client === undefined || scope === "user" || client.reportsProject === true;
  return needsNoFolder ? undefined : site.project;
}
