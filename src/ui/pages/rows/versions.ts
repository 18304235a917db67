/** The versions of a row, each with what it changed. */
import type { RowContent } from "../../../memory/edit.ts";
import type { VersionPayload } from "../../../memory/payloads.ts";
import { writtenMetadata } from "../../../memory/typed/written-metadata.ts";
import { pages } from "../../../pages/lists.ts";
import { escaped, isolated, moment } from "../../../pages/text.ts";
import type { Site } from "../../memory/site.ts";
import { pathOf, rowPath } from "../addresses.ts";
import { page } from "../layout.ts";
import { differenceHtml } from "./difference.ts";
import { versionTitle } from "./row.ts";
import { savedBy, savedWith } from "./saves.ts";
import { cutTo, idText } from "./text.ts";

/** Bytes of HTML of all versions of a page. */
const VERSIONS_BYTES = 36_000;

export interface VersionsShown {
  readonly collection: string;
  readonly id: string;
  /** The latest first, and the one before the last of them where there is one. */
  readonly versions: readonly VersionPayload[];
  readonly before: VersionPayload | undefined;
  /** How many stand before these. */
  readonly skip: number;
  /** How many a page has. */
  readonly limit: number;
}

export function versionsPage(site: Site, shown: VersionsShown): string {
  const { collection, id, versions, before, skip, limit } = shown;
  const each = Math.floor(VERSIONS_BYTES / Math.max(1, versions.length));
  const list = versions.map((version, at) => versionHtml(site, version, versions[at + 1] ?? before, each));
  const next = before === undefined ? undefined : pathOf(collection, "versions", { id, skip: `${skip + limit}` });
  const around = { first: skip > 0 ? rowPath(collection, id, "versions") : undefined, previous: undefined, next };
  const content = `<h1>Versions of ${idText(id)}</h1>
    <p class="hint"><a href="${escaped(rowPath(collection, id))}">The row</a> in
      <a href="${pathOf(collection)}">${isolated(collection)}</a>. Each version with what it changed, the latest first.</p>
    ${list.length === 0 ? "<p>The history has no change of this row.</p>" : list.join("\n")}
    ${pages("Pages of versions", around, { first: "Latest versions", previous: "", next: "Older versions" })}`;
  return page(site, { title: `Versions of ${id.slice(0, 60)}`, content });
}

function versionHtml(site: Site, version: VersionPayload, before: VersionPayload | undefined, bytes: number): string {
  const { save, kind, row } = version;
  const by = [savedBy(save), savedWith(save)].filter((part) => part !== "").join(", ");
  const undone = save.undone_by === undefined ? "" : ` It was undone by save ${save.undone_by}.`;
  const head = kind === "before" ? "" : `<p class="hint">${moment(save.time, site.now())} ${by}${undone}</p>`;
  const body =
    row === undefined
      ? `<p>${kind === "deleted" ? "The row was deleted." : "This version is damaged."}</p>`
      : changed(contentOf(before), contentOf(version)!, bytes - 600);
  return `<section class="version"><h2>${versionTitle(version)}</h2>${head}${body}</section>`;
}

function contentOf(version: VersionPayload | undefined): RowContent | undefined {
  const { row } = version ?? {};
  return row && { text: row.text ?? "", ...(row.metadata && { metadata: row.metadata }) };
}

/** What a version changed; without one before it, what it holds. */
function changed(before: RowContent | undefined, after: RowContent, bytes: number): string {
  const metadata = (one: RowContent | undefined) => (one?.metadata ? writtenMetadata(one.metadata) : "");
  const share = Math.floor(bytes / 4);
  if (before === undefined) return whole("text", after.text, bytes - share) + whole("metadata", metadata(after), share);
  const parts = [
    before.text === after.text ? "" : block("text", differenceHtml(before.text, after.text, bytes - share)),
    metadata(before) === metadata(after)
      ? ""
      : block("metadata", differenceHtml(metadata(before), metadata(after), share)),
  ].join("");
  return parts === "" ? "<p>Text and metadata are the same as before.</p>" : parts;
}

function whole(name: string, text: string, bytes: number): string {
  if (text === "") return "";
  const { html, shown } = cutTo(text, bytes);
  return block(name, `${html}${shown < text.length ? "…" : ""}`);
}

function block(name: string, html: string): string {
  return `<pre class="stored" dir="auto" aria-label="${name}">\n${html}</pre>`;
}
