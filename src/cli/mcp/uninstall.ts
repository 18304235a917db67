/** `svc mcp uninstall`: takes the entry out of the configuration of MCP clients again. */

import type { Client } from "../../clients/client.ts";
import { planUninstall } from "../../clients/plan.ts";
import type { Env } from "../../paths.ts";
import { command, EXIT } from "../terminal/command.ts";
import { note, oneLine, print, printJson } from "../terminal/output.ts";
import { fit } from "../terminal/width.ts";
import { type Changed, changed, changesJson } from "./change.ts";
import { areMeant, CONSENT_FLAGS } from "./consent.ts";
import {
  CLIENT_FLAGS,
  configuredClients,
  linkedFile,
  namedClients,
  otherEntries,
  SCOPE_FLAG,
  shownFile,
  type Target,
  targetOf,
} from "./targets.ts";

export default command({
  details:
    "The rest of the client's file stays byte for byte; right after an install, the file is again as it was before.\n" +
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
    const results: Changed[] = [];
    for (const client of clients) {
      results.push(await changed(client, target, () => planUninstall(client, scope, name, site), isDry));
    }
    if (args.json) printJson({ name, scope, dry_run: isDry, clients: await changesJson(results, target, isDry) });
    else await show(results, target, isDry);
    return results.every(({ failure }) => failure === undefined) ? EXIT.done : EXIT.failed;
  },
});

/** Those that have an entry, once that was agreed to; undefined where a person says no. */
async function agreed(target: Target, isAgreed: boolean, env: Env, signal: AbortSignal): Promise<Client[] | undefined> {
  const found = configuredClients(target.site, target.scope, target.name);
  if (found.length === 0 || isAgreed) return found;
  const consent = { found: "found in", action: "remove svc from", env, signal };
  return (await areMeant(found, consent)) ? found : undefined;
}

async function show(results: readonly Changed[], { name, scope, site }: Target, isDry: boolean): Promise<void> {
  if (results.length === 0) {
    print(`no client has an entry '${oneLine(name)}' of svc`);
    for (const line of otherEntries(site, scope, name)) note(`an entry of another name: ${line}`);
  }
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
      const held = change.action === "delete" ? ", which held nothing else" : "";
      print(fit(`${client.title}: removed from ${linkedFile(change.file, site)}${held}${kept}`));
      note(client.afterRemoval);
    }
  }
}
