/** Answers for a person: compact, and safe to show whatever the stored texts hold. */
import { dayOf, minuteOf } from "../../../answers/local-times.ts";
import type { GetRow, Metadata } from "../../../memory/requests.ts";
import { asciiControls, oneLine, style, visible } from "../../terminal/output.ts";
import { terminalColumns, wrapped } from "../../terminal/width.ts";
import { textLines } from "./paragraphs.ts";

/** Rows in full. */
export function renderRows(rows: readonly GetRow[]): string {
  return rows
    .map((row) => {
      if (!row.found) return `${style("bold", showId(row.id))}  (not found)`;
      const head = style("bold", showId(row.id)) + showMetadata(row) + showTimes(row);
      return row.text === undefined ? head : `${head}\n${textLines(row.text, terminalColumns()).join("\n")}`;
    })
    .join(rows.some((row) => row.text !== undefined) ? "\n\n" : "\n");
}

/** Names and values in two columns; what is not a plain value is shown as JSON. */
export function renderFields(fields: Record<string, unknown>): string {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  const columns = terminalColumns();
  return entries
    .flatMap(([name, value]) => {
      const shown = typeof value === "string" ? oneLine(value) : safeJson(value);
      // With spaces in it, JSON can be broken.
      const spaced =
        typeof value === "object" ? asciiControls(JSON.stringify(value, null, 1)).replace(/\n\s*/g, " ") : shown;
      const lines = columns === undefined ? [shown] : wrapped(spaced, columns, " ".repeat(width + 2));
      return lines.map((line, i) => (i === 0 ? `${name.padEnd(width)}  ${line}` : line));
    })
    .join("\n");
}

/** An id on one line, exact but for control characters. */
export function showId(id: string): string {
  return visible(id).replaceAll("\n", "\\x0a").replaceAll("\t", "\\x09");
}

/** A collection's name as words of a shell, for a command to copy. */
export function nameAsWord(name: string): string {
  return /^[\w.-]+$/.test(name) && !name.startsWith("-") ? name : `-- '${oneLine(name).replaceAll("'", "'\\''")}'`;
}

/** "1 row", "2 rows". */
export function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** Two spaces and the metadata, or how much of it there is; nothing where there is none. */
export function showMetadata({
  metadata,
  metadata_bytes,
}: {
  metadata?: Metadata | undefined;
  metadata_bytes?: number;
}): string {
  if (metadata_bytes !== undefined) return `  ${style("dim", `(metadata of ${counted(metadata_bytes, "byte")})`)}`;
  return metadata === undefined ? "" : `  ${style("dim", safeJson(metadata))}`;
}

/** The times of a row; only `created` if the row was never updated. */
export function showTimes({ created, updated }: Pick<GetRow, "created" | "updated">): string {
  if (created === undefined || updated === undefined) return "";
  const changed = updated === created ? "" : `, updated ${minuteOf(updated)}`;
  return `  ${style("dim", `created ${minuteOf(created)}${changed}`)}`;
}

function safeJson(value: unknown): string {
  return asciiControls(JSON.stringify(value));
}

/** How long ago a time was; of one more than a month ago, its day. @param ms since 1970 */
export function ago(ms: number, now = Date.now()): string {
  const minutes = Math.floor((now - ms) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ago`;
  const days = Math.floor(minutes / (24 * 60));
  return days <= 31 ? `${days} days ago` : dayOf(ms);
}

/** Bytes as KB or MB. */
export function megabytes(bytes: number): string {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Bytes as KB, MB or GB. */
export function size(bytes: number): string {
  return bytes < 1e9 ? megabytes(bytes) : `${(bytes / 1e9).toFixed(1)} GB`;
}
