/** What the pages of one collection have at their top: its name, and where its other pages are. */
import { isolated } from "../../pages/text.ts";
import type { CollectionAbout } from "../memory/collection.ts";
import type { Site } from "../memory/site.ts";
import { pathOf } from "./addresses.ts";

/** The pages of a collection. */
export type CollectionPlace = "" | "add" | "history" | "duplicates" | "settings";

/** The heading and the links. @param place the page that is shown */
export function collectionHead(
  site: Site,
  { name, isRepository, description }: Pick<CollectionAbout, "name" | "isRepository" | "description">,
  place: CollectionPlace,
): string {
  const isLocal = site.local !== undefined;
  const places: [CollectionPlace, string, boolean][] = [
    ["", "Rows", true],
    ["add", "Add a row", !site.readOnly && !isRepository],
    ["history", "History", isLocal && !isRepository],
    ["duplicates", "Duplicates", isLocal && !isRepository],
    ["settings", "Figures and settings", true],
  ];
  const links = places
    .filter(([, , isThere]) => isThere)
    .map(([page, text]) => {
      const current = page === place ? ' aria-current="page"' : "";
      const key = page === "add" ? ' data-key="a"' : "";
      return `<li><a href="${pathOf(name, page)}"${current}${key}>${text}</a></li>`;
    });
  const about = description === undefined || place !== "" ? "" : `<p class="hint">${isolated(description)}</p>`;
  return `<h1>${isolated(name)}</h1>${about}
    <nav class="places" aria-label="Pages of this collection"><ul>${links.join("")}</ul></nav>`;
}
