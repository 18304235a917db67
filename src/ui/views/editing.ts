/** Adding, editing and deleting a row. */
import type { Metadata } from "../../checks/values.ts";
import { SvcError, ValueError } from "../../errors.ts";
import { isSame, type RowContent } from "../../memory/edit.ts";
import type { AddPayload } from "../../memory/payloads.ts";
import { readWrittenMetadata } from "../../memory/typed/written-metadata.ts";
import { collectionAbout } from "../memory/collection.ts";
import { contentDigest } from "../memory/rows.ts";
import type { Site } from "../memory/site.ts";
import { call } from "../memory/verb.ts";
import { pathOf, rowPath } from "../pages/addresses.ts";
import { problemPage } from "../pages/problem.ts";
import {
  addPage,
  conflictPage,
  deletedMeanwhilePage,
  deletePage,
  editPage,
  TYPED_BYTES_MAX,
  type Typed,
  typedBytes,
  typedOf,
} from "../pages/rows/editing.ts";
import { type Call, ELSEWHERE, html, READ_ONLY, type Routes } from "./call.ts";
import { type Fields, fieldsOf } from "./fields.ts";
import { idIn } from "./row.ts";

export const EDITING_ROUTES: Routes = {
  "GET /c/:name/add": async (site, { params }) => {
    if (site.readOnly) return html(problemPage(site, READ_ONLY), 403);
    const about = await collectionAbout(site, params.name!);
    return html(addPage(site, about, { id: "", text: "", metadata: "" }));
  },
  "POST /c/:name/add": added,
  "GET /c/:name/edit": async (site, { params, url }) => {
    const row = { collection: params.name!, id: idIn(url) };
    if (site.readOnly) return html(problemPage(site, READ_ONLY), 403);
    if (site.local === undefined) throw new ValueError(ELSEWHERE);
    const content = await (await site.local.terminal()).editable_row(row);
    const typed = typedOf(content);
    if (typedBytes(typed) > TYPED_BYTES_MAX || HOLDS_NUL.test(content.text)) throw new ValueError(TOO_LONG);
    return html(editPage(site, row, typed, contentDigest(content)));
  },
  "POST /c/:name/edit": edited,
  "GET /c/:name/delete": async (site, { params, url }) => {
    if (site.readOnly) return html(problemPage(site, READ_ONLY), 403);
    const row = { collection: params.name!, id: idIn(url) };
    const content = await contentOf(site, row);
    if (content === undefined) throw new ValueError("this row was deleted already", "no_row");
    return html(deletePage(site, row, content, contentDigest(content)));
  },
  "POST /c/:name/delete": async (site, { request, params, url, done }) => {
    const form = await fieldsOf(request);
    const row = { collection: params.name!, id: idIn(url) };
    const content = await contentOf(site, row);
    if (content === undefined) return done(pathOf(row.collection), "The row was deleted already.");
    const digest = contentDigest(content);
    if (form.get("digest") !== digest) {
      return html(deletePage(site, row, content, digest, "The row was changed meanwhile: this is what it holds."), 409);
    }
    await call(site, "delete", { collection: row.collection, ids: [row.id] }, { signal: request.signal });
    return done(pathOf(row.collection), `Deleted ${row.id}.`);
  },
};

const TOO_LONG =
  "this row is too long for a form, or holds a character that a form changes: 'svc mem edit' opens it in your editor";
/** A browser turns it into another character. */
const HOLDS_NUL = /\0/;

async function added(site: Site, { request, params, url, done }: Call): Promise<Response> {
  const form = await fieldsOf(request);
  const collection = params.name!;
  // A row that was deleted while it was edited has its id in the address.
  const typed = { ...typedIn(form), id: url.searchParams.get("id") ?? (form.get("id") ?? "").trim() };
  try {
    if (typed.text === "") throw new ValueError("the text is empty: type one");
    const metadata = metadataOf(typed, undefined);
    const ids = typed.id === "" ? undefined : [typed.id];
    const rows = { collection, texts: [typed.text], ids, metadata: metadata && [metadata] };
    const answer = await call(site, "add", rows, { signal: request.signal });
    const id = typed.id === "" ? answer.ids![0]! : typed.id;
    return done(rowPath(collection, id), ["Added.", ...remarksOf(answer)].join(" "));
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    const { isRepository } = await collectionAbout(site, collection);
    return html(addPage(site, { name: collection, isRepository }, shownTyped(typed), error.message), 400);
  }
}

