/** The rows of a collection, and searches. */
import { readTime } from "../../checks/times.ts";
import { readWrittenValue } from "../../checks/where.ts";
import { SvcError, ValueError } from "../../errors.ts";
import { type CollectionAbout, collectionAbout } from "../memory/collection.ts";
import { firstOf, latestPage } from "../memory/rows.ts";
import type { Site } from "../memory/site.ts";
import { call } from "../memory/verb.ts";
import { type ListRequest, rowsPage, rowsWithin, type Shown, searchPage } from "../pages/rows/list.ts";
import { html, type Routes } from "./call.ts";

export const ROWS_ROUTES: Routes = {
  "GET /c/:name": async (site, { params, url, said }) => {
    const about = await collectionAbout(site, params.name!);
    const request = listRequestOf(url);
    const shown = about.unreadable === undefined ? await attempted(() => rowsOf(site, about, request, url)) : {};
    return html(rowsPage(site, about, request, shown, said), shown.problem === undefined ? 200 : 400);
  },
  "GET /search": async (site, { url }) => {
    const request = listRequestOf(url);
    const shown = request.q === "" ? {} : await attempted(() => search(site, "*", undefined, request.q, url));
    return html(searchPage(site, request, shown), shown.problem === undefined ? 200 : 400);
  },
};

/** Rows of a page. */
const ROWS = 25;
/** Hits at first, and at most: a page has room for the beginnings of so many texts. */
const HITS = 10;
const HITS_MAX = 50;
/** Bytes of a row's text, before it becomes HTML. */
const TEXT_BYTES = 700;

function listRequestOf(url: URL): ListRequest {
  const given = (name: string) => url.searchParams.get(name)?.trim() ?? "";
  return {
    q: given("q"),
    column: given("column"),
    value: given("value"),
    since: given("since"),
    until: given("until"),
  };
}

/** The page says below the fields what is wrong with a filter or a search. */
async function attempted(work: () => Promise<Shown>): Promise<Shown> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    return { problem: error.message };
  }
}

async function rowsOf(site: Site, about: CollectionAbout, request: ListRequest, url: URL): Promise<Shown> {
  if (request.column === "" && request.value !== "") throw new ValueError("choose the column that has this value");
  const value = request.value === "" ? null : readWrittenValue(request.value);
  const where = request.column === "" ? undefined : { [request.column]: value };
  const time = (written: string, name: string) => (written === "" ? undefined : readTime(written, name));
  const [since, until] = [time(request.since, "changed on or after"), time(request.until, "changed before")];
  if (request.q === "") {
    const after = placeIn(url);
    const filter = { collection: about.name, where, since, until, after };
    const list = await latestPage(site, { ...filter, limit: ROWS, textBytes: TEXT_BYTES });
    return { list: firstOf(list, rowsWithin(list.rows.map(({ id }) => id)), after) };
  }
  const shown = await search(site, about.name, where, request.q, url);
  return since === undefined && until === undefined ? shown : { ...shown, isUntimed: true };
}

/** The answer of svc_search. */
async function search(
  site: Site,
  collection: string,
  where: Record<string, unknown> | undefined,
  query: string,
  url: URL,
): Promise<Shown> {
  const most = numberIn(url, "most", HITS_MAX) ?? HITS;
  const request = { collection, query, where, top_k: most, with_text: true, with_times: true };
  const found = await call(site, "search", request, { textBytes: TEXT_BYTES, weakTexts: true, substitutes: true });
  return { found, more: found.hits.length === most && most < HITS_MAX ? HITS_MAX : undefined };
}

/** Where a page of the list begins. */
function placeIn(url: URL) {
  const updated = numberIn(url, "before", Number.MAX_SAFE_INTEGER);
  return updated === undefined ? undefined : { updated, skip: numberIn(url, "skip", ROWS_MAX) ?? 0 };
}

const ROWS_MAX = 2 ** 31;

/** A whole number among the parameters; undefined for anything else. */
function numberIn(url: URL, name: string, most: number): number | undefined {
  const given = url.searchParams.get(name) ?? "";
  return /^\d{1,16}$/.test(given) ? Math.min(Number(given), most) : undefined;
}
