/** One row: its text, metadata, times, versions, and rows like it. */
import type { VersionPayload } from "../../../memory/payloads.ts";
import { hidden } from "../../../pages/forms.ts";
import { pages, table } from "../../../pages/lists.ts";
import { escaped, isolated, moment } from "../../../pages/text.ts";
import type { Site } from "../../memory/site.ts";
import { pathOf, rowPath } from "../addresses.ts";
import { sized } from "../amounts.ts";
import { page } from "../layout.ts";
import { wholeMetadata } from "./metadata.ts";
import { savedBy, savedWith } from "./saves.ts";
import { cutTo, idText, plain } from "./text.ts";

/** Bytes of HTML: of all that a page has of a row, of its text, and of the text of a similar row. */
const CONTENT_BYTES = 40_000;
const TEXT_BYTES = 26_000;
const SIMILAR_BYTES = 300;

/** Loaded with the first row. */
export const loadMarkdown = () => import("./markdown-html.ts");

export interface SimilarRow {
  readonly id: string;
  readonly text?: string | undefined;
}

/** A row and what belongs to it. */
export interface RowShown {
  readonly collection: string;
  readonly id: string;
  readonly found: boolean;
  /** From `offset` on; absent where the row has none. */
  readonly text?: string | undefined;
  /** Bytes of the whole text, and where its next part begins, where it goes on. */
  readonly textBytes?: number | undefined;
  readonly nextOffset?: number | undefined;
  readonly offset: number;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  /** Bytes of metadata that are too large to be shown. */
  readonly metadataBytes?: number | undefined;
  readonly created?: number | undefined;
  readonly updated?: number | undefined;
  readonly notice?: string | undefined;
  /** Absent where rows cannot be pinned. */
  readonly isPinned?: boolean | undefined;
  /** The latest first; absent without a history. */
  readonly versions?: readonly VersionPayload[] | undefined;
  readonly similar: readonly SimilarRow[];
  readonly canEdit: boolean;
}

export interface RowOptions {
  /** How the text is shown; undefined: as plain text. */
  readonly render: ((text: string) => string) | undefined;
  readonly said: string | undefined;
}

export function rowPage(site: Site, row: RowShown, { render, said }: RowOptions): string {
  const { collection, id, found } = row;
  const top = actions(site, row);
  const rest = `${found ? aboutSection(site, row) : ""}${versionsSection(site, row)}${similarSection(row)}`;
  const room = Math.min(TEXT_BYTES, CONTENT_BYTES - Buffer.byteLength(top) - Buffer.byteLength(rest));
  const content = `<h1>${idText(id)}</h1>
    <p class="hint">A row of <a href="${pathOf(collection)}">${isolated(collection)}</a>.${
      found ? "" : " <strong>It was deleted.</strong>"
    }</p>
    ${top}
    ${found ? textSection(row, room, render) : ""}
    ${rest}`;
  return page(site, { title: `${id.slice(0, 60)} in ${collection}`, content, ...(said !== undefined && { said }) });
}

function actions(site: Site, { collection, id, found, canEdit, isPinned, versions = [] }: RowShown): string {
  if (site.readOnly) return "";
  const link = (page: string, text: string, key: string) =>
    `<a class="button" href="${escaped(rowPath(collection, id, page))}" data-key="${key}">${text}</a>`;
  const pin =
    isPinned === undefined || !found
      ? ""
      : `<form method="post" action="${escaped(rowPath(collection, id, "pin"))}">${hidden({ remove: isPinned ? "1" : "" })}
        <button>${isPinned ? "Unpin" : "Pin"}</button></form>`;
  const links = [
    found && canEdit && site.local !== undefined ? link("edit", "Edit", "e") : "",
    versions.length > 0 ? link("undo", "Undo the last change", "u") : "",
    pin,
    found && canEdit ? link("delete", "Delete", "d") : "",
  ];
  return links.join("") === "" ? "" : `<div class="actions">${links.join("\n")}</div>`;
}

