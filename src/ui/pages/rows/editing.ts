/** Forms that add, change and delete a row. */
import type { RowContent } from "../../../memory/edit.ts";
import { writtenMetadata } from "../../../memory/typed/written-metadata.ts";
import { field, hidden } from "../../../pages/forms.ts";
import { alert, escaped, isolated } from "../../../pages/text.ts";
import type { CollectionAbout } from "../../memory/collection.ts";
import type { Site } from "../../memory/site.ts";
import { pathOf, rowPath } from "../addresses.ts";
import { collectionHead } from "../collection-head.ts";
import { page } from "../layout.ts";
import { sidesHtml } from "./difference.ts";
import { wholeMetadata } from "./metadata.ts";
import { cutTo, idText } from "./text.ts";

/** What is typed into a form: text, and metadata as YAML or JSON. */
export interface Typed {
  readonly text: string;
  readonly metadata: string;
}

/** Bytes of HTML that text and metadata of a form take at most: the page has the same again, as a difference. */
export const TYPED_BYTES_MAX = 24_000;
const SIDE_BYTES = 6_000;

/** How large a form would be. */
export function typedBytes({ text, metadata }: Typed): number {
  return Buffer.byteLength(escaped(text)) + Buffer.byteLength(escaped(metadata));
}

/** A row as a form has it. */
export function typedOf({ text, metadata }: RowContent): Typed {
  return { text, metadata: metadata === undefined ? "" : writtenMetadata(metadata) };
}

export function addPage(
  site: Site,
  about: Pick<CollectionAbout, "name" | "isRepository">,
  typed: Typed & { id: string },
  problem?: string,
): string {
  const content = `${collectionHead(site, about, "add")}
    <form method="post" action="${pathOf(about.name, "add")}">
      ${areas(typed, problem, true)}
      ${field({ name: "id", label: "Id", value: typed.id, hint: "Leave it empty to get a new id." })}
      <button class="primary">Add</button>
    </form>`;
  return page(site, { title: `Add to ${about.name}`, content });
}

/** @param digest of the row as it was read: a save finds out whether it is still the same */
export function editPage(
  site: Site,
  { collection, id }: { collection: string; id: string },
  typed: Typed,
  digest: string,
  problem?: string,
): string {
  const content = `<h1>Edit ${idText(id)}</h1>
    ${editForm({ collection, id }, typed, digest, "Save", { problem, isFirst: true })}`;
  return page(site, { title: `Edit ${id.slice(0, 60)}`, content });
}

/** A row that was changed while it was edited: both, and what to do. */
export function conflictPage(
  site: Site,
  row: { collection: string; id: string },
  typed: Typed,
  current: { content: RowContent; digest: string },
): string {
  const now = typedOf(current.content);
  const [text, metadata] = [now.text, now.metadata].map((one, at) =>
    sidesHtml(one, at === 0 ? typed.text : typed.metadata, SIDE_BYTES / (at + 1)),
  ) as [ReturnType<typeof sidesHtml>, ReturnType<typeof sidesHtml>];
  const metadataOf = (html: string) => (now.metadata === typed.metadata ? "" : box("Metadata", html));
  const content = `<h1>Edit ${idText(row.id)}</h1>
    ${alert("This row was changed while you edited it. Nothing was saved.")}
    <div class="sides">
      <section><h2>As it is stored</h2>${box("Text", text.before)}${metadataOf(metadata.before)}</section>
      <section><h2>As you typed it</h2>${box("Text", text.after)}${metadataOf(metadata.after)}</section>
    </div>
    <p><a class="button" href="${escaped(rowPath(row.collection, row.id))}">Keep the stored one</a></p>
    <h2>Save yours over it</h2>
    ${editForm(row, typed, current.digest, "Save over the stored one")}`;
  return page(site, { title: `Changed meanwhile: ${row.id.slice(0, 60)}`, content });
}

/** A row that was deleted while it was edited. */
export function deletedMeanwhilePage(site: Site, row: { collection: string; id: string }, typed: Typed): string {
  const content = `<h1>Edit ${idText(row.id)}</h1>
    ${alert("This row was deleted while you edited it. Nothing was saved.")}
    <p><a class="button" href="${pathOf(row.collection)}">Leave it deleted</a></p>
    <h2>Add it again</h2>
    <form method="post" action="${escaped(rowPath(row.collection, row.id, "add"))}">
      ${areas(typed)}
      <button class="primary">Add it again</button>
    </form>`;
  return page(site, { title: `Deleted meanwhile: ${row.id.slice(0, 60)}`, content });
}

/** Asks before a row is deleted. */
export function deletePage(
  site: Site,
  { collection, id }: { collection: string; id: string },
  { text, metadata }: RowContent,
  digest: string,
  problem?: string,
): string {
  const { html, shown } = cutTo(text, SIDE_BYTES);
  const back = site.local === undefined ? "" : " An undo brings it back.";
  const content = `<h1>Delete ${idText(id)}?</h1>
    ${problem === undefined ? "" : alert(problem)}
    <p>A row of <a href="${pathOf(collection)}">${isolated(collection)}</a>.${back}</p>
    ${box("Text", `${html}${shown < text.length ? "…" : ""}`)}
    ${wholeMetadata(metadata)}
    <form method="post" action="${escaped(rowPath(collection, id, "delete"))}">${hidden({ digest })}
      <div class="actions"><button class="primary">Delete</button>
      <a class="button" href="${escaped(rowPath(collection, id))}">Cancel</a></div>
    </form>`;
  return page(site, { title: `Delete ${id.slice(0, 60)}`, content });
}

function editForm(
  { collection, id }: { collection: string; id: string },
  typed: Typed,
  digest: string,
  button: string,
  { problem, isFirst }: { problem?: string | undefined; isFirst?: boolean } = {},
): string {
  return `<form method="post" action="${escaped(rowPath(collection, id, "edit"))}">${hidden({ digest })}
      ${areas(typed, problem, isFirst)}
      <div class="actions"><button class="primary">${button}</button>
      <a class="button" href="${escaped(rowPath(collection, id))}">Cancel</a></div>
    </form>`;
}

/** The fields of a row. @param isFirst one of them gets the focus: the one that is wrong */
function areas({ text, metadata }: Typed, problem?: string, isFirst = false): string {
  const wrong = problem === undefined ? undefined : /metadata/.test(problem) ? "metadata" : "text";
  const focused = isFirst ? (wrong ?? "text") : "";
  const state = (name: string, hint: string) => {
    const about = [name === wrong ? "problem" : "", hint].filter((one) => one !== "").join(" ");
    const described = about === "" ? "" : ` aria-describedby="${about}"`;
    return `${described}${name === wrong ? ' aria-invalid="true"' : ""}${name === focused ? " autofocus" : ""}`;
  };
  return `${problem === undefined ? "" : alert(problem)}${area("text", "Text", text, state("text", ""))}
      ${area("metadata", "Metadata", metadata, state("metadata", "metadata-hint"))}
      <p class="hint" id="metadata-hint">Lines of <code>key: value</code>, or a JSON object. Leave it empty for no metadata.</p>`;
}

/** A field of several lines. The parser takes away a line break at its beginning. */
function area(name: string, label: string, value: string, state: string): string {
  return `<label for="${name}">${label}</label>
      <textarea id="${name}" name="${name}" class="${name}" dir="auto" autocomplete="off" spellcheck="false"${state}>
${escaped(value)}</textarea>`;
}

function box(name: string, html: string): string {
  return `<pre class="stored" dir="auto" aria-label="${name}">\n${html}</pre>`;
}
