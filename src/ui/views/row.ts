/** One row, and its versions. */
import { readId } from "../../checks/ids.ts";
import { SvcError, ValueError } from "../../errors.ts";
import type { VersionPayload } from "../../memory/payloads.ts";
import { collectionAbout } from "../memory/collection.ts";
import type { Site } from "../memory/site.ts";
import { call } from "../memory/verb.ts";
import { rowPath } from "../pages/addresses.ts";
import { problemPage } from "../pages/problem.ts";
import { loadMarkdown, type RowShown, rowPage, type SimilarRow } from "../pages/rows/row.ts";
import { versionsPage } from "../pages/rows/versions.ts";
import { type Call, ELSEWHERE, html, type Routes } from "./call.ts";
import { fieldsOf } from "./fields.ts";

export const ROW_ROUTES: Routes = {
  "GET /c/:name/row": async (site, { params, url, said }) => {
    const [collection, id] = [params.name!, idIn(url)];
    const isPlain = url.searchParams.get("as") === "text";
    const row = await rowOf(site, collection, id, isPlain ? offsetIn(url) : 0);
    if (!row.found && (row.versions ?? []).length === 0) {
      return html(problemPage(site, "This collection has no such row."), 404);
    }
    const render = isPlain ? undefined : (await loadMarkdown()).markdownHtml;
    return html(rowPage(site, row, { render, said }), row.found ? 200 : 404);
  },
  "GET /c/:name/versions": async (site, { params, url }) => {
    const [collection, id] = [params.name!, idIn(url)];
    if (site.local === undefined) return html(problemPage(site, ELSEWHERE), 404);
    const skip = Math.min(VERSIONS_MAX, Number(/^\d{1,6}$/.exec(url.searchParams.get("skip") ?? "")?.[0] ?? 0));
    const all = await versionsOf(site, collection, id, skip + VERSIONS + 1);
    const versions = all.slice(skip, skip + VERSIONS);
    const shown = { collection, id, versions, before: all[skip + VERSIONS], skip, limit: VERSIONS };
    return html(versionsPage(site, shown));
  },
  "POST /c/:name/pin": async (site, call) => {
    const form = await fieldsOf(call.request);
    const [collection, id] = [call.params.name!, idIn(call.url)];
    if (site.local === undefined) throw new ValueError(ELSEWHERE);
    const remove = form.get("remove") === "1";
    await (await site.local.terminal()).pin({ collection, id, remove }, signalOf(call));
    return call.done(rowPath(collection, id), remove ? "The row is not pinned any more." : "The row is pinned.");
  },
};

/** Versions on a row's page, on a page of versions, and in all. */
const LATEST = 5;
const VERSIONS = 10;
const VERSIONS_MAX = 100_000;
/** Bytes of a text that are read for a page, as JSON. */
const READ_BYTES = 80_000;
/** UTF-16 units of the text that similar rows are searched by, and how many there are. */
const QUERY_UNITS = 600;
const SIMILAR = 5;

/** @throws ValueError for an id that no row can have */
export function idIn(url: URL): string {
  return readId(url.searchParams.get("id") ?? "", "id");
}

export function signalOf({ request }: Pick<Call, "request">): { signal: AbortSignal } {
  return { signal: request.signal };
}

function offsetIn(url: URL): number {
  return Number(/^\d{1,9}$/.exec(url.searchParams.get("offset") ?? "")?.[0] ?? 0);
}

async function rowOf(site: Site, collection: string, id: string, offset: number): Promise<RowShown> {
  const answer = await call(site, "get", { collection, ids: [id], offset, max_bytes: READ_BYTES });
  const row = answer.rows[0]!;
  const { isRepository } = await collectionAbout(site, collection);
  const text = row.text ?? "";
  const [versions, similar, isPinned] = await Promise.all([
    site.local === undefined || isRepository ? undefined : versionsOf(site, collection, id, LATEST),
    row.found && text !== "" && offset === 0 ? similarTo(site, collection, id, text) : [],
    isRepository ? undefined : isPinnedHere(site, collection, id),
  ]);
  return {
    collection,
    id,
    found: row.found,
    text: row.text,
    textBytes: row.text_bytes,
    nextOffset: row.next_offset,
    offset,
    metadata: row.metadata,
    metadataBytes: row.metadata_bytes,
    created: row.created,
    updated: row.updated,
    notice: answer.notice,
    isPinned,
    versions,
    similar,
    canEdit: !isRepository,
  };
}

async function versionsOf(site: Site, collection: string, id: string, limit: number): Promise<VersionPayload[]> {
  try {
    return (await (await site.local!.terminal()).history({ collection, id, limit })).versions ?? [];
  } catch (error) {
    // A history that is damaged does not keep the row from being shown.
    if (error instanceof SvcError) return [];
    throw error;
  }
}

/** Rows whose texts are like its own; of a memory elsewhere those that a search by its text finds. */
async function similarTo(site: Site, collection: string, id: string, text: string): Promise<SimilarRow[]> {
  const query = text.slice(0, QUERY_UNITS).toWellFormed();
  try {
    if (site.local !== undefined) {
      return await (await site.local.terminal()).rows_like({ collection, id, text: query, limit: SIMILAR });
    }
    const request = { collection, query, top_k: SIMILAR + 1, with_text: true };
    const { hits } = await call(site, "search", request, { textBytes: QUERY_UNITS });
    return hits.filter((hit) => hit.id !== id && !hit.weak).slice(0, SIMILAR);
  } catch (error) {
    // As in the index of a repository of which another embedder made the vectors.
    if (error instanceof SvcError) return [];
    throw error;
  }
}

async function isPinnedHere(site: Site, collection: string, id: string): Promise<boolean | undefined> {
  if (site.local === undefined) return undefined;
  return (await (await site.local.terminal()).pin({ collection }, {})).pinned.includes(id);
}
