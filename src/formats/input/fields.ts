/** Rows made of fields that other programs name: which one is the text, the id, a time, and what the others become. */
import { readId } from "../../checks/ids.ts";
import { encodeMetadata } from "../../checks/metadata.ts";
import { readString } from "../../checks/strings.ts";
import { parseTime } from "../../checks/times.ts";
import { CancelledError, SvcError, ValueError } from "../../errors.ts";
import { ID_BYTES_MAX, TEXT_BYTES_MAX } from "../../limits.ts";
import type { ForeignRow } from "./row.ts";

/** What programs call a text, the likeliest first. */
export const TEXT_NAMES = ["text", "content", "body", "document", "page_content", "pageContent", "memory", "note"];
/** What they call an id. */
export const ID_NAMES = ["id", "_id", "uuid"];
/** What they call the times of a row. */
const CREATED_NAMES = ["created", "created_at", "createdAt"];
const UPDATED_NAMES = ["updated", "updated_at", "updatedAt"];

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
 * The time that a value says, in milliseconds since 1970; undefined for what says none. Numbers from 10^11 are taken for
 * milliseconds (from 1973 on), smaller ones from 10^8 for seconds.
 */
export function timeOf(value: unknown): number | undefined {
  if (typeof value === "string") return parseTime(value.trim());
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  if (value >= 1e11 && value <= 8.64e15) return Math.floor(value);
  return value >= 1e8 && value < 1e11 ? Math.floor(value * 1000) : undefined;
}

/** Whether one of these names is that of a time. */
export function hasTimes(names: readonly string[]): boolean {
  return likeliest([...CREATED_NAMES, ...UPDATED_NAMES], names) !== undefined;
}

/** The times among the fields of a row, and the fields that are left. What says no time stays a field. */
export function withoutTimes(fields: readonly (readonly [string, unknown])[]) {
  const keys = fields.map(([key]) => key);
  const [createdKey, updatedKey] = [likeliest(CREATED_NAMES, keys), likeliest(UPDATED_NAMES, keys)];
  const read = (wanted: string | undefined) => timeOf(fields.find(([key]) => key === wanted)?.[1]);
  const [created, updated] = [read(createdKey), read(updatedKey)];
  const others = fields.filter(
    ([key]) => !(key === createdKey && created !== undefined) && !(key === updatedKey && updated !== undefined),
  );
  return { created, updated, others };
}

/** The same failure with where it happened in front; its type stays. */
export function locate(error: unknown, where: string): unknown {
  if (error instanceof SvcError && !(error instanceof CancelledError)) error.message = `${where}: ${error.message}`;
  return error;
}
