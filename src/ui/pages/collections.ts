/** The list of collections, with what they take on the disk. */
import { pages, table } from "../../pages/lists.ts";
import { escaped, isolated, moment } from "../../pages/text.ts";
import type { Site } from "../memory/site.ts";
import { pathOf } from "./addresses.ts";
import { counted, sized } from "./amounts.ts";
import { timeline } from "./figures.ts";
import { fitting } from "./fitting.ts";
import { page } from "./layout.ts";
import { barPlot } from "./plots.ts";

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

/** Bytes of the list where plots are on the page too. */
const LIST_BYTES_BESIDE_PLOTS = 18_000;
/** Collections of a page. */
export const COLLECTIONS_A_PAGE = 50;
/** Bars of the plot; the others are one bar. */
const BARS_MAX = 10;
/** Characters of a description. */
const DESCRIPTION_MAX = 200;

const NO_FOLDER =
  "<strong>There is no folder at the path of this memory.</strong> If there was one, it was moved or removed.";

export interface CollectionsPage {
  /** All of the memory, by name. */
  readonly list: readonly CollectionShown[];
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** Whether the memory has a folder. */
  readonly isThere?: boolean;
  /** Rows by the day of their creation, and of how many collections. */
  readonly days?: { readonly first: number; readonly rows: readonly number[]; readonly counted: number } | undefined;
  readonly said?: string | undefined;
}

export function collectionsPage(site: Site, { list, after = "", isThere = true, days, said }: CollectionsPage): string {
  const now = site.now();
  const following = list.filter(({ name }) => name > after);
  // A server does not tell them.
  const hasSizes = site.local !== undefined;
  const columns = ["Name", "Rows", ...(hasSizes ? ["Size"] : []), "Last write", "Description"];
  const toRow = (one: CollectionShown) => [
    // A collection that cannot be read has no page of rows.
    `<span data-row><a href="${pathOf(one.name, one.unreadable === undefined ? "" : "settings")}">${isolated(one.name)}</a></span>`,
    one.unreadable === undefined
      ? (one.rows?.toLocaleString("en") ?? "")
      : `<span class="ended">${escaped(one.unreadable)}</span>`,
    ...(hasSizes ? [one.bytes === undefined ? "" : `<span class="whole">${sized(one.bytes)}</span>`] : []),
    one.lastWrite === undefined ? "" : moment(one.lastWrite, now),
    one.description === undefined ? "" : isolated(cut(one.description)),
  ];
  const rows = fitting(
    following.slice(0, COLLECTIONS_A_PAGE).values().map(toRow),
    days ? LIST_BYTES_BESIDE_PLOTS : undefined,
  );
  const shown = following.slice(0, rows.length);
  const caption = [
    list.length === 1 ? "One collection" : counted(list.length, "collection"),
    shown.length < list.length ? `, ${shown.length} on this page` : "",
  ].join("");
  const next = following.length > shown.length ? `/?${new URLSearchParams({ after: shown.at(-1)!.name })}` : undefined;
  const first = after === "" ? undefined : "/";
  const create = site.readOnly
    ? ""
    : `<p class="actions"><a class="button" href="/new" data-key="n">New collection</a></p>`;
  const content = `<h1>Collections</h1>
    ${
      list.length === 0
        ? `<p>${isThere ? "" : `${NO_FOLDER} `}Nothing is stored yet. An agent stores notes with <code>svc_add</code>, you do with <code>svc mem add</code>.</p>`
        : table({ caption, columns, rows })
    }${pages("Pages of collections", { first, previous: undefined, next })}${create}${after === "" ? sizes(list) : ""}${over(days, list.length)}`;
  return page(site, { title: "Collections", section: "/", content, said });
}

/** Rows over time, of as many collections as were counted. */
function over(days: CollectionsPage["days"], collections: number): string {
  const more = days && days.counted < collections ? `; counted are the largest ${days.counted} collections` : "";
  return timeline(days, collections === 1 ? "" : " of all collections", more);
}

/** What the collections take on the disk; nothing to compare where there is one. */
function sizes(list: readonly CollectionShown[]): string {
  const known = list.flatMap(({ name, bytes = 0 }) => (bytes > 0 ? [{ name, bytes }] : []));
  if (known.length < 2) return "";
  known.sort((a, b) => b.bytes - a.bytes);
  const named = known.length > BARS_MAX ? known.slice(0, BARS_MAX - 1) : known;
  const others = known.slice(named.length);
  const sum = (some: typeof known) => some.reduce((total, { bytes }) => total + bytes, 0);
  const bars = named.map(({ name, bytes }) => ({ label: name, value: bytes, shown: sized(bytes) }));
  if (others.length > 0) {
    const value = sum(others);
    bars.push({ label: `${others.length} others`, value, shown: sized(value) });
  }
  return barPlot({
    id: "bytes",
    title: "Size on disk by collection",
    description: `${sized(sum(known))} in all. The table of collections has the figures.`,
    bars,
  });
}

function cut(text: string): string {
  return text.length > DESCRIPTION_MAX ? `${text.slice(0, DESCRIPTION_MAX).toWellFormed()}…` : text;
}
