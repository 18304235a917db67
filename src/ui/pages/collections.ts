/** The list of collections. */
import { table } from "../../pages/lists.ts";
import { escaped, isolated, moment } from "../../pages/text.ts";
import type { Site } from "../memory/site.ts";
import { pathOf } from "./addresses.ts";
import { page } from "./layout.ts";

/** A collection as the list has it; a memory elsewhere tells name and rows only. */
export interface CollectionShown {
  readonly name: string;
  readonly rows?: number | undefined;
  readonly bytes?: number | undefined;
  /** Milliseconds since 1970. */
  readonly lastWrite?: number | undefined;
  readonly description?: string | undefined;
  /** Why it cannot be read. */
  readonly unreadable?: string | undefined;
}

export function collectionsPage(site: Site, list: readonly CollectionShown[], said?: string): string {
  const now = site.now();
  const rows = list.map((one) => [
    `<span data-row><a href="${pathOf(one.name)}">${isolated(one.name)}</a></span>`,
    one.unreadable === undefined
      ? (one.rows?.toLocaleString("en") ?? "")
      : `<span class="ended">${escaped(one.unreadable)}</span>`,
    one.bytes === undefined ? "" : megabytes(one.bytes),
    one.lastWrite === undefined ? "" : moment(one.lastWrite, now),
    one.description === undefined ? "" : isolated(one.description),
  ]);
  const caption = list.length === 1 ? "One collection" : `${list.length.toLocaleString("en")} collections`;
  const content = `<h1>Collections</h1>
    ${
      list.length === 0
        ? "<p>Nothing is stored yet. An agent stores notes with <code>svc_add</code>, you do with <code>svc mem add</code>.</p>"
        : table({ caption, columns: ["Name", "Rows", "Size", "Last write", "Description"], rows })
    }`;
  return page(site, { title: "Collections", section: "/", content, ...(said !== undefined && { said }) });
}

/** A size, with one digit after the point. */
function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
