/** Which clients an install is for: those that flags name, else those that a person chooses; and what that person answers. */
import type { Client } from "../../clients/client.ts";
import type { ServerEntry } from "../../clients/shapes.ts";
import { sshTarget } from "../../clients/ssh.ts";
import { attempt } from "../../errors.ts";
import { EXIT } from "../terminal/command.ts";
import { note, print, printJson } from "../terminal/output.ts";
import { chosenOf, confirm } from "./consent.ts";
import type { EntryFlags } from "./entry-flags.ts";
import { entryFromFlags, mergedEntry } from "./entry-plan.ts";
import { type ExtraFlags, statesOfExtras } from "./extras.ts";
import { type InstallOptions, installInto, planEntry } from "./install-clients.ts";
import { otherMachine, writeTokenFile } from "./served.ts";
import { CLIENT_IDS, listed, namedClients, presentClients } from "./targets.ts";

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

/** @returns the exit code: nothing was installed */
function nothingFound(name: string, entry: ServerEntry, isJson: boolean | undefined): number {
  const block = { mcpServers: { [name]: entry } };
  if (isJson) printJson({ name, server: entry, clients: [], block });
  note(`no MCP client was found on this machine: name one with --client (${CLIENT_IDS.join(", ")}),`);
  note("or put this into the configuration of yours:");
  if (!isJson) print(JSON.stringify(block, undefined, 2));
  return EXIT.failed;
}