function textSection(row: RowShown, bytes: number, render: ((text: string) => string) | undefined): string {
  const { collection, id, text, textBytes, nextOffset, offset, notice } = row;
  const own = (parameters: Record<string, string>) => escaped(pathOf(collection, "row", { id, ...parameters }));
  if (text === undefined || text === "") {
    const none = text === "" ? "Its text is empty." : "This row has no text.";
    return `<h2>Text</h2><p>${notice === undefined ? none : isolated(notice)}</p>`;
  }
  const { html, shown } = cutTo(text, bytes, render ?? plain);
  const next = shown < text.length ? offset + Buffer.byteLength(text.slice(0, shown)) : nextOffset;
  const whole = textBytes ?? offset + Buffer.byteLength(text);
  const part = offset > 0 || next !== undefined;
  const from = offset === 0 ? "The beginning" : `From byte ${offset.toLocaleString("en")}`;
  const about = part ? `<p class="hint">${from} of a text of ${sized(whole)}.</p>` : "";
  const other = render
    ? `<a href="${own({ as: "text" })}" data-key="t">Show as it is stored</a>`
    : `<a href="${own({})}" data-key="t">Show as Markdown</a>`;
  const body = render
    ? `<div class="markdown" dir="auto">${html}</div>`
    : `<pre class="stored" dir="auto">\n${html}</pre>`;
  const around = {
    first: offset > 0 ? pathOf(collection, "row", { id, as: "text" }) : undefined,
    previous: undefined,
    next: next === undefined ? undefined : pathOf(collection, "row", { id, as: "text", offset: `${next}` }),
  };
  return `<h2>Text</h2>${about}${body}
    ${pages("Parts of the text", around, { first: "Beginning", previous: "", next: "Next part" })}
    <p class="hint">${other}</p>`;
}

function aboutSection(site: Site, { metadata, metadataBytes, created, updated, isPinned }: RowShown): string {
  const now = site.now();
  const times = [
    created === undefined ? "" : `<dt>Added</dt><dd>${moment(created, now)}</dd>`,
    updated === undefined || updated === created ? "" : `<dt>Changed</dt><dd>${moment(updated, now)}</dd>`,
    isPinned ? "<dt>Pinned</dt><dd>It is shown at the beginning of a session.</dd>" : "",
  ].join("");
  const large = metadataBytes === undefined ? "" : `<p>Metadata of ${sized(metadataBytes)}.</p>`;
  const about = wholeMetadata(metadata);
  return `${times === "" ? "" : `<dl>${times}</dl>`}
    ${about === "" && large === "" ? "" : `<h2>Metadata</h2>${about}${large}`}`;
}

function versionsSection(site: Site, { collection, id, versions }: RowShown): string {
  if (versions === undefined) return "";
  if (versions.length === 0) return `<h2>Versions</h2><p>The history has no change of this row.</p>`;
  const now = site.now();
  const rows = versions.map(({ save, kind }) => [
    kind === "before" ? "before" : `${save.save}: ${kind}`,
    kind === "before" ? "" : moment(save.time, now),
    kind === "before" ? "" : savedBy(save),
    kind === "before" ? "" : savedWith(save),
  ]);
  const link = `<a href="${escaped(rowPath(collection, id, "versions"))}" data-key="v">What each version changed</a>`;
  return `<h2>Versions</h2>
    ${table({ caption: "The latest first", columns: ["Save", "Time", "By", "Tool"], rows })}
    <p>${link}</p>`;
}

function similarSection({ collection, similar }: RowShown): string {
  if (similar.length === 0) return "";
  const rows = similar.map(({ id, text = "" }) => {
    const { html, shown } = cutTo(text.trim(), SIMILAR_BYTES);
    const more = shown < text.trim().length ? "…" : "";
    return `<li data-row><p class="head"><a href="${escaped(rowPath(collection, id))}">${idText(id)}</a></p>
      <p class="text" dir="auto">${html}${more}</p></li>`;
  });
  return `<h2>Similar rows</h2><ol class="rows">${rows.join("")}</ol>`;
}

/** What a save did to a row, for the heading of a version. */
export function versionTitle({ save, kind }: VersionPayload): string {
  return kind === "before" ? "Before the history" : `Save ${save.save}: ${kind}`;
}
