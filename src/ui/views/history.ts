/** The saves of a collection, and undoing them. */
import { createHash } from "node:crypto";
import { readId } from "../../checks/ids.ts";
import { ValueError } from "../../errors.ts";
import type { UndoPayload } from "../../memory/payloads.ts";
import { collectionAbout } from "../memory/collection.ts";
import type { Site } from "../memory/site.ts";
import { call } from "../memory/verb.ts";
import { pathOf, rowPath } from "../pages/addresses.ts";
import { problemPage } from "../pages/problem.ts";
import { historyPage, NAMED, type UndoAsked, type UndoPlanned, undoPage } from "../pages/rows/history.ts";
import { ELSEWHERE, html, type Routes } from "./call.ts";
import { fieldsOf } from "./fields.ts";

export const HISTORY_ROUTES: Routes = {
  "GET /c/:name/history": async (site, { params, url, said }) => {
    if (site.local === undefined) return html(problemPage(site, ELSEWHERE), 404);
    const about = await collectionAbout(site, params.name!);
    const skip = Number(/^\d{1,7}$/.exec(url.searchParams.get("skip") ?? "")?.[0] ?? 0);
    const terminal = await site.local.terminal();
    const { saves = [], more } = await terminal.history({ collection: about.name, limit: skip + SAVES });
    const next = more ? skip + SAVES : undefined;
    return html(historyPage(site, about, { saves: saves.slice(skip), skip, next }, said));
  },
  "GET /c/:name/undo": async (site, { params, url }) => {
    const asked = askedOf(params.name!, url);
    const plan = await planned(site, asked);
    return html(undoPage(site, asked, await withTexts(site, plan)));
  },
  "POST /c/:name/undo": async (site, { request, params, url, done }) => {
    const form = await fieldsOf(request);
    const asked = askedOf(params.name!, url);
    const plan = await planned(site, asked);
    if (form.get("digest") !== digestOf(plan)) {
      const problem = "The collection was changed meanwhile. Nothing was undone: this is what an undo would do now.";
      return html(undoPage(site, asked, await withTexts(site, plan), problem), 409);
    }
    const { collection: _, undone: __, dry_run: ___, ...undone } = plan;
    const terminal = await site.local!.terminal();
    const answer = await terminal.undo({ ...asked, dry_run: false, planned: undone }, { signal: request.signal });
    const count = answer.undone === 1 ? "one row is" : `${answer.undone} rows are`;
    const path = asked.id === undefined ? pathOf(asked.collection, "history") : rowPath(asked.collection, asked.id);
    return done(path, `Undone: ${count} as before.`);
  },
};

/** Saves of a page. */
const SAVES = 25;

/** @throws ValueError for a number or an id that none can be */
function askedOf(collection: string, url: URL): UndoAsked {
  const given = (name: string) => url.searchParams.get(name) ?? "";
  const [save, id] = [given("save"), given("id")];
  if (save !== "" && !/^[1-9]\d{0,14}$/.test(save)) throw new ValueError("a save has a whole number");
  return {
    collection,
    save: save === "" ? undefined : Number(save),
    id: id === "" ? undefined : readId(id, "id"),
    force: given("force") === "1",
  };
}

/** What an undo would do. @throws ValueError where there is nothing to undo */
async function planned(site: Site, asked: UndoAsked): Promise<UndoPayload> {
  if (site.local === undefined) throw new ValueError(ELSEWHERE);
  return (await site.local.terminal()).undo({ ...asked, dry_run: true }, {});
}

/** The plan, and the texts of the rows that a page names. */
async function withTexts(site: Site, plan: UndoPayload): Promise<UndoPlanned> {
  const { collection, reverted, removed, changed } = plan;
  const ids = [reverted, removed, changed].flatMap((some) => some.slice(0, NAMED));
  const { rows } =
    ids.length === 0 ? { rows: [] } : await call(site, "get", { collection, ids, max_bytes: TEXTS_BYTES });
  const texts = new Map(rows.flatMap(({ id, text }) => (text === undefined ? [] : [[id, text] as const])));
  return { plan, texts, digest: digestOf(plan) };
}

/** Bytes of texts that are read for a page, as JSON. */
const TEXTS_BYTES = 80_000;

/** The plan in 128 bits: an undo of anything else is asked for again. */
function digestOf(plan: UndoPayload): string {
  return createHash("sha256").update(JSON.stringify(plan)).digest("base64url").slice(0, 22);
}
