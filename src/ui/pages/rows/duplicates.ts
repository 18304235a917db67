/** Rows that repeat, replace or contradict each other, side by side. */
import type { PairedRow, PairsPayload, RowPair } from "../../../memory/near-copies.ts";
import { pages } from "../../../pages/lists.ts";
import { escaped, isolated, moment } from "../../../pages/text.ts";
import type { CollectionAbout } from "../../memory/collection.ts";
import type { Site } from "../../memory/site.ts";
import { pathOf, rowPath } from "../addresses.ts";
import { collectionHead } from "../collection-head.ts";
import { page } from "../layout.ts";
import { sidesHtml } from "./difference.ts";
import { shortMetadata } from "./metadata.ts";
import { idText } from "./text.ts";

/** Bytes of HTML of all pairs, and of one at most. */
const PAIRS_BYTES = 42_000;
const PAIR_BYTES = 6_000;

export interface DuplicatesShown extends PairsPayload {
  /** How many rows were looked at before these. */
  readonly skipped: number;
}

export function duplicatesPage(site: Site, about: CollectionAbout, shown: DuplicatesShown, said?: string): string {
  const { pairs, looked, next, skipped } = shown;
  // What stands around two texts: ids in addresses, buttons.
  const share = Math.min(PAIR_BYTES, Math.floor((PAIRS_BYTES * 0.9) / Math.max(1, pairs.length)));
  const place = next && { updated: `${next.updated}`, skip: `${next.skip}`, looked: `${skipped + looked}` };
  const around = {
    first: skipped > 0 ? pathOf(about.name, "duplicates") : undefined,
    previous: undefined,
    next: place && pathOf(about.name, "duplicates", place),
  };
  const of = `${(skipped + 1).toLocaleString("en")} to ${(skipped + looked).toLocaleString("en")}`;
  const list: string[] = [];
  let left = PAIRS_BYTES;
  for (const pair of pairs) {
    const html = pairHtml(site, about.name, pair, share);
    left -= Buffer.byteLength(html);
    if (left < 0) break;
    list.push(html);
  }
  const more = pairs.length - list.length;
  const near = about.groupedBy === undefined ? "" : ` of the same ${isolated(about.groupedBy)}`;
  const compared = `Equal texts are looked for in all rows, nearly equal ones in those${near}.`;
  const content = `${collectionHead(site, about, "duplicates")}
    <p class="hint">${looked === 0 ? "There are no rows to compare." : `Rows ${of}, the last changed first. ${compared}`}</p>
    ${pairs.length === 0 && looked > 0 ? "<p>None of them repeats another row or was replaced by one.</p>" : list.join("\n")}
    ${more > 0 ? `<p>${more} more of these rows have no room here: decide about those above first.</p>` : ""}
    ${pages("Pages of rows", around, { first: "Latest rows", previous: "", next: "Compare older rows" })}`;
  return page(site, { title: `Duplicates in ${about.name}`, content, ...(said !== undefined && { said }) });
}

function pairHtml(site: Site, collection: string, { kind, newer, older }: RowPair, bytes: number): string {
  const room = Math.max(200, Math.floor((bytes - FRAME_BYTES) / 2));
  const sides = sidesHtml(older.text, newer.text, room);
  const side = (name: string, row: PairedRow, other: PairedRow, html: string, isOlder: boolean) => {
    const mark = kind === "replaced" || !isOlder ? "" : markForm(collection, row.id, other.id);
    const drop = `<a class="button" href="${escaped(rowPath(collection, row.id, "delete"))}">Delete</a>`;
    const about = shortMetadata(row.metadata);
    return `<section><h3>${name}: <a href="${escaped(rowPath(collection, row.id))}">${idText(row.id)}</a></h3>
      <p class="hint">${moment(row.updated, site.now())}</p>
      <pre class="stored" dir="auto">\n${html}</pre>${about === "" ? "" : `<p class="hint">${about}</p>`}
      ${site.readOnly ? "" : `<div class="actions">${mark}${drop}</div>`}</section>`;
  };
  return `<article class="pair-of-rows" data-row><h2>${titleOf(kind, newer, older)}</h2><div class="sides">
    ${side("Older", older, newer, sides.before, true)}
    ${side("Newer", newer, older, sides.after, false)}
    </div></article>`;
}

/** Bytes of what stands around two texts, where ids are short. */
const FRAME_BYTES = 1_300;

/** What the two have to do with each other, as far as their words tell. */
function titleOf(kind: RowPair["kind"], newer: PairedRow, older: PairedRow): string {
  if (kind === "same") return "The same text";
  if (kind === "replaced") return "Replaced by a newer one";
  const [a, b] = [newer.text, older.text].map((text) => text.toLowerCase());
  if ((a!.match(NOT) ?? []).length !== (b!.match(NOT) ?? []).length) return "Nearly the same text, but one says not";
  const numbers = [a, b].map((text) => (text!.match(NUMBER) ?? []).join(" "));
  return numbers[0] === numbers[1] ? "Nearly the same text" : "Nearly the same text, with other numbers";
}

const NOT = /\b(?:not|no|never|none|without|cannot)\b|n't\b/g;
const NUMBER = /\d+(?:[.,:/-]\d+)*/g;

function markForm(collection: string, id: string, by: string): string {
  return `<form method="post" action="${escaped(pathOf(collection, "replaced", { id, by }))}">
    <button>Mark as replaced</button></form>`;
}
