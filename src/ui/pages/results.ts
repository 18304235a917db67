/** What an import, a backup or an export has done. */
import { table } from "../../pages/lists.ts";
import { alert, escaped, isolated, status, visible } from "../../pages/text.ts";
import type { Imported } from "../memory/import.ts";
import type { Site } from "../memory/site.ts";
import { pathOf } from "./addresses.ts";
import { counted, sized } from "./amounts.ts";
import { fitting } from "./fitting.ts";
import { page } from "./layout.ts";

/** Bytes of the cells of a table. */
const TABLE_BYTES = 12_000;
/** Characters of a sentence about a row. */
const SENTENCE_MAX = 500;
/** Bytes of a list of sentences. */
const LIST_BYTES = 12_000;

const BACK = `<p><a href="/files">Back to import and backup</a></p>`;

export function importedPage(site: Site, done: Imported): string {
  const { total, collection, file, bad, badCount, remarks, failure } = done;
  const written = total.inserted + total.replaced;
  const summary = `Imported ${counted(written, "row")} from ${file} into ${collection}.`;
  const figures: readonly [string, number][] = [
    ["Added", total.inserted],
    ["Replaced", total.replaced],
    ["There already", total.unchanged],
    ["Texts skipped that another row has", total.skipped],
    ["Credentials masked", total.masked],
    ["Texts embedded again, as their vectors are of another embedder", total.embeddedAgain],
    ["Rows left out", badCount],
  ];
  const shown = figures.filter(([, count], at) => count > 0 || at === 0);
  const list = shown.map(([name, count]) => `<dt>${name}</dt><dd>${count.toLocaleString("en")}</dd>`).join("");
  const more = badCount > bad.length ? `<li>and ${counted(badCount - bad.length, "more row")}</li>` : "";
  const content = `<h1>Import</h1>
    ${failure === undefined ? status(summary) : alert(`The import stopped: ${failure}.`)}
    ${failure === undefined ? "" : `<p>${counted(written, "row")} before that ${written === 1 ? "is" : "are"} stored. Once the cause is mended, import the file again: it adds only the rows that are missing.</p>`}
    <dl>${list}</dl>
    ${sentences("Rows that were left out", bad, more)}${sentences("Remarks", remarks, "")}
    ${written + total.unchanged + total.skipped === 0 ? "" : `<p><a href="${pathOf(collection)}">The rows of ${isolated(collection)}</a></p>`}${BACK}`;
  const title = failure === undefined ? "Imported" : "Import stopped";
  return page(site, { title, section: "/files", content });
}

function sentences(title: string, list: readonly string[], more: string): string {
  if (list.length === 0) return "";
  const cut = (text: string) => (text.length > SENTENCE_MAX ? `${text.slice(0, SENTENCE_MAX).toWellFormed()}…` : text);
  const items = fitting(
    list.values().map((one) => `<li>${isolated(cut(one))}</li>`),
    LIST_BYTES,
  );
  const left = items.length < list.length ? `<li>and ${counted(list.length - items.length, "more")}</li>` : "";
  return `<h2>${title}</h2><ul>${items.join("")}${left}${more}</ul>`;
}

/** A collection in a backup or an export. */
export interface Copied {
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
}

export interface CopiedPage {
  /** "Backup" or "Export". */
  readonly title: string;
  readonly folder: string;
  readonly copied: readonly Copied[];
  /** Collections that were left out, and why. */
  readonly left: readonly { readonly name: string; readonly reason: string }[];
  /** How the copies are used: the words before the command, and the command. */
  readonly use: string;
  readonly command: string;
}

export function copiedPage(site: Site, { title, folder, copied, left, use, command }: CopiedPage): string {
  const rows = fitting(
    copied
      .values()
      .map((one) => [
        isolated(one.name),
        one.rows.toLocaleString("en"),
        `<span class="whole">${sized(one.bytes)}</span>`,
      ]),
    TABLE_BYTES,
  );
  const more = copied.length > rows.length ? `, of which ${rows.length} are shown` : "";
  const caption = `${counted(copied.length, "collection")}${more}`;
  const missing = left.map(({ name, reason }) => `${name}: ${reason}`);
  const content = `<h1>${title}</h1>
    ${copied.length === 0 ? "<p>There was nothing to copy.</p>" : status(`Copied ${counted(copied.length, "collection")} to ${folder}.`)}
    ${missing.length === 0 ? "" : alert(`${counted(missing.length, "collection")} left out.`)}${sentences("Left out", missing, "")}
    ${copied.length === 0 ? "" : `${table({ caption, columns: ["Name", "Rows", "Size"], rows })}<p>${use} <code class="command">${escaped(visible(command))}</code></p>`}${BACK}`;
  return page(site, { title, section: "/files", content });
}
