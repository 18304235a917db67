/** The first page: all collections. */
import { existsSync } from "node:fs";
import { whyUnreadable } from "../../store/overview.ts";
import type { Site } from "../memory/site.ts";
import { call } from "../memory/verb.ts";
import { type CollectionShown, collectionsPage } from "../pages/collections.ts";
import { html, type Routes } from "./call.ts";

export const OVERVIEW_ROUTES: Routes = {
  "GET /": async (site, { said, url }) => {
    const after = url.searchParams.get("after") ?? "";
    const isThere = site.local === undefined || existsSync(site.memory);
    return html(collectionsPage(site, { list: await collectionsOf(site), after, isThere, said }));
  },
};

async function collectionsOf(site: Site): Promise<CollectionShown[]> {
  if (site.local !== undefined) {
    const list = await (await site.local.terminal()).overview({});
    return list.map((one) => ({
      name: one.name,
      rows: one.rows,
      bytes: one.bytes,
      lastWrite: one.last_write,
      description: one.description,
      unreadable: whyUnreadable(one)?.[1],
    }));
  }
  const { collections, details = [] } = await call(site, "list_collections", {});
  const byName = new Map(details.map((one) => [one.name, one]));
  return collections.map((name) => {
    const { rows, last_write, description } = byName.get(name) ?? {};
    return { name, rows, lastWrite: last_write === undefined ? undefined : Date.parse(last_write), description };
  });
}
