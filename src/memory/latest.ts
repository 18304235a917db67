/** The rows that were added or changed last, in one collection or in all of them. */
import { cut } from "../answers/sizes.ts";
import type { Metadata } from "../checks/values.ts";
import type { Condition } from "../checks/where.ts";
import type { Collection } from "../store/collection.ts";
import { rowsSavedBy } from "../texts/history/by-client.ts";
import { type Visited, visitCollections } from "./collections/visit.ts";
import type { TextReader } from "./repos/sources.ts";

/** Rows that are read at once: each may have a text of 16 MiB. */
const ROWS_TOGETHER = 100;
/** Of each text, so many bytes more than are shown are read: one character, which tells whether the text goes on. */
const CHARACTER_BYTES = 4;

/** Which rows. */
export interface LatestArguments {
  /** Absent: all collections but those of repositories. */
  collection?: string | undefined;
  where?: Condition | undefined;
  /** Only rows that were updated then or later, in milliseconds since 1970. */
  since?: number | undefined;
  /** Only rows that were updated before this time. */
  until?: number | undefined;
  /** Only rows that this client saved last, as far as the history tells. */
  client?: string | undefined;
  /** So many rows. */
  limit: number;
  /** So many bytes of each text; absent: all of it. */
  text_bytes?: number | undefined;
}

/** A place in the list of rows: after all rows that were updated after `updated`, and `skip` of those updated at that time. */
export interface LatestPlace {
  updated: number;
  skip: number;
}

/** Which rows of one collection, page by page. */
export interface LatestPageArguments extends Omit<LatestArguments, "collection" | "client"> {
  collection: string;
  /** Only rows after this place. */
  after?: LatestPlace | undefined;
}

/** A row of the list. */
export interface LatestRow {
  collection: string;
  id: string;
  created: number;
  updated: number;
  metadata?: Metadata | undefined;
  /** Absent where the row has none. */
  text?: string | undefined;
  /** Whether the text goes on. */
  truncated?: true;
}

/** The rows, the last updated first. */
export interface LatestPayload {
  rows: LatestRow[];
  /** Rows that match, those of the answer included. */
  total: number;
  /** Collections that could not be read, by name, with the reason. */
  unreadable?: Record<string, string>;
  /** Why rows of a repository have no text. */
  notice?: string;
}

/** What it needs of a memory. */
interface LatestParts extends Visited {
  readonly textReader: (collection: Collection) => Promise<TextReader>;
}

/** @throws ValueError for a collection that is named and does not exist, or a `where` that it does not have */
export async function latestRows(parts: LatestParts, a: LatestArguments): Promise<LatestPayload> {
  if (a.collection !== undefined) return latestOf(parts, parts.open(a.collection), a);
  const all: LatestRow[] = [];
  let total = 0;
  const unreadable = await visitCollections(parts, async (collection) => {
    const found = await latestOf(parts, collection, a);
    all.push(...found.rows);
    total += found.total;
  });
  const rows = all.sort((a, b) => b.updated - a.updated).slice(0, a.limit);
  return { rows, total, ...(unreadable.size > 0 && { unreadable: Object.fromEntries(unreadable) }) };
}

/** A page of the rows. */
export interface LatestPagePayload extends Pick<LatestPayload, "rows" | "notice"> {
  /** Where the next page begins; absent on the last one. */
  next?: LatestPlace;
}

/**
 * A page of the rows of one collection. It does not tell how many rows match, because counting those of a time reads all
 * ids.
 * @throws as `latestRows`
 */
export async function latestPage(parts: LatestParts, a: LatestPageArguments): Promise<LatestPagePayload> {
  const collection = parts.open(a.collection);
  const { ids, next } = idsAfter(collection, a);
  const read = readRows(collection, await parts.textReader(collection), ids, a.text_bytes);
  return { ...read, ...(next && { next }) };
}

/** The ids of a page, and where the next page begins. It looks at all rows, but makes strings only of these ids. */
export function idsAfter(
  collection: Collection,
  { where, since, until, after, limit }: Omit<LatestPageArguments, "collection" | "text_bytes">,
): { ids: string[]; next?: LatestPlace } {
  const { updated, skip } = after ?? { updated: Number.POSITIVE_INFINITY, skip: 0 };
  const before = Math.min(until ?? Number.POSITIVE_INFINITY, updated + 1);
  const bound = Number.isFinite(before) ? { until: before } : {};
  const ids = collection.ids({ where, since, ...bound, newest: skip + limit + 1 }).slice(skip);
  if (ids.length <= limit) return { ids };
  ids.length = limit;
  const times = collection.get(ids, { times: true }).map((row) => row.times?.updated);
  const last = times.findLast((time) => time !== undefined);
  // Another process has deleted all of them since their ids were read.
  if (last === undefined) return { ids };
  // Rows that were deleted since are not counted: the next page does not find them, and would skip others instead.
  const together = times.filter((time) => time === last).length;
  return { ids, next: { updated: last, skip: together + (last === updated ? skip : 0) } };
}

async function latestOf({ textReader }: LatestParts, collection: Collection, a: LatestArguments) {
  const { where, since, until, client, limit } = a;
  const texts = await textReader(collection);
  const theirs = client === undefined ? undefined : rowsOfClient(collection, client, a);
  const ids = theirs?.slice(0, limit) ?? collection.ids({ where, since, until, newest: limit });
  const read = readRows(collection, texts, ids, a.text_bytes);
  if (theirs) return { ...read, total: theirs.length };
  const isTimed = since !== undefined || until !== undefined;
  const matching = isTimed ? collection.ids({ where, since, until }).length : collection.count(where);
  return { ...read, total: Math.max(matching, read.rows.length) };
}

/** @param bytes how many of each text are shown; undefined: all. Little more is read of a stored text. */
function readRows(
  collection: Collection,
  texts: TextReader,
  ids: readonly string[],
  bytes: number | undefined,
): Pick<LatestPayload, "rows" | "notice"> {
  const notice = texts.noticeOf(ids);
  const rows: LatestRow[] = [];
  const most = bytes === undefined ? 0 : bytes + CHARACTER_BYTES;
  for (let from = 0; from < ids.length; from += ROWS_TOGETHER) {
    const detail = { metadata: true, text: true, times: true };
    for (const row of collection.get(ids.slice(from, from + ROWS_TOGETHER), detail, most)) {
      // Another process may have deleted it since its id was read.
      if (!row.found) continue;
      const { id, metadata } = row;
      const begun = begin(texts.textOf(row), bytes);
      rows.push({ collection: collection.name, id, ...row.times!, ...(metadata && { metadata }), ...begun });
    }
  }
  return { rows, ...(notice !== undefined && { notice }) };
}

/** Their ids, the last saved first. */
function rowsOfClient(collection: Collection, client: string, { where, since, until }: LatestArguments): string[] {
  const saved = [...rowsSavedBy(collection, (origin) => origin.client === client).keys()];
  if (where === undefined && since === undefined && until === undefined) return saved;
  const matching = new Set(collection.ids({ where, since, until }));
  return saved.filter((id) => matching.has(id));
}

function begin(text: string | undefined, bytes: number | undefined): Pick<LatestRow, "text" | "truncated"> {
  if (text === undefined) return {};
  const shown = bytes === undefined ? text : cut(text, bytes);
  return shown.length < text.length ? { text: shown, truncated: true } : { text };
}
