/** Rows made of fields that other programs name: which one is the text, the id, a time, and what the others become. */
import { readId } from "../../checks/ids.ts";
import { shown } from "../../checks/kinds.ts";
import { encodeMetadata } from "../../checks/metadata.ts";
import { readString } from "../../checks/strings.ts";
import { parseTime } from "../../checks/times.ts";
import { CancelledError, SvcError, ValueError } from "../../errors.ts";
import { ID_BYTES_MAX, STORED_TIME_MAX, TEXT_BYTES_MAX } from "../../limits.ts";
import type { Remarks } from "./remarks.ts";
import type { ForeignRow } from "./row.ts";

/** What programs call a text, the likeliest first. */
export const TEXT_NAMES = ["text", "content", "body", "document", "page_content", "pageContent", "memory", "note"];
/** What they call an id. */
export const ID_NAMES = ["id", "_id", "uuid"];
/**
 * What they call the times of a row, the likeliest first; upper case, spaces, hyphens and underscores do not count. Notion
 * writes "Created time" and "Last edited time", other programs `Created At`, `date_created`, `createTime`.
 */
const CREATED_NAMES = [
  ...["created", "createdat", "createdon", "createdtime", "createddate", "createtime", "creationtime", "creationdate"],
  ...["creationtimestamp", "datecreated", "timecreated", "insertedat", "addedat", "dateadded"],
];
/** The same, but their values say something of the row, and stay in its metadata too. */
const DATE_NAMES = ["timestamp", "datetime", "date"];
const UPDATED_NAMES = [
  ...["updated", "updatedat", "updatedon", "updatedtime", "updateddate", "updatetime", "dateupdated", "lastupdated"],
  ...["lastupdatedat", "modified", "modifiedat", "modifiedon", "modifiedtime", "modifieddate", "datemodified"],
  ...["lastmodified", "lastmodifiedat", "lastmodifieddate", "lastmod", "edited", "editedat", "lastedited"],
  ...["lasteditedat", "lasteditedtime"],
];

