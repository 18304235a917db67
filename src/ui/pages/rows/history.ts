/** The saves of a collection, and the question before one of them is undone. */
import type { SavePayload, UndoPayload } from "../../../memory/payloads.ts";
import { hidden } from "../../../pages/forms.ts";
import { pages, table } from "../../../pages/lists.ts";
import { alert, escaped, isolated, moment } from "../../../pages/text.ts";
import type { CollectionAbout } from "../../memory/collection.ts";
import type { Site } from "../../memory/site.ts";
import { pathOf, rowPath } from "../addresses.ts";
import { collectionHead } from "../collection-head.ts";
import { page } from "../layout.ts";
import { changesOf, savedBy, savedWith } from "./saves.ts";
import { cutTo, idText } from "./text.ts";

/** Ids of each kind that a question names, and bytes that they take: an id alone may take 2 KB. */
export const NAMED = 15;
const NAMED_BYTES = 7_000;
/** Bytes of the beginning of a text. */
const TEXT_BYTES = 200;

export interface HistoryShown {
  readonly saves: readonly SavePayload[];
  /** How many stand before these, and where the next ones are. */
  readonly skip: number;
  readonly next: number | undefined;
}

export function historyPage(site: Site, about: CollectionAbout, shown: HistoryShown, said?: string): string {
  const { saves, skip, next } = shown;
  const now = site.now();
  const isUndone = (save: SavePayload) => save.undone_by !== undefined;
  const undo = (save: SavePayload) => {
    if (isUndone(save)) return `undone by save ${save.undone_by}`;
    if (site.readOnly) return "";
    const path = escaped(pathOf(about.name, "undo", { save: `${save.save}` }));
    return `<span data-row><a href="${path}" aria-label="Undo save ${save.save}">Undo</a></span>`;
  };
  const rows = saves.map((save) => [
    `${save.save}`,
    moment(save.time, now),
    savedBy(save),
    savedWith(save),
    changesOf(save),
    undo(save),
  ]);
  const around = {
    first: skip > 0 ? pathOf(about.name, "history") : undefined,
    previous: undefined,
    next: next === undefined ? undefined : pathOf(about.name, "history", { skip: `${next}` }),
  };
  const latest =
    site.readOnly || saves.every(isUndone)
      ? ""
      : `<p><a href="${pathOf(about.name, "undo")}" data-key="u">Undo the last change</a></p>`;
  const list = table({
    caption: "Saves that changed rows, the latest first",
    columns: ["Save", "Time", "By", "Tool", "Rows", "Undo"],
    rows,
  });
  const content = `${collectionHead(site, about, "history")}
    ${saves.length === 0 ? "<p>The history is empty: it goes back 30 days, unless the collection's settings say otherwise.</p>" : `${latest}${list}`}
    ${pages("Pages of saves", around, { first: "Latest saves", previous: "", next: "Older saves" })}`;
  return page(site, { title: `History of ${about.name}`, content, ...(said !== undefined && { said }) });
}

/** What an undo is of: a save, or what the latest save did to a row. */
export interface UndoAsked {
  readonly collection: string;
  readonly save?: number | undefined;
  readonly id?: string | undefined;
  /** Rows that later saves changed are taken back, too. */
  readonly force: boolean;
}

/** What is known of an undo before it is made. */
export interface UndoPlanned {
  readonly plan: UndoPayload;
  /** The texts of its live rows, by id: an id tells a person little. */
  readonly texts: ReadonlyMap<string, string>;
  /** Of the plan: an undo of anything else asks again. */
  readonly digest: string;
}

/** Asks before an undo, and names what it will do. */
export function undoPage(site: Site, asked: UndoAsked, { plan, texts, digest }: UndoPlanned, problem?: string): string {
  const { collection, save, id, force } = asked;
  const { first, last, saved, restored, reverted, removed, changed, lost } = plan;
  const saves = first === last ? `save ${first}` : `saves ${first} to ${last}`;
  // In the address and not in fields: a browser changes line breaks in fields, and an id may have some.
  const path = (force: boolean) =>
    escaped(pathOf(collection, "undo", { save: save?.toString(), id, force: force ? "1" : undefined }));
  const back = id === undefined ? pathOf(collection, "history") : rowPath(collection, id);
  const changes = restored.length + reverted.length + removed.length + (force ? changed.length : 0);
  const later = force
    ? "These were changed by a later save, which is undone, too"
    : "These stay: a later save changed them";
  const rowsNamed = (what: string, ids: readonly string[]) => named(collection, what, ids, texts);
  const content = `<h1>Undo ${saves}?</h1>
    ${problem === undefined ? "" : alert(problem)}
    <p>${saves.charAt(0).toUpperCase()}${saves.slice(1)} of <a href="${pathOf(collection)}">${isolated(collection)}</a>,
      ${moment(saved, site.now())}</p>
    ${rowsNamed("These were deleted and come back", restored)}
    ${rowsNamed("These were replaced and will be as before", reverted)}
    ${rowsNamed("These were added and will be deleted", removed)}
    ${rowsNamed(later, changed)}
    ${rowsNamed("These stay: what they were before is damaged in the history", lost)}
    ${
      changes === 0
        ? `<p>Nothing would change.</p><p><a class="button" href="${escaped(back)}">Back</a></p>`
        : `<form method="post" action="${path(force)}">${hidden({ digest })}
      <div class="actions"><button class="primary" autofocus>Undo ${rows(changes)}</button>
      <a class="button" href="${escaped(back)}">Cancel</a></div></form>`
    }
    ${changed.length > 0 && !force ? `<p><a href="${path(true)}">Take back later changes of ${rows(changed.length)}, too</a></p>` : ""}
    <p class="hint">An undo is a save: it can be undone as well.</p>`;
  return page(site, { title: `Undo ${saves} of ${collection}`, content });
}

function named(collection: string, what: string, ids: readonly string[], texts: ReadonlyMap<string, string>): string {
  if (ids.length === 0) return "";
  const items: string[] = [];
  let left = NAMED_BYTES;
  for (const id of ids.slice(0, NAMED)) {
    const text = (texts.get(id) ?? "").trim().replace(/\s+/g, " ");
    const { html, shown } = cutTo(text, TEXT_BYTES);
    const begins = text === "" ? "" : `<br><span dir="auto">${html}${shown < text.length ? "…" : ""}</span>`;
    const item = `<li><a href="${escaped(rowPath(collection, id))}">${idText(id)}</a>${begins}</li>`;
    left -= Buffer.byteLength(item);
    if (left < 0) break;
    items.push(item);
  }
  const more = ids.length - items.length;
  if (more > 0) items.push(`<li>and ${more.toLocaleString("en")} more</li>`);
  return `<h2>${what} (${ids.length.toLocaleString("en")})</h2><ul>${items.join("")}</ul>`;
}

function rows(count: number): string {
  return count === 1 ? "one row" : `${count.toLocaleString("en")} rows`;
}
