/** The first page: all collections. */
import { existsSync } from "node:fs";
import { whyUnreadable } from "../../store/overview.ts";
import type { LocalParts, Site } from "../memory/site.ts";
import { call } from "../memory/verb.ts";
import { type CollectionShown, collectionsPage } from "../pages/collections.ts";
import { html, type Routes } from "./call.ts";

export const OVERVIEW_ROUTES: Routes = {
  "GET /": async (site, { said, url }) => {
    const after = url.searchParams.get("after") ?? "";
    const isThere = site.local === undefined || existsSync(site.memory);
    const list = await collectionsOf(site);
    const days = after === "" && site.local !== undefined ? await daysOf(site, site.local, list) : undefined;
    return html(collectionsPage(site, { list, after, isThere, days, said }));
  },
};

/** Counting opens each collection, and the page must not wait until hundreds are open. */
const COUNTING_MS = 100;

/** Rows of all collections by the day of their creation: of the largest ones, for as long as there is time. */
async function daysOf(site: Site, local: LocalParts, list: readonly CollectionShown[]) {
  const terminal = await local.terminal();
  const found: { first: number; rows: number[] }[] = [];
  const until = performance.now() + COUNTING_MS;
  const readable = list.filter(({ unreadable, rows = 0 }) => unreadable === undefined && rows > 0);
  let counted = list.length - readable.length;
  for (const { name } of readable.toSorted((a, b) => b.rows! - a.rows!)) {
    if (performance.now() > until) break;
    // The collection's own page says what is wrong with it.
    found.push(await terminal.days({ collection: name, now: site.now() }).catch(() => ({ first: 0, rows: [] })));
    counted += 1;
  }
  const some = found.filter(({ rows }) => rows.length > 0);
  if (some.length === 0) return undefined;
  const first = Math.min(...some.map((one) => one.first));
  const sums = new Array<number>(Math.max(...some.map((one) => one.first + one.rows.length)) - first).fill(0);
  for (const one of some) for (const [at, rows] of one.rows.entries()) sums[one.first - first + at]! += rows;
  return { first, rows: sums, counted };
}

async function collectionsOf(site: Site): Promise<CollectionShown[]> {
  if (site.local !== undefined) {
    return (await site.local.overview()).map((one) => ({
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