/** The name among `present` that is the likeliest of `names`; upper case counts for lower. Undefined: none is there. */
export function likeliest(names: readonly string[], present: readonly string[]): string | undefined {
  for (const name of names) {
    const found =
      present.find((one) => one === name) ?? present.find((one) => one.toLowerCase() === name.toLowerCase());
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The parts of a row, nothing of them checked. */
export interface Parts {
  readonly text: unknown;
  /** undefined, null and the empty string: it has none. */
  readonly id?: unknown;
  readonly created?: number | undefined;
  readonly updated?: number | undefined;
  /** Members of its metadata. Pairs, as assigning a member `__proto__` would change the object instead. */
  readonly metadata?: readonly (readonly [string, unknown])[];
}

/**
 * A row, its parts checked.
 * @param where for messages, as in "'notes.csv', line 3"
 * @throws ValueError, TypeError naming the place
 */
export function rowOf(parts: Parts, where: string): ForeignRow {
  try {
    const text = readString(parts.text, "text");
    if (text.length * 3 > TEXT_BYTES_MAX && Buffer.byteLength(text) > TEXT_BYTES_MAX) {
      throw new ValueError(`text has more than ${TEXT_BYTES_MAX} bytes of UTF-8: divide it`, "limit");
    }
    const metadata = parts.metadata?.length ? Object.fromEntries(parts.metadata) : null;
    if (metadata) encodeMetadata(metadata, "metadata");
    const hasId = parts.id !== undefined && parts.id !== null && parts.id !== "";
    const id = hasId ? readId(typeof parts.id === "string" ? fittingId(parts.id) : parts.id, "id") : undefined;
    return { id, text, metadata, created: parts.created, updated: parts.updated, where };
  } catch (error) {
    throw locate(error, where);
  }
}

/** Whether there is nothing in a text that could be found. */
export function isBlankText(text: unknown): boolean {
  return text === undefined || text === null || (typeof text === "string" && text.trim() === "");
}

/** An id that is not too long: of a longer one its beginning, and a digest that keeps it apart from others. */
function fittingId(id: string): string {
  if (id.length * 3 <= ID_BYTES_MAX || Buffer.byteLength(id) <= ID_BYTES_MAX) return id;
  // At most three bytes a unit; half of a surrogate pair at the cut would be refused as an id.
  const beginning = id.slice(0, 120).replace(/[\ud800-\udbff]$/, "");
  return `${beginning}…${digest(id)}`;
}

/** 32 hexadecimal digits that stand for a text. */
export function digest(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 32);
}

/**
 * The time that a value says, in milliseconds since 1970; undefined for what says none, or one that no row can have.
 * Numbers from 10^8 are taken for seconds (from 1973 on), from 10^11 for milliseconds, from 10^14 for microseconds. A date
 * whose order of day and month is not known, such as 11/12/2026, says none.
 */
export function timeOf(value: unknown): number | undefined {
  const time = typeof value === "string" ? timeOfText(value.trim()) : timeOfNumber(value);
  return time !== undefined && time >= 0 && time <= STORED_TIME_MAX ? time : undefined;
}

function timeOfText(text: string): number | undefined {
  if (/^\d{9,16}(?:\.\d{1,9})?$/.test(text)) return timeOfNumber(Number(text));
  // As in "2026-11-22 14:30:00 UTC" and "… +0100".
  return parseTime(text.replace(/ (?:UTC|GMT|Z)$/i, "Z").replace(/ ([+-]\d\d:?\d\d)$/, "$1"));
}

function timeOfNumber(value: unknown): number | undefined {
  if (typeof value !== "number" || !(value >= 1e8 && value < 1e17)) return undefined;
  if (value < 1e11) return Math.floor(value * 1000);
  return Math.floor(value < 1e14 ? value : value / 1000);
}

/** Which of these names are those of a row's times. */
export interface TimeKeys {
  readonly created: string | undefined;
  readonly updated: string | undefined;
  /** Whether the field of `created` stays in the metadata. */
  readonly isDate: boolean;
}

/** The row before: most rows of a file have the same names, and to look for times costs 7 % of reading a row of JSON. */
let before: { readonly names: readonly string[]; readonly keys: TimeKeys } | undefined;

/** The names of times among those of a row, or of the columns of a table. */
export function timeKeys(names: readonly string[]): TimeKeys {
  if (before?.names.length !== names.length || before.names.some((name, i) => name !== names[i])) {
    before = { names, keys: findTimeKeys(names) };
  }
  return before.keys;
}

function findTimeKeys(names: readonly string[]): TimeKeys {
  const bare = new Map<string, string>();
  for (const name of names) {
    if (name.length > 40) continue;
    const key = name.replace(/[\s_-]+/g, "").toLowerCase();
    if (!bare.has(key)) bare.set(key, name);
  }
  const find = (wanted: readonly string[]) => {
    const found = wanted.find((name) => bare.has(name));
    return found === undefined ? undefined : bare.get(found);
  };
  const created = find(CREATED_NAMES);
  return { created: created ?? find(DATE_NAMES), updated: find(UPDATED_NAMES), isDate: created === undefined };
}

/**
 * The times among the fields of a row, and the fields that are left. What says no time stays a field, which is said.
 * @param where the row, for messages
 */
export function withoutTimes(
  fields: readonly (readonly [string, unknown])[],
  { created: createdKey, updated: updatedKey, isDate }: TimeKeys,
  remarks: Remarks,
  where: string,
) {
  const read = (wanted: string | undefined) => {
    const value = fields.find(([key]) => key === wanted)?.[1];
    const time = timeOf(value);
    if (
      time === undefined &&
      value !== undefined &&
      value !== null &&
      value !== "" &&
      !(isDate && wanted === createdKey)
    )
      remarks.add(`${shown(wanted!)} is not a time in ISO 8601 or since 1970`, where, "kept as metadata");
    return time;
  };
  const [created, updated] = [read(createdKey), read(updatedKey)];
  const others = fields.filter(
    ([key]) =>
      !(key === createdKey && created !== undefined && !isDate) && !(key === updatedKey && updated !== undefined),
  );
  return { created, updated, others };
}

/** The same failure with where it happened in front; its type stays. */
export function locate(error: unknown, where: string): unknown {
  if (error instanceof SvcError && !(error instanceof CancelledError)) error.message = `${where}: ${error.message}`;
  return error;
}
