/** `svc mcp uninstall`: takes the entry out of the configuration of MCP clients again. */
import type { Client, ClientSite, Scope } from "../../clients/client.ts";
import { planUninstall } from "../../clients/plan.ts";
import type { Env } from "../../paths.ts";
import { command, EXIT, UsageError } from "../command.ts";
import { note, oneLine, print, printJson } from "../output.ts";
import {
  CLIENT_FLAGS,
  CONSENT_FLAGS,
  checkName,
  checkScope,
  configuredClients,
  confirm,
  ENTRY_NAME,
  type Failure,
  failureOf,
  hasPerson,
  linkedFile,
  listed,
  namedClients,
  planAndApply,
  requireScope,
  SCOPE_FLAG,
  shownFile,
  siteOf,
} from "./targets.ts";

export default command({
  details:
    "Every other byte of a client's file stays: right after an install it is as it was before. Entries of that name that\n" +
    "start something else than svc are left alone. The memory and the login stay.",
  examples: ["svc mcp uninstall", "svc mcp uninstall --client cursor --dry-run", "svc mcp uninstall --all --json"],
  args: {
    ...CLIENT_FLAGS,
    scope: SCOPE_FLAG,
    ...CONSENT_FLAGS,
    "dry-run": { type: "boolean", description: "print the difference, write nothing" },
  },
  async run({ args, env, signal }) {
    const scope = (args.scope ?? "user") as Scope;
    const name = args.name ?? ENTRY_NAME;
    const site = siteOf(env);
    checkName(name, site);
    checkScope(scope, site);
    const plan = { name, scope, site, isDry: args["dry-run"] === true };
    const isAgreed = args.all || args.yes || plan.isDry;
    const clients =
      args.client.length > 0 ? namedClients(args.client) : await agreed(plan, isAgreed === true, env, signal);
    if (clients === undefined) return EXIT.failed;
    const results: Removed[] = [];
    for (const client of clients) results.push(await remove(client, plan));
    if (args.json) printJson({ name, scope, dry_run: plan.isDry, clients: await asJson(results, plan) });
    else await show(results, plan);
    return results.every(({ failure }) => failure === undefined) ? EXIT.done : EXIT.failed;
  },
});

interface Plan {
  readonly name: string;
  readonly scope: Scope;
  readonly site: ClientSite;
  readonly isDry: boolean;
}

interface Removed {
  readonly client: Client;
  change?: ReturnType<typeof planUninstall>;
  backup?: string | undefined;
  failure?: Failure;
}

/** Those that have an entry, once that was agreed to; undefined where a person says no. */
async function agreed(plan: Plan, isAgreed: boolean, env: Env, signal: AbortSignal): Promise<Client[] | undefined> {
  const found = configuredClients(plan.site, plan.scope, plan.name);
  if (found.length === 0 || isAgreed) return found;
  const flags = found.map(({ id }) => `--client ${id}`).join(" ");
  if (!hasPerson(env))
    throw new UsageError(`found in ${listed(found)}: name those that are meant (${flags}), or all with --all`);
  note(`found in ${listed(found)}`);
  if (await confirm(`remove svc from ${found.length === 1 ? "it" : "all of them"}?`, signal)) return found;
  signal.throwIfAborted();
  note(`nothing was changed; to name those that are meant: ${flags}`);
  return undefined;
}

async function remove(client: Client, { name, scope, site, isDry }: Plan): Promise<Removed> {
  const result: Removed = { client };
  try {
    requireScope(client, scope);
    Object.assign(result, await planAndApply(() => planUninstall(client, scope, name, site), isDry));
  } catch (error) {
    result.failure = failureOf(error);
  }
  return result;
}

async function show(results: readonly Removed[], { name, site, isDry }: Plan): Promise<void> {
  if (results.length === 0) print(`no client has an entry '${oneLine(name)}' of svc`);
  for (const { client, change, backup, failure } of results) {
    if (failure !== undefined || change === undefined) {
      note(`${client.title}: ${oneLine(`${failure?.type}: ${failure?.message}`)}`);
      continue;
    }
    const file = shownFile(change.file, site);
    if (change.action === "none") {
      print(`${client.title}: had no entry '${oneLine(name)}' in ${file}`);
    } else if (isDry) {
      const { differenceOf } = await import("./difference.ts");
      print(differenceOf(file, change.before, change.after));
    } else {
      const kept = backup === undefined ? "" : `; as it was: ${linkedFile(backup, site)}`;
      print(
        `${client.title}: removed from ${linkedFile(change.file, site)}${change.action === "delete" ? ", which held nothing else" : ""}${kept}`,
      );
      note(client.afterwards);
    }
  }
}

async function asJson(results: readonly Removed[], { site, isDry }: Plan) {
  const { differenceOf } = isDry ? await import("./difference.ts") : {};
  return results.map(({ client, change, backup, failure }) => ({
    client: client.id,
    title: client.title,
    file: change?.file ?? null,
    action: failure ? null : (change?.action ?? null),
    backup: backup ?? null,
    difference:
      change === undefined || change.action === "none" || differenceOf === undefined
        ? null
        : differenceOf(shownFile(change.file, site), change.before, change.after),
    error: failure ?? null,
  }));
}
