/** The rows of one collection that a brief may show. */
import type { Collection, Row } from "../../store/collection.ts";
import type { Listing } from "../../store/contents.ts";
import { DEFAULT_PARTITION } from "../../store/schema.ts";
import { isSuperseded } from "../../texts/tiers.ts";
import { pinsOf } from "./pins.ts";

/** What a row is for, in its metadata under `kind`: those that a brief shows before the newest ones. */
export const KINDS = ["decision", "preference", "open"] as const;
export type Kind = (typeof KINDS)[number];

/** Bytes read of each text. More than are shown, because runs of white space are shortened. */
export const TEXT_BYTES_READ = 512;
/** Bytes of the longest character. */
const CHARACTER_BYTES = 4;
/** Read with each row. */
export const DETAIL = { metadata: true, text: true, times: true } as const;
/** Rows that are looked at until enough fit. */
const LOOKED_MAX = 16_384;
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
  if (isSuperseded(metadata)) return -1;
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
  const found = new Map<Kind, Row[]>(KINDS.map((kind) => [kind, []]));
  for (const rank of ranksOf(scopes)) lookForKinds(collection, scopes, rank, most, found);
  return found;
}

/** In one pass over the metadata, unless one kind has so many rows that those of others may be older than the newest. */
function lookForKinds(collection: Collection, scopes: Scopes, rank: number, most: number, found: Map<Kind, Row[]>) {
  for (let kinds: readonly Kind[] = KINDS; kinds.length > 0; ) {
    const asked = kinds.length * most;
    const isOf = (row: Row) => kindsOf(row).some((kind) => kinds.includes(kind));
    const rows = newest(collection, scopes, rank, { having: textsOf(kinds) }, asked, isOf);
    const rest = kinds.filter((kind) => {
      const own = rows.filter((row) => kindsOf(row).includes(kind));
      if (rows.length === asked && own.length < most) return true;
      found.get(kind)!.push(...own.slice(0, most));
      return false;
    });
    kinds = rest;
  }
}

/** The kinds of a row. Agents and people write `Decision`, or a list. */
function kindsOf({ metadata }: Row): Kind[] {
  const values: unknown[] = Array.isArray(metadata?.kind) ? metadata.kind : [metadata?.kind];
  const written = values.map((value) => (typeof value === "string" ? value.trim().toLowerCase() : undefined));
  return KINDS.filter((kind) => written.includes(kind));
}

/** How metadata of these kinds begin: the native side compares bytes. Other rows have these texts too. */
function textsOf(kinds: readonly Kind[]): string[] {
  const cased = kinds.flatMap(([first, second]) =>
    [first!, first!.toUpperCase()].flatMap((one) => [one + second!, one + second!.toUpperCase()]),
  );
  // A list, white space, and white space that JSON escapes.
  return [...cased.map((letters) => `"${letters}`), "[", '" ', '"\\'].map((value) => `"kind":${value}`);
}

/** The newest rows. @param most of each scope */
export function newestRows(collection: Collection, scopes: Scopes, most: number, listing: Listing = {}): Row[] {
  return ranksOf(scopes).flatMap((rank) => newest(collection, scopes, rank, listing, most));
}

function ranksOf(scopes: Scopes): number[] {
  return scopes === undefined ? [0] : [...scopes.keys()];
}

/** Of one scope: by partition, where these are the scopes and there is no other filter. */
function newest(
  collection: Collection,
  scopes: Scopes,
  rank: number,
  listing: Listing,
  most: number,
  fits: (row: Row) => boolean = () => true,
): Row[] {
  const scope = collection.schema.keyName === SCOPE ? scopes?.[rank] : undefined;
  const where = listing.where ?? (scope === undefined ? undefined : { column: SCOPE, value: scope });
  for (let asked = most; ; asked *= 8) {
    const rows = collection.list({ ...listing, where, newest: asked }, DETAIL, TEXT_BYTES_READ);
    const fitting = rows.filter((row) => rankOf(row, scopes) === rank && fits(row));
    if (fitting.length >= most || rows.length < asked || asked >= LOOKED_MAX) return fitting.slice(0, most);
  }
}
