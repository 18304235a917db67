/** The entry that an install gives a client: what its flags say, and what an earlier install gave it and this one does not name. */
import type { Client } from "../../clients/client.ts";
import { readEntry } from "../../clients/plan.ts";
import type { ServerEntry } from "../../clients/shapes.ts";
import { sshTarget } from "../../clients/ssh.ts";
import type { Env } from "../../paths.ts";
import { type EntryFlags, entryOf, flagValue, keptFlags, ownExecutable } from "./entry.ts";
import { sshEntry } from "./ssh.ts";
import type { Target } from "./targets.ts";

/** What an entry is made of. */
export interface Wanted extends Target, EntryFlags {
  readonly env: Env;
  /** The host on which svc is started, over ssh. */
  readonly ssh?: string | undefined;
}

/** The entry without what an earlier install gave, for a client where one is named. */
export function plannedEntry(options: Wanted, client?: Client): ServerEntry {
  const { env, ssh, path, remote, "token-file": token, workspace, tools, secrets, project, scope, site } = options;
  const flags = { path, remote, "token-file": token, workspace, tools, secrets, project };
  if (ssh !== undefined) return sshEntry(ssh, flags, undefined);
  const isNamed = client === undefined || scope === "user" || client.namesProject === true;
  return entryOf({ executable: ownExecutable(), env, ...flags, folder: isNamed ? undefined : site.project });
}

/** The entry that a client is to have. One that starts svc on a host goes on to do so. */
export function wantedEntry(client: Client, options: Wanted): ServerEntry {
  const { name, scope, site } = options;
  const entry = readEntry(client, scope, name, site);
  const former = entry.state === "present" && entry.isOurs ? entry.server : undefined;
  const host = options.ssh ?? (former && sshTarget(former)?.host);
  // The words of ssh in a project's file can run a program on this machine: a host that this command names gets none.
  const isTrusted = scope === "user" || options.ssh === undefined;
  if (host !== undefined) return sshEntry(host, options, former, isTrusted);
  const kept = keptFlags(former?.args ?? [], plannedEntry(options, client).args);
  const own = (name: "project" | "secrets" | "remote" | "token-file") => flagValue(kept, `--${name}`) ?? options[name];
  const whole = {
    project: own("project"),
    secrets: own("secrets"),
    remote: own("remote"),
    "token-file": own("token-file"),
  };
  const server = plannedEntry({ ...options, ...whole }, client);
  const args = [...server.args, ...kept.filter((flag) => flag === "--no-persistent-index")];
  return { ...server, args };
}
