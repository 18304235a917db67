/**
 * A row as a Markdown file that a person reads, edits and compares: front matter in YAML with its id, times, metadata and the
 * state that was exported, then its text to the byte, and a line break.
 */
import { readId } from "../../../checks/ids.ts";
import { isObject, shown } from "../../../checks/kinds.ts";
import { encodeMetadata } from "../../../checks/metadata.ts";
import { checkTextSize } from "../../../checks/texts.ts";
import { parseTime } from "../../../checks/times.ts";
import type { Metadata } from "../../../checks/values.ts";
import { attempt, ValueError } from "../../../errors.ts";
import { repeatedKey, scalar, whyOf } from "../../../memory/typed/written-metadata.ts";

const LINE = "---";
/** The first line, the front matter, and the line that ends it. */
const PARTS = /^---[ \t]*\r?\n([\s\S]*?)(?<=\n)---[ \t]*(?:\r?\n|$)/;
/** A line that only svc writes: front matter with one that cannot be parsed is an error, and not a part of the text. */
const OURS = /^\s*"?(?:id|svc)"?[ \t]*:/m;
/** Characters that editors and terminals show as something else, or break lines at. */
const UNSHOWN = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const STATE = /^[0-9a-f]{32}$/;

/** A row, and what else its file has. */
export interface RowFile {
  /** Absent: a row that a person wrote. */
  readonly id?: string | undefined;
  readonly text: string;
  readonly metadata?: Metadata | undefined;
  readonly created?: number | undefined;
  readonly updated?: number | undefined;
  /** `stateOf` the row when it was exported or imported; absent: not known. */
  readonly state?: string | undefined;
}

/** The file of a row. */
export function rowFile(row: RowFile & { readonly id: string }): string {
  const front = yamlOf(row);
  // Some values are not the same in YAML, such as a key that is written <<: those rows have their front matter as JSON.
  const json = `${escaped(JSON.stringify(frontOf(row), null, 2))}\n`;
  return `${LINE}\n${isLossless(front, row) ? front : json}${LINE}\n${row.text}\n`;
}

/**
 * The row of a file. A file without front matter is all text.
 * @throws ValueError for front matter that cannot be read, or for more than a row may have
 */
export function readRowFile(file: string): RowFile {
  const parts = PARTS.exec(file);
  if (parts === null && /^---[ \t]*\r?\n/.test(file) && OURS.test(file.slice(0, 4096))) {
    throw new ValueError(`its front matter has no end: put a line of ${LINE} after it`);
  }
  const fields = parts === null ? undefined : frontFields(parts[1]!);
  const text = (fields === undefined ? file : file.slice(parts![0].length)).replace(/\n$/, "");
  checkTextSize(text, "its text");
  if (fields === undefined) return { text };
  const { id, created, updated, svc, metadata, ...others } = fields;
  if (metadata !== undefined && metadata !== null && !isObject(metadata)) {
    throw new ValueError("'metadata' in its front matter is not a list of \"key: value\"");
  }
  const hasMetadata = isObject(metadata) || Object.keys(others).length > 0;
  // What a person writes beside the id is meant as metadata.
  const whole = hasMetadata ? { ...(isObject(metadata) ? metadata : {}), ...others } : undefined;
  if (whole) encodeMetadata(whole, "its metadata");
  return {
    text,
    ...(id !== undefined && id !== null && { id: readId(id, "its id") }),
    ...(whole && { metadata: whole as Metadata }),
    created: timeOf(created),
    updated: timeOf(updated),
    ...(typeof svc === "string" && STATE.test(svc) && { state: svc }),
  };
}

/** Names in a front matter that are not of metadata. */
const OWN: ReadonlySet<string> = new Set(["id", "created", "updated", "metadata", "svc"]);

/** What an import writes into a file. */
interface Given {
  readonly id: string;
  readonly state: string;
  /** A member of the metadata that is added; not one whose name has another meaning here. */
  readonly completed?: readonly [string, string] | undefined;
}

/** The same file with another id and state; everything else stays to the byte, where YAML allows lines to be added. */
export function withState(file: string, given: Given): string {
  const { id, state, completed } = given;
  const changed = withLines(file, given);
  const row = readRowFile(file);
  const again = attempt(() => readRowFile(changed));
  const isAdded = completed && !OWN.has(completed[0]);
  const metadata = isAdded ? { ...row.metadata, ...Object.fromEntries([completed]) } : row.metadata;
  const wanted = { id, state, text: row.text, metadata };
  const isAsWanted =
    again &&
    (["id", "state", "text", "metadata"] as const).every((part) => {
      return JSON.stringify(again[part]) === JSON.stringify(wanted[part]);
    });
  return isAsWanted ? changed : rowFile({ ...row, ...wanted, metadata: metadata as Metadata | undefined });
}

