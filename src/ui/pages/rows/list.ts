/** The rows of a collection: those that were updated last, page by page, or those that a search found. */
import { termsOf } from "../../../answers/words.ts";
import type { LatestPlace } from "../../../memory/latest.ts";
import type { SearchPayload } from "../../../memory/payloads.ts";
import { choice } from "../../../pages/forms.ts";
import { address, pages } from "../../../pages/lists.ts";
import { alert, escaped, isolated, moment } from "../../../pages/text.ts";
import type { CollectionAbout } from "../../memory/collection.ts";
import type { ListedRow, RowPage } from "../../memory/rows.ts";
import type { Site } from "../../memory/site.ts";
import { pathOf, rowPath } from "../addresses.ts";
import { collectionHead } from "../collection-head.ts";
import { page } from "../layout.ts";
import { shortMetadata } from "./metadata.ts";
import { cutTo, idText, marked, plain } from "./text.ts";

/** Bytes of HTML of all rows of a page, and of the text of one at most. */
const ROWS_BYTES = 40_000;
const TEXT_BYTES = 500;

/** Bytes of the address of a row, which has its id with each byte as three, and of the rest of its head. */
const HEAD_BYTES = 900;

/** How many rows a page has room for: with the longest ids some ten, else all. */
export function rowsWithin(ids: readonly string[]): number {
  let left = ROWS_BYTES;
  const end = ids.findIndex((id) => {
    left -= HEAD_BYTES + Buffer.byteLength(encodeURIComponent(id));
    return left < 0;
  });
  return end < 0 ? ids.length : end;
}

/** What is typed into the fields above a list. */
export interface ListRequest {
  readonly q: string;
  readonly column: string;
  readonly value: string;
  readonly since: string;
  readonly until: string;
}

/** Rows of a list, or hits. */
export interface Shown {
  readonly list?: RowPage | undefined;
  readonly found?: SearchPayload | undefined;
  /** How many hits to ask for to get more, where there may be some. */
  readonly more?: number | undefined;
  /** Times were given, which bound lists only. */
  readonly isUntimed?: boolean | undefined;
  /** What is wrong with it. */
  readonly problem?: string | undefined;
}

export function rowsPage(
  site: Site,
  about: CollectionAbout,
  request: ListRequest,
  shown: Shown,
  said?: string,
): string {
  const path = pathOf(about.name);
  const content = `${collectionHead(site, about, "")}
    ${about.unreadable === undefined ? "" : alert(about.unreadable)}
    ${searchForm(path, request, about)}
    ${shown.problem === undefined ? "" : alert(shown.problem)}
    ${shown.list ? listed(site, about, request, shown.list) : ""}
    ${shown.found ? foundRows(site, path, request, shown) : ""}`;
  const title = request.q === "" ? about.name : `${request.q} in ${about.name}`;
  return page(site, { title, content, ...(said !== undefined && { said }) });
}

/** The same of all collections. */
export function searchPage(site: Site, request: ListRequest, shown: Shown): string {
  const content = `<h1>Search all collections</h1>
    ${searchForm("/search", request)}
    ${shown.problem === undefined ? "" : alert(shown.problem)}
    ${shown.found ? foundRows(site, "/search", request, shown) : ""}`;
  const title = request.q === "" ? "Search" : `${request.q} in all collections`;
  return page(site, { title, section: "/search", content });
}

/** Fields for words, and for a column and times of a collection. */
function searchForm(path: string, request: ListRequest, about?: CollectionAbout): string {
  const { q, column, value, since, until } = request;
  const isFiltered = [column, value, since, until].some((one) => one !== "");
  const columns = about?.columns.filter((name) => !about.isRepository || name !== about.groupedBy) ?? [];
  const groups = (about?.groups ?? []).map((group) => `<option value="${escaped(asWritten(group))}"></option>`);
  const day = (name: string, label: string, given: string) =>
    `<div><label for="${name}">${label}</label><input id="${name}" name="${name}" type="date" value="${escaped(given)}"></div>`;
  const filters =
    about === undefined
      ? ""
      : `<details class="filters"${isFiltered ? " open" : ""}><summary>Filter</summary><div class="search">
      ${
        columns.length === 0
          ? ""
          : `<div>${choice("column", "Column", [["", "any"], ...columns.map((name) => [name, name] as const)], column)}</div>
      <div><label for="value">Value (empty: not set)</label><input id="value" name="value" list="groups"
        value="${escaped(value)}" dir="auto" autocomplete="off"><datalist id="groups">${groups.join("")}</datalist></div>`
      }
      ${day("since", "Changed on or after", since)}
      ${day("until", "Changed before", until)}
    </div></details>`;
  return `<form class="rows-search" role="search" method="get" action="${path}">
    <div class="search"><div><label for="q">Search</label>
      <input id="q" name="q" type="search" value="${escaped(q)}" dir="auto" autocomplete="off"></div>
      <button>Search</button></div>${filters}</form>`;
}

