/** `/c/:name/settings`: a collection as a whole. */
import { ValueError } from "../../errors.ts";
import { factsOf, requireNamed } from "../memory/facts.ts";
import type { LocalParts, Site } from "../memory/site.ts";
import { call } from "../memory/verb.ts";
import { pathOf } from "../pages/addresses.ts";
import { counted, sized } from "../pages/amounts.ts";
import { ACTIONS, type Action, settingsPage } from "../pages/settings.ts";
import { type Call, ELSEWHERE, html, type Routes } from "./call.ts";
import { type Fields, fieldsOf } from "./fields.ts";

export const SETTINGS_ROUTES: Routes = {
  "GET /c/:name/settings": async (site, { params, said }) => {
    return html(settingsPage(site, { ...(await factsOf(site, params.name!)), said }));
  },
  "POST /c/:name/settings": async (site, request) => {
    const name = request.params.name!;
    const form = await fieldsOf(request.request);
    const action = ACTIONS.find((one) => one === form.text("do"));
    if (action === undefined) throw new ValueError("the form does not say what to do: open the page again");
    try {
      return await changed(site, action, name, form, request);
    } catch (error) {
      const typed = FIELDS[action] === undefined ? undefined : form.text(FIELDS[action]);
      if (typed === undefined || !(error instanceof ValueError)) throw error;
      const wrong = { action, problem: error.message, typed };
      return html(settingsPage(site, { ...(await factsOf(site, name)), wrong }), 400);
    }
  },
};

/** The field that a person types into. */
const FIELDS: Partial<Record<Action, string>> = { describe: "description", rename: "to", drop: "confirm" };

async function changed(site: Site, action: Action, name: string, form: Fields, request: Call): Promise<Response> {
  const { signal } = request.request;
  const own = pathOf(name, "settings");
  if (site.local === undefined) {
    if (action !== "compact") throw new ValueError(ELSEWHERE);
    await call(site, "compact", { collection: name }, { signal });
    return request.done(own, "Compacted.");
  }
  const { local } = site;
  const terminal = await local.terminal();
  switch (action) {
    case "describe": {
      const description = form.text("description") || undefined;
      await terminal.describe({ collection: name, description }, { signal });
      return request.done(own, description === undefined ? "Removed the description." : "Saved the description.");
    }
    case "meaning": {
      const meaning = form.text("meaning") === "on";
      await terminal.set_meaning({ collection: name, meaning }, { signal });
      return request.done(own, meaning ? "Search by meaning is on." : "Search by meaning is off.");
    }
    case "compact": {
      const keep_history = form.has("history");
      const { bytes_freed } = await terminal.compact({ collection: name, keep_history }, { signal });
      return request.done(
        own,
        bytes_freed > 0 ? `Compacted: ${sized(bytes_freed)} freed.` : "Compacted: there was nothing to free.",
      );
    }
    case "rename": {
      const to = form.text("to");
      await local.withStore((store) => store.renameCollection(name, to, { signal }));
      return request.done(pathOf(to, "settings"), `Renamed ${name} to ${to}.`);
    }
    case "drop":
      return request.done("/", await dropped(local, name, form.text("confirm"), signal));
  }
}

/** @returns what was dropped, as a sentence */
async function dropped(local: LocalParts, name: string, typed: string, signal: AbortSignal): Promise<string> {
  requireNamed(typed, name);
  return local.withStore(async (store) => {
    const rows = store.overview().find((one) => one.name === name)?.rows;
    await store.dropCollection(name, { signal });
    return rows === undefined ? `Dropped ${name}.` : `Dropped ${name} with ${counted(rows, "row")}.`;
  });
}