function withLines(file: string, { id, state, completed }: Given): string {
  const parts = PARTS.exec(file);
  const fields = parts === null ? undefined : frontFields(parts[1]!);
  const added = completed && !OWN.has(completed[0]) ? completed : undefined;
  if (parts === null || fields === undefined)
    return `${LINE}\nid: ${safeScalar(id)}\nsvc: ${safeScalar(state)}\n${LINE}\n${file}`;
  const front = parts[1]!;
  const start = parts[0].indexOf(front === "" ? LINE : front, LINE.length);
  const [before, after] = [file.slice(0, start), file.slice(start + front.length)];
  if (isJson(front))
    return `${before}${escaped(JSON.stringify({ ...fields, id, svc: state, ...(added && Object.fromEntries([added])) }, null, 2))}\n${after}`;
  const end = /\r\n/.test(parts[0]) ? "\r\n" : "\n";
  const put = (yaml: string, key: string, value: string, place: "first" | "last") => {
    const line = new RegExp(`^${key}[ \\t]*:.*?(\\r?)$`, "m");
    if (line.test(yaml)) return yaml.replace(line, (_, cr: string) => `${key}: ${value}${cr}`);
    return place === "first" ? `${key}: ${value}${end}${yaml}` : `${yaml}${key}: ${value}${end}`;
  };
  const whole = put(put(front, "id", safeScalar(id), "first"), "svc", safeScalar(state), "last");
  const line = added ? `${safeScalar(added[0])}: ${safeScalar(added[1])}${end}` : "";
  return before + whole + line + after;
}

function frontOf({ id, created, updated, metadata, state }: RowFile) {
  const time = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());
  return { id, created: time(created), updated: time(updated), metadata, svc: state };
}

function yamlOf(row: RowFile): string {
  const { metadata, ...lines } = frontOf(row);
  const line = (key: string, value: unknown, indent = "") =>
    value === undefined ? "" : `${indent}${safeScalar(key)}: ${safeScalar(value)}\n`;
  const { svc, ...first } = lines;
  const inner = metadata && Object.entries(metadata).map(([key, value]) => line(key, value, "  "));
  const block = inner === undefined ? "" : inner.length === 0 ? "metadata: {}\n" : `metadata:\n${inner.join("")}`;
  return (
    Object.entries(first)
      .map(([key, value]) => line(key, value))
      .join("") +
    block +
    line("svc", svc)
  );
}

/** A value as YAML, without characters that are not shown. */
function safeScalar(value: unknown): string {
  const plain = scalar(value);
  // A time is a string to us, and needs no quotes.
  if (typeof value === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return value;
  return plain.search(UNSHOWN) >= 0 ? escaped(JSON.stringify(value)) : plain;
}

function escaped(json: string): string {
  return json.replace(UNSHOWN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function isJson(front: string): boolean {
  return front.trimStart().startsWith("{");
}

/**
 * The fields of a front matter; undefined where the lines are text instead, as a ruled-off paragraph is.
 * @throws ValueError for one of svc that cannot be read, or that has a key twice
 */
function frontFields(front: string): Record<string, unknown> | undefined {
  let value: unknown;
  try {
    value = isJson(front) ? JSON.parse(front) : (Bun.YAML.parse(front) ?? {});
  } catch (error) {
    if (!OURS.test(front)) return undefined;
    throw new ValueError(`its front matter is not ${isJson(front) ? "JSON" : "YAML"}: ${whyOf(error)}`);
  }
  if (!isObject(value)) {
    if (!OURS.test(front)) return undefined;
    throw new ValueError('its front matter is not a list of "key: value"');
  }
  if (!isJson(front)) {
    const block = /^metadata[ \t]*:[ \t]*\r?\n((?:[ \t]+.*\n)+)/m.exec(front)?.[1] ?? "";
    const indent = /^[ \t]+/.exec(block)?.[0] ?? "";
    const twice = repeatedKey(front) ?? repeatedKey(block.replaceAll(`\n${indent}`, "\n").slice(indent.length));
    if (twice !== undefined) throw new ValueError(`its front matter has the key ${shown(twice)} twice: leave one out`);
  }
  return value;
}

function timeOf(value: unknown): number | undefined {
  if (value instanceof Date) return value.getTime();
  return typeof value === "string" ? parseTime(value) : undefined;
}

function isLossless(front: string, row: RowFile): boolean {
  try {
    // Members that are not defined are not in JSON.
    return JSON.stringify(frontFields(front)) === JSON.stringify(frontOf(row));
  } catch {
    return false;
  }
}
