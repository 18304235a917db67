/** Rows that repeat, replace or contradict each other. */
import { readId } from "../../checks/ids.ts";
import { ValueError } from "../../errors.ts";
import { collectionAbout } from "../memory/collection.ts";
import { pathOf } from "../pages/addresses.ts";
import { problemPage } from "../pages/problem.ts";
import { duplicatesPage } from "../pages/rows/duplicates.ts";
import { ELSEWHERE, html, type Routes } from "./call.ts";
import { idIn } from "./row.ts";

export const DUPLICATES_ROUTES: Routes = {
  "GET /c/:name/duplicates": async (site, { params, url, request, said }) => {
    if (site.local === undefined) return html(problemPage(site, ELSEWHERE), 404);
    const about = await collectionAbout(site, params.name!);
    const number = (name: string) => Number(/^\d{1,15}$/.exec(url.searchParams.get(name) ?? "")?.[0] ?? 0);
    const after = url.searchParams.has("updated") ? { updated: number("updated"), skip: number("skip") } : undefined;
    const terminal = await site.local.terminal();
    const which = { collection: about.name, after, limit: LOOKED };
    const found = await terminal.pairs(which, { signal: request.signal });
    return html(duplicatesPage(site, about, { ...found, skipped: number("looked") }, said));
  },
  "POST /c/:name/replaced": async (site, { request, params, url, done }) => {
    if (site.local === undefined) throw new ValueError(ELSEWHERE);
    const [collection, id, by] = [params.name!, idIn(url), readId(url.searchParams.get("by") ?? "", "by")];
    const terminal = await site.local.terminal();
    await terminal.mark_replaced({ collection, id, by }, { signal: request.signal });
    return done(pathOf(collection, "duplicates"), `Marked ${id} as replaced by ${by}: searches list it last.`);
  },
};

/** Rows of a page: for each a search. */
const LOOKED = 25;
