/** Whether a client uses another entry of the same name in place of one: that of the project in place of the user's. */
import { blockOf, settingsReader } from "./blocks.ts";
import type { Client, ClientSite, Override, Scope } from "./client.ts";
import { configFile } from "./clients.ts";
import { valueAt } from "./edit/values.ts";
import { readEntry } from "./read.ts";

/**
 * The entry that wins over one in the project of the site; undefined where none does, and for clients whose documentation
 * does not say which of several wins. @throws never
 */
export function overrideOf(client: Client, name: string, scope: Scope, site: ClientSite): Override | undefined {
  const { precedence } = client;
  const { project } = site;
  if (precedence === undefined || project === undefined) return undefined;
  if (precedence.local !== undefined) {
    const file = configFile(client, "user", site);
    if (valueAt(settingsReader(site)(file) ?? {}, precedence.local(project, name)) !== undefined)
      return { file, scope: "local" };
  }
  if (scope === "project" || !client.scopes.includes("project")) return undefined;
  const entry = readEntry(client, "project", name, site);
  if (entry.state !== "present" || entry.disabled) return undefined;
  const block = blockOf(client, { name, scope: "project", server: entry.server }, site);
  return block === undefined || block.isPartial ? { file: entry.file, scope: "project" } : undefined;
}
