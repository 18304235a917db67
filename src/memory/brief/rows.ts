/** The rows of one collection that a brief may show. */
import type { Collection, Row } from "../../store/collection.ts";
import type { Listing } from "../../store/reader.ts";
import { DEFAULT_PARTITION } from "../../store/schema.ts";
import { pinsOf } from "./pins.ts";

/** What a row is for, in its metadata under `kind`: those that a brief shows before the newest ones. */
export const KINDS = ["decision", "preference", "open"] as const;
export type Kind = (typeof KINDS)[number];

/** Bytes of each text that are read: white space may shrink to the much shorter beginning that is shown. */
export const TEXT_BYTES_READ = 512;
/** Bytes of the longest character. */
const CHARACTER_BYTES = 4;
/** With these parts. */
export const DETAIL = { metadata: true, text: true, times: true } as const;
/** Rows that are looked at until enough fit. */
const LOOKED_MOST = 16_384;
const SCOPE = "scope";

/** The scopes whose rows a brief shows, the first one's first; undefined: all rows. */
export type Scopes = readonly string[] | undefined;

/** A project's rows, then those that belong to none. */
export function scopesOf(project: string | undefined): Scopes {
  if (project === undefined) return undefined;
  return project === DEFAULT_PARTITION ? [project] : [project, DEFAULT_PARTITION];
}

/** Where a row's scope stands among those of a brief; -1: it is not shown. */
export function rankOf({ metadata }: Row, scopes: Scopes): number {
  if (typeof metadata?.superseded_by === "string" && metadata.superseded_by !== "") return -1;
  return scopes === undefined ? 0 : scopes.indexOf(scopeOf(metadata?.[SCOPE]));
}

/** As the partition key reads it: a row without one is in the default partition. */
function scopeOf(value: unknown): string {
  if (value === undefined) return DEFAULT_PARTITION;
  return typeof value === "string" ? value : "";
}

/** Whether a row's text has as many bytes as are read, so that it most likely goes on. */
export function isBeginning({ text = "" }: Row): boolean {
  return Buffer.byteLength(text) > TEXT_BYTES_READ - CHARACTER_BYTES;
}

/** The pinned rows, in the order in which they were pinned. */
export function pinnedRows(collection: Collection, scopes: Scopes): Row[] {
  const pins = pinsOf(collection);
  if (pins.length === 0) return [];
  return collection.get(pins, DETAIL, TEXT_BYTES_READ).filter((row) => row.found && rankOf(row, scopes) >= 0);
}

/** The newest rows of each kind. @param most of each kind and scope */
export function rowsOfKinds(collection: Collection, scopes: Scopes, most: number): Map<Kind, Row[]> {
  const isColumn = collection.schema.filterColumns.includes("kind");
  // All kinds in one pass over the metadata: they are few as a rule.
  const asked = KINDS.length * most;
  const all = isColumn ? [] : perScope(collection, scopes, { having: KINDS.map(asMember) }, asked);
  const isAll = !isColumn && all.length < asked;
  const found = new Map<Kind, Row[]>();
  for (const kind of KINDS) {
    const listing: Listing = isColumn ? { where: { column: "kind", value: kind } } : { having: [asMember(kind)] };
    const rows = isAll ? all : perScope(collection, scopes, listing, most);
    // The text is found deeper inside of metadata too.
    found.set(
      kind,
      rows.filter(({ metadata }) => metadata?.kind === kind),
    );
  }
  return found;
}

/** The newest rows. @param most of each scope */
export function newestRows(collection: Collection, scopes: Scopes, most: number, listing: Listing = {}): Row[] {
  return perScope(collection, scopes, listing, most);
}

/** By partition, where these are the scopes and there is no other filter. */
function perScope(collection: Collection, scopes: Scopes, listing: Listing, most: number): Row[] {
  if (scopes === undefined || collection.schema.keyName !== SCOPE || listing.where !== undefined) {
    return newest(collection, listing, most, (row) => rankOf(row, scopes) >= 0);
  }
  return scopes.flatMap((value, rank) => {
    const where = { column: SCOPE, value };
    return newest(collection, { ...listing, where }, most, (row) => rankOf(row, scopes) === rank);
  });
}

function newest(collection: Collection, listing: Listing, most: number, fits: (row: Row) => boolean): Row[] {
  for (let asked = most; ; asked *= 8) {
    const rows = collection.list({ ...listing, newest: asked }, DETAIL, TEXT_BYTES_READ);
    const fitting = rows.filter(fits);
    if (fitting.length >= most || rows.length < asked || asked >= LOOKED_MOST) return fitting.slice(0, most);
  }
}

/** Metadata are stored as JSON.stringify writes them. */
function asMember(kind: Kind): string {
  return `"kind":${JSON.stringify(kind)}`;
}
