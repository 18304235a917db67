/** `svc mcp uninstall`: takes the entry out of the configuration of MCP clients again. */

import type { Client } from "../../clients/client.ts";
import { CLIENTS, otherReaders } from "../../clients/clients.ts";
import { ownNames, planUninstall, readEntry } from "../../clients/plan.ts";
import type { Env } from "../../paths.ts";
import { command, EXIT } from "../terminal/command.ts";
import { note, oneLine, print, printJson } from "../terminal/output.ts";
import { fit } from "../terminal/width.ts";
import { type Changed, changed, changesJson } from "./change.ts";
import { CONSENT_FLAGS, chosenOf } from "./consent.ts";
import { type Extras, extrasJson, listedExtras, removeExtras, statesOfExtras } from "./extras.ts";
import { removeUnusedTokenFile, tokenFileIn } from "./served.ts";
import {
  CLIENT_FLAGS,
  configuredClients,
  linkedFile,
  listed,
  namedClients,
  otherEntries,
  printedFile,
  SCOPE_FLAG,
  type Target,
  targetOf,
} from "./targets.ts";

export default command({
  details:
    "The rest of the client's file stays byte for byte; right after an install, the file is again as it was before.\n" +
    "Hooks and instructions of svc go with the last entry of a client.\n" +
    "An entry of the same name that starts another program is left alone. The memory and the login stay.",
  examples: ["svc mcp uninstall", "svc mcp uninstall --client cursor --dry-run", "svc mcp uninstall --all --json"],
  args: {
    ...CLIENT_FLAGS,
    scope: SCOPE_FLAG,
    ...CONSENT_FLAGS,
    "dry-run": { type: "boolean", description: "print the difference, write nothing" },
  },
  async run({ args, env, signal }) {
    const target = targetOf(args, env);
    const isDry = args["dry-run"] === true;
    const isAgreed = args.all || args.yes || isDry;
    const clients =
      args.client.length > 0 ? namedClients(args.client) : await agreed(target, isAgreed === true, env, signal);
    if (clients === undefined) return EXIT.failed;
    const { name, scope, site } = target;
    const results: Removed[] = [];
    for (const client of clients) {
      // Hooks first: the way back from the entry is known only for the file that its install left.
      const others = ownNames(client, scope, site).filter((other) => other !== name);
      const extras = others.length > 0 ? {} : await removeExtras(client, target, isDry);
      const former = readEntry(client, scope, name, site);
      results.push({
        ...(await changed(client, target, () => planUninstall(client, scope, name, site), isDry)),
        ...extras,
      });
      if (!isDry && former.state === "present") removeUnusedTokenFile(tokenFileIn(former.server), target, env);
    }
    if (args.json) {
      const [changes, extras] = await Promise.all([
        changesJson(results, target, isDry),
        Promise.all(results.map((result) => extrasJson(result, target, isDry))),
      ]);
      const clients = changes.map((change, i) => {
        const { client, change: made } = results[i]!;
        const readers = made === undefined ? [] : otherReaders(client, scope, made.file, site);
        return { ...change, ...extras[i], also_read_by: readers.map(({ id }) => id) };
      });
      printJson({ name, scope, dry_run: isDry, clients });
    } else await show(results, target, isDry);
    const failures = results.flatMap(({ failure, hooks, instructions }) => [
      failure,
      hooks?.failure,
      instructions?.failure,
    ]);
    return failures.every((failure) => failure === undefined) ? EXIT.done : EXIT.failed;
  },
});

/** What became of one client. */
type Removed = Changed & Extras;

/** Those that have an entry, once that was agreed to; undefined where a person says no. */
async function agreed(target: Target, isAgreed: boolean, env: Env, signal: AbortSignal): Promise<Client[] | undefined> {
  const configured = configuredClients(target.site, target.scope, target.name);
  const found = CLIENTS.filter((client) => configured.includes(client) || hasLeftovers(client, target));
  if (found.length === 0 || isAgreed) return found;
  return chosenOf(found, { found: "found in", action: "remove svc from", env, signal });
}

/** Whether a client whose entry is gone still has hooks or instructions. */
function hasLeftovers(client: Client, target: Target): boolean {
  if (!client.scopes.includes(target.scope)) return false;
  const { hooks, instructions } = statesOfExtras(client, target);
  const isLeft = hooks?.state === "present" || instructions?.state === "present";
  return isLeft && ownNames(client, target.scope, target.site).length === 0;
}

async function show(results: readonly Removed[], { name, scope, site }: Target, isDry: boolean): Promise<void> {
  if (results.length === 0) {
    print(`no client has an entry '${oneLine(name)}' of svc`);
    for (const line of otherEntries(site, scope, name)) note(`an entry of another name: ${line}`);
  }
  for (const { hooks, instructions, ...entry } of results) {
    for (const [what, changed] of listedExtras({ hooks, instructions })) await showOne(changed, what, site, isDry);
    await showOne(entry, `entry '${oneLine(name)}'`, site, isDry);
    const { client, change } = entry;
    if (change === undefined || change.action === "none") continue;
    if (!isDry) note(client.afterRemoval);
    const readers = otherReaders(client, scope, change.file, site);
    const file = printedFile(change.file, site);
    const also = isDry ? "" : "; the entry is gone for them too";
    if (readers.length > 0) note(`${client.title}: ${file} is also read by ${listed(readers)}${also}`);
    const left = isDry ? undefined : readEntry(client, scope, name, site);
    if (left?.state === "present" && left.isOurs)
      note(`${client.title}: ${printedFile(left.file, site)} has the entry as well; run this again to remove it`);
  }
}

async function showOne(
  { client, change, backup, failure }: Changed,
  what: string,
  site: Target["site"],
  isDry: boolean,
): Promise<void> {
  if (failure !== undefined || change === undefined)
    return note(`${client.title}: ${oneLine(`${failure?.type}: ${failure?.message}`)}`);
  const file = printedFile(change.file, site);
  if (change.action === "none") return print(`${client.title}: had no ${what} in ${file}`);
  if (isDry) {
    const { differenceOf } = await import("./difference.ts");
    return print(differenceOf(file, change.before, change.after));
  }
  const kept = backup === undefined ? "" : `; as it was: ${linkedFile(backup, site)}`;
  const held = change.action === "delete" ? ", which held nothing else" : "";
  const part = what.startsWith("entry") ? "" : `${what} `;
  print(fit(`${client.title}: ${part}removed from ${linkedFile(change.file, site)}${held}${kept}`));
}
