/** Rows as pages list them: of a memory on this machine, and of one elsewhere, which has the tools' verbs only. */
import { createHash } from "node:crypto";
import type { Metadata } from "../../checks/values.ts";
import type { RowContent } from "../../memory/edit.ts";
import type { LatestPlace } from "../../memory/latest.ts";
import type { Site } from "./site.ts";
import { call } from "./verb.ts";

/** A row of a list: the beginning of its text. */
export interface ListedRow {
  readonly id: string;
  readonly created?: number | undefined;
  readonly updated?: number | undefined;
  readonly metadata?: Metadata | undefined;
  readonly text?: string | undefined;
  readonly truncated?: true | undefined;
}

export interface RowPage {
  readonly rows: readonly ListedRow[];
  readonly next?: LatestPlace | undefined;
  readonly notice?: string | undefined;
}

export interface RowFilter {
  readonly collection: string;
  /** As the tools take it. */
  readonly where?: Readonly<Record<string, unknown>> | undefined;
  /** Milliseconds since 1970. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly after?: LatestPlace | undefined;
  readonly limit: number;
  /** Bytes of each text. */
  readonly textBytes: number;
}

/** The rows that were updated last, a page of them. @throws ValueError for a filter that the collection does not have */
export async function latestPage(site: Site, filter: RowFilter): Promise<RowPage> {
  const { collection, where, since, until, after, limit, textBytes } = filter;
  if (site.local === undefined) return pageElsewhere(site, filter);
  const [column] = Object.keys(where ?? {});
  const condition = column === undefined ? undefined : { column, value: where![column] as string };
  const terminal = await site.local.terminal();
  return terminal.latest_page({ collection, where: condition, since, until, after, limit, text_bytes: textBytes });
}

/**
 * The same by tools. A page begins after rows updated at a time as `latest_page` has it; what another page shows of rows
 * with equal times is skipped by their number.
 */
async function pageElsewhere(site: Site, filter: RowFilter): Promise<RowPage> {
  const { collection, where, since, after, limit, textBytes } = filter;
  const { updated = Number.POSITIVE_INFINITY, skip = 0 } = after ?? {};
  const before = Math.min(filter.until ?? Number.POSITIVE_INFINITY, updated + 1);
  const until = Number.isFinite(before) ? before : undefined;
  const newest = skip + limit + 1;
  const all = await call(site, "ids", { collection, where, since, until, newest });
  const ids = all.ids.slice(skip, skip + limit);
  const rows = await Promise.all(ids.map((id) => beginningOf(site, collection, id, textBytes)));
  const found = rows.filter((row) => row !== undefined);
  return { rows: found, next: all.ids.length < newest ? undefined : placeAfter(found, after) };
}

/** The same page with fewer rows, where it has more than `most`. */
export function firstOf(page: RowPage, most: number, after: LatestPlace | undefined): RowPage {
  if (page.rows.length <= most) return page;
  const rows = page.rows.slice(0, most);
  return { ...page, rows, next: placeAfter(rows, after) };
}

/** Where the page after these rows begins, which are those of the page that begins at `after`. */
function placeAfter(rows: readonly ListedRow[], after: LatestPlace | undefined): LatestPlace | undefined {
  const last = rows.at(-1)?.updated;
  if (last === undefined) return undefined;
  const together = rows.length - rows.findIndex((row) => row.updated === last);
  return { updated: last, skip: together + (last === after?.updated ? after.skip : 0) };
}

async function beginningOf(site: Site, collection: string, id: string, bytes: number): Promise<ListedRow | undefined> {
  const { rows } = await call(site, "get", { collection, ids: [id], max_bytes: Math.max(2_000, bytes) });
  const [row] = rows;
  return row?.found ? { ...row, id } : undefined;
}

/** What a person saw of a row, in 128 bits: a save finds out whether it is still the same. */
export function contentDigest({ text, metadata }: RowContent): string {
  const json = JSON.stringify([text, metadata ?? null]);
  return createHash("sha256").update(json).digest("base64url").slice(0, 22);
}
