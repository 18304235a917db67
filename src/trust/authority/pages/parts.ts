/** Parts of the administrator's pages: the header, tables, fields, hidden values. */
import { notPossible } from "./error.ts";
import { type Frame, framed } from "./frame.ts";
import { alert, escaped, isolated } from "./text.ts";

const SECTIONS = { devices: "Devices", keys: "Enrolment keys", audit: "Audit log" } as const;
export type Section = keyof typeof SECTIONS;

/** What every page of a signed-in administrator shows in addition to its content. */
export interface Signed {
  readonly site: string;
  /** The path below which the pages are, without a slash at its end: `/admin` after what the public address has. */
  readonly base: string;
  /** The administrator's name. */
  readonly name: string;
  /** The token of the form that signs out. */
  readonly signOut: string;
}

/** What every one of these pages is given. */
export interface Page {
  readonly signed: Signed;
  /** Milliseconds since 1970, with which times are compared. */
  readonly now: number;
  /** What was done before, to be said on this page. */
  readonly said?: string | undefined;
}

/** A page of a signed-in administrator. */
export function administration(
  { site, base, name, signOut }: Signed,
  section: Section | undefined,
  page: Pick<Frame, "title" | "content">,
): string {
  const links = Object.entries(SECTIONS).map(([path, text]) => {
    return `<li><a href="${base}/${path}"${path === section ? ' aria-current="page"' : ""}>${text}</a></li>`;
  });
  const header = `<nav aria-label="Administration"><ul>${links.join("")}</ul></nav>
    <form method="post" action="${base}/sign-out">${hidden({ csrf: signOut })}
      <span>Signed in as ${isolated(name)}</span> <button>Sign out</button></form>`;
  return framed({ site, header, ...page });
}

/** Values that a form carries. */
export function hidden(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`)
    .join("");
}

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly value?: string;
  readonly hint?: string;
  /** What is wrong with it: said above it, and it gets the focus. A page has one. */
  readonly problem?: string | undefined;
  /** More attributes, as HTML. */
  readonly more?: string;
}

/** A field for text with its label and hint. The direction is that of what is typed. */
export function field({ name, label, value = "", hint, problem, more = "" }: Field): string {
  const about = [problem === undefined ? "" : "problem", hint === undefined ? "" : `${name}-hint`]
    .filter(Boolean)
    .join(" ");
  const wrong = problem === undefined ? "" : ' aria-invalid="true" autofocus';
  const described = about === "" ? "" : ` aria-describedby="${about}"`;
  return `${problem === undefined ? "" : alert(problem)}<label for="${name}">${label}</label>
      <input id="${name}" name="${name}" value="${escaped(value)}" dir="auto"
        autocomplete="off"${wrong}${described} ${more}>
      ${hint === undefined ? "" : `<p class="hint" id="${name}-hint">${hint}</p>`}`;
}

/** A choice of one value. */
export function choice(
  name: string,
  label: string,
  options: readonly (readonly [value: string, text: string])[],
  chosen: string,
): string {
  const all = options.map(([value, text]) => {
    return `<option value="${escaped(value)}"${value === chosen ? " selected" : ""}>${escaped(text)}</option>`;
  });
  return `<label for="${name}">${label}</label>
      <select id="${name}" name="${name}">${all.join("")}</select>`;
}

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

/** An error of a signed-in administrator's request, with the way to the section's list. */
export function problemPage(signed: Signed, section: Section, problem: string, back: string): string {
  return administration(
    signed,
    section,
    notPossible(problem, `<p><a href="${signed.base}/${section}">${back}</a></p>`),
  );
}