/** A value as a person types it into the field. */
function asWritten(value: unknown): string {
  const isPlain = typeof value === "string" && !/^(?:-?\d|true$|false$|null$|".*"$)/s.test(value);
  return isPlain ? (value as string) : JSON.stringify(value);
}

function listed(site: Site, about: CollectionAbout, request: ListRequest, { rows, next, notice }: RowPage): string {
  const isFiltered = request.column !== "" || request.since !== "" || request.until !== "";
  const all = about.rows === 1 ? "one row" : `${about.rows.toLocaleString("en")} rows`;
  const count = `<p class="hint">${isFiltered ? `Of ${all}, those that match the filter` : all.replace(/^o/, "O")}, the last changed first.</p>`;
  const none = isFiltered ? "No row matches the filter." : "This collection has no rows.";
  const path = (place?: LatestPlace) =>
    address(pathOf(about.name), { ...request, before: place?.updated.toString(), skip: place?.skip.toString() });
  const around = { first: undefined, previous: undefined, next: next && path(next) };
  const list = rows.map((row) => ({ row, collection: about.name, href: rowPath(about.name, row.id) }));
  return `${rows.length === 0 ? `<p>${none}</p>` : count}${noticed(notice)}
    ${rowList(site, list, (text) => plain(text))}
    ${pages("Pages of the list", around, { first: "", previous: "", next: "Older rows" })}`;
}

function foundRows(site: Site, path: string, request: ListRequest, { found, more, isUntimed }: Shown): string {
  const { hits: all, notice, substitutes = [] } = found!;
  const hits = all.slice(0, rowsWithin(all.map(({ id }) => id)));
  const partners = substitutes.flatMap(({ partners }) => partners).join(" ");
  const terms = [...termsOf(request.q), ...termsOf(partners)];
  const list = hits.map((hit) => {
    const collection = hit.collection ?? found!.collection;
    return { row: hit, collection, href: rowPath(collection, hit.id), isOfMany: hit.collection !== undefined };
  });
  const isPart = hits.length < all.length || more !== undefined;
  const several = isPart ? `The first ${hits.length} rows` : `${hits.length} rows`;
  const count = hits.length === 1 ? "One row" : several;
  const further = more === undefined ? undefined : address(path, { ...request, most: more.toString() });
  // The ranking understands times in words.
  const untimed = isUntimed
    ? "The dates do not limit a search: write the time in words, such as 'last week'"
    : undefined;
  return `${noticed(notice)}${noticed(untimed)}
    ${hits.length === 0 ? "<p>Nothing was found.</p>" : `<p class="hint">${count}, the best first.</p>`}
    ${rowList(site, list, (text) => marked(text, terms))}
    ${pages("More results", { first: undefined, previous: undefined, next: further }, { first: "", previous: "", next: "More results" })}`;
}

/** What a search or a list says beside its rows. */
function noticed(notice: string | undefined): string {
  return notice === undefined ? "" : `<p class="notice" role="status">${isolated(asSentence(notice))}</p>`;
}

function asSentence(notice: string): string {
  return `${notice.charAt(0).toUpperCase()}${notice.slice(1)}.`;
}

interface Item {
  readonly row: ListedRow & { readonly weak?: true; readonly start?: number };
  readonly collection: string;
  readonly href: string;
  /** The list has rows of several collections. */
  readonly isOfMany?: boolean;
}

/** Rows in a list that fits into its bytes: the texts share what ids and metadata leave. */
function rowList(site: Site, items: readonly Item[], render: (text: string) => string): string {
  if (items.length === 0) return "";
  const now = site.now();
  const heads = items.map(({ row, collection, href, isOfMany }) => {
    const when = row.updated === undefined ? "" : ` <span class="when">${moment(row.updated, now)}</span>`;
    const where = isOfMany ? ` <span class="when">in ${isolated(collection)}</span>` : "";
    const weak = row.weak ? '<p class="hint">Weak match: it has few or none of the words.</p>' : "";
    const about = shortMetadata(row.metadata);
    return {
      head: `<p class="head"><a href="${escaped(href)}">${idText(row.id)}</a>${where}${when}</p>`,
      foot: `${about === "" ? "" : `<p class="hint">${about}</p>`}${weak}`,
    };
  });
  let left = ROWS_BYTES;
  for (const { head, foot } of heads) left -= Buffer.byteLength(head) + Buffer.byteLength(foot);
  const lines = items.map(({ row }, at) => {
    const { head, foot } = heads[at]!;
    const bytes = Math.max(0, Math.min(TEXT_BYTES, Math.floor(left / (items.length - at))));
    const text = (row.text ?? "").trim().replace(/\s+/g, " ");
    const { html, shown } = cutTo(text, bytes, render);
    left -= Buffer.byteLength(html);
    const before = (row.start ?? 0) > 0 ? "…" : "";
    const after = shown < text.length || row.truncated ? "…" : "";
    const body = text === "" ? "" : `<p class="text" dir="auto">${before}${html}${after}</p>`;
    return `<li data-row>${head}${body}${foot}</li>`;
  });
  return `<ol class="rows">${lines.join("\n")}</ol>`;
}
