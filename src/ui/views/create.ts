/** `/new`: a new collection. */
import { ValueError } from "../../errors.ts";
import type { Site } from "../memory/site.ts";
import { call } from "../memory/verb.ts";
import { pathOf } from "../pages/addresses.ts";
import { createPage, type NewCollection } from "../pages/create.ts";
import { problemPage } from "../pages/problem.ts";
import { html, READ_ONLY, type Routes } from "./call.ts";
import { fieldsOf } from "./fields.ts";

const EMPTY: NewCollection = { name: "", description: "", columns: "", lexical: false };

export const CREATE_ROUTES: Routes = {
  "GET /new": (site) => {
    if (site.readOnly) return html(problemPage(site, READ_ONLY), 403);
    return html(createPage(site, EMPTY));
  },
  "POST /new": async (site, { request, done }) => {
    const form = await fieldsOf(request);
    const given: NewCollection = {
      name: form.text("name"),
      description: form.text("description"),
      columns: form.text("columns"),
      lexical: form.has("lexical"),
    };
    try {
      await create(site, given, request.signal);
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      return html(createPage(site, given, error.message), 400);
    }
    return done(pathOf(given.name), `Created ${given.name}.`);
  },
};

/** @throws ValueError for a name or a column that is not possible, or a name that is taken */
async function create(site: Site, given: NewCollection, signal: AbortSignal): Promise<void> {
  const { name, description, lexical } = given;
  const { collections } = await call(site, "list_collections", {});
  if (collections.includes(name)) throw new ValueError(`there is a collection '${name}' already: take another name`);
  const filter_columns = given.columns.split(",").map((column) => column.trim());
  const columns = filter_columns.filter((column) => column !== "");
  await call(site, "create_collection", { name, filter_columns: columns, lexical }, { signal });
  if (description !== "" && site.local !== undefined) {
    await (await site.local.terminal()).describe({ collection: name, description }, { signal });
    return;
  }
  // A delete of nothing saves like any other change: without a save there is no collection.
  await call(site, "delete", { collection: name, ids: [] }, { signal });
}
