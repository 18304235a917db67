/** Tables, the pages of a list, and addresses with parameters. */
import { escaped } from "./text.ts";

export interface Table {
  /** What the rows are, and how many. */
  readonly caption: string;
  readonly columns: readonly string[];
  /** Cells as HTML, one for each column; the first names the row. */
  readonly rows: readonly (readonly string[])[];
}

/** A table whose roles stay when a narrow screen shows it as a list. */
export function table({ caption, columns, rows }: Table): string {
  const heads = columns.map((name) => `<th scope="col" role="columnheader">${name}</th>`).join("");
  const lines = rows.map(([first = "", ...rest]) => {
    const cells = rest.map((cell, at) => {
      return `<td role="cell" data-column="${columns[at + 1]}"><span>${cell || "–"}</span></td>`;
    });
    return `<tr role="row"><th scope="row" role="rowheader">${first}</th>${cells.join("")}</tr>`;
  });
  return `<table role="table"><caption>${escaped(caption)}</caption>
    <thead role="rowgroup"><tr role="row">${heads}</tr></thead>
    <tbody role="rowgroup">${lines.join("\n")}</tbody></table>`;
}

/** The addresses of the pages around one of a list, where there are any. */
export type Around = Readonly<Record<keyof typeof AROUND, string | undefined>>;
const AROUND = { first: "First page", previous: "Previous page", next: "Next page" };

/** Links to the pages of a list; empty where it has one page. */
export function pages(label: string, around: Around, texts: Readonly<Record<keyof Around, string>> = AROUND): string {
  const links = (["first", "previous", "next"] as const).flatMap((place) => {
    const href = around[place];
    return href === undefined ? [] : [`<a href="${escaped(href)}">${texts[place]}</a>`];
  });
  return links.length === 0 ? "" : `<nav class="pages" aria-label="${label}">${links.join("")}</nav>`;
}

/** An address with parameters; those that are empty are left out. */
export function address(path: string, parameters: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}