/** What `svc_add` answers about the row. */
function remarksOf({ duplicates = [], similar = [], masked = 0, notice }: AddPayload): string[] {
  return [
    ...duplicates.map(({ of }) => `Row ${of} has the same text.`),
    ...similar.map(({ of }) => `Row ${of} has nearly the same text.`),
    ...(masked > 0 ? [`Credentials were masked: ${masked}.`] : []),
    ...(notice !== undefined && similar.length === 0 ? [`Note: ${notice}.`] : []),
  ];
}

async function edited(site: Site, { request, params, url, done }: Call): Promise<Response> {
  const form = await fieldsOf(request);
  const row = { collection: params.name!, id: idIn(url) };
  const typed = typedIn(form);
  if (site.local === undefined) throw new ValueError(ELSEWHERE);
  const deleted = () => html(deletedMeanwhilePage(site, row, shownTyped(typed)), 409);
  const conflict = (content: RowContent) => {
    const current = { content, digest: contentDigest(content) };
    return html(conflictPage(site, row, shownTyped(typed), current), 409);
  };
  const terminal = await site.local.terminal();
  const before = await contentOf(site, row);
  if (before === undefined) return deleted();
  const digest = contentDigest(before);
  const given = form.get("digest") ?? "";
  try {
    const after = contentTyped(typed, before);
    if (given !== digest) return conflict(before);
    if (isSame(before, after)) return done(rowPath(row.collection, row.id), "Nothing was changed.");
    const { masked = 0 } = await terminal.edit({ ...row, before, after }, { signal: request.signal });
    return done(rowPath(row.collection, row.id), masked > 0 ? `Saved. Credentials were masked: ${masked}.` : "Saved.");
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    // Another process may have saved since the row was read above.
    const current = await contentOf(site, row);
    if (current === undefined) return deleted();
    if (contentDigest(current) !== digest) return conflict(current);
    return html(editPage(site, row, shownTyped(typed), given, error.message), 400);
  }
}

/** The row as it is stored; undefined for one that is not live. */
async function contentOf(
  site: Site,
  { collection, id }: { collection: string; id: string },
): Promise<RowContent | undefined> {
  const { rows } = await call(site, "get", { collection, ids: [id] });
  const { found, text = "", metadata } = rows[0]!;
  return found ? { text, ...(metadata && { metadata }) } : undefined;
}

function typedIn(form: Fields): Typed {
  // A browser sends line breaks as CR LF.
  const lines = (name: string) => (form.get(name) ?? "").replaceAll("\r\n", "\n");
  return { text: lines("text"), metadata: lines("metadata") };
}

/** What was typed, again in a form: more than a page has room for was not typed by hand, and is not shown again. */
function shownTyped<T extends Typed>(typed: T): T {
  if (typedBytes(typed) <= TYPED_BYTES_MAX) return typed;
  throw new ValueError(
    "nothing was saved, and what you typed is too long to be shown again: go back in the browser to find it",
  );
}

/** The row that was typed: a browser changes line breaks, which stay as they were. */
function contentTyped(typed: Typed, before: RowContent): RowContent {
  const asTyped = (text: string) => text.replace(/\r\n?/g, "\n");
  const hasCrLf = before.text.includes("\r\n") && !/(?<!\r)\n/.test(before.text);
  const text = hasCrLf ? typed.text.replaceAll("\n", "\r\n") : typed.text;
  if (text === "" && before.text !== "") throw new ValueError("the text is empty: 'Delete' removes a row");
  const metadata = metadataOf(typed, before.metadata);
  const isSameText = typed.text === asTyped(before.text);
  return { text: isSameText ? before.text : text, ...(metadata && { metadata }) };
}

/** Undefined for none: an empty object stays where it was one. */
function metadataOf(typed: Typed, before: Metadata | undefined): Metadata | undefined {
  const metadata = readWrittenMetadata(typed.metadata, "the metadata");
  return Object.keys(metadata).length === 0 && before === undefined ? undefined : metadata;
}
