/** A new collection. */
import { field } from "../../pages/forms.ts";
import type { Site } from "../memory/site.ts";
import { page } from "./layout.ts";

/** What the form asks for. */
export interface NewCollection {
  readonly name: string;
  readonly description: string;
  readonly columns: string;
  readonly lexical: boolean;
}

export function createPage(site: Site, given: NewCollection, problem?: string): string {
  const describes =
    site.local === undefined
      ? ""
      : field({
          name: "description",
          label: "What it is for",
          value: given.description,
          hint: "Agents read it to choose where to search and add.",
        });
  const content = `<h1>New collection</h1>
    <form method="post" action="/new">
      ${field({ name: "name", label: "Name", value: given.name, problem, more: "required" })}
      ${describes}
      ${field({
        name: "columns",
        label: "Filters",
        value: given.columns,
        hint: "Metadata fields that searches can filter by, separated by commas. <code>scope</code> is always a filter.",
      })}
      <div class="choice"><input type="checkbox" id="lexical" name="lexical" value="1"${given.lexical ? " checked" : ""}><label for="lexical">Also index for searches by word alone (<code>svc mem search --lexical</code>)</label></div>
      <p class="actions"><button class="primary">Create</button> <a href="/">Back to all collections</a></p>
    </form>`;
  return page(site, { title: "New collection", section: "/", content });
}
