/** Rows as a person looks through them: a list with the beginnings of the texts, or one row whole. */

import { minuteOf } from "../../../answers/local-times.ts";
import { attempt } from "../../../errors.ts";
import type { LatestRow } from "../../../memory/latest.ts";
import type { GetRow, Metadata } from "../../../memory/requests.ts";
import { asciiControls, oneLine, style, visible } from "../../terminal/output.ts";
import { clipped, terminalColumns } from "../../terminal/width.ts";
import { beginning, textLines } from "./paragraphs.ts";
import { showId } from "./text.ts";

/** Lines of each text in a list. */
const TEXT_LINES = 3;
const INDENT = "  ";
/** Where stdout is not a terminal, metadata of a list is cut to so many columns. */
const METADATA_COLUMNS = 160;

/** How rows are shown. */
export interface RowOptions {
  /** Whether each row names its collection. */
  readonly withCollection?: boolean;
  /** Columns of the terminal (its own); undefined if stdout is not one. */
  readonly columns?: number | undefined;
}

/** A list: id and date, the metadata in short, the beginning of the text. */
export function renderList(rows: readonly LatestRow[], options: RowOptions = {}): string {
  return rows.flatMap((row) => listed(row, options)).join("\n");
}

function listed(row: LatestRow, { withCollection, columns = terminalColumns() }: RowOptions): string[] {
  const { id, created, updated, metadata, text, truncated } = row;
  const where = withCollection ? ` in ${oneLine(row.collection)}` : "";
  const when = `${created === updated ? "added" : "changed"} ${minuteOf(updated)}${where}`;
  const room = columns === undefined ? undefined : columns - INDENT.length;
  const about = metadata === undefined ? "" : short(metadata);
  const width = Bun.stringWidth(`${showId(id)}  ${when}  ${about}`);
  const head = `${style("bold", showId(id))}  ${style("dim", when)}`;
  const isOneLine = columns === undefined || width <= columns;
  const lines = isOneLine && about !== "" ? [`${head}  ${style("dim", clipped(about, METADATA_COLUMNS))}`] : [];
  if (lines.length === 0) {
    const parts = columns === undefined || Bun.stringWidth(`${showId(id)}  ${when}`) <= columns;
    // An id is never cut: it is there to be copied.
    if (parts) lines.push(head);
    else lines.push(style("bold", showId(id)), INDENT + style("dim", clipped(when, room!)));
    if (about !== "") lines.push(INDENT + style("dim", clipped(about, room!)));
  }
  if (text) lines.push(...beginning(text, truncated === true, room, TEXT_LINES).map((line) => INDENT + line));
  return lines;
}

/** Metadata as `--where` takes it: `scope=ops n=1`. */
function short(metadata: Metadata): string {
  return Object.entries(metadata)
    .map(([key, value]) => `${oneLine(key)}=${shownValue(value)}`)
    .join(" ");
}

/** A row whole: id and times, its metadata in two columns, the text. */
export function renderWhole(row: GetRow, { columns = terminalColumns() }: RowOptions = {}): string {
  const { created, updated, metadata, text } = row;
  const times: [string, string][] = [];
  if (created !== undefined) times.push(["created", minuteOf(created)]);
  if (updated !== undefined && updated !== created) times.push(["updated", minuteOf(updated)]);
  const fields = Object.entries(metadata ?? {}).map(([key, value]): [string, string] => [
    oneLine(key),
    shownValue(value),
  ]);
  const parts = [
    // An id is never broken: it is there to be copied.
    `id:${" ".repeat(times.length > 0 ? 7 : 2)}${style("bold", showId(row.id))}`,
    ...aligned(times, columns),
    ...(fields.length > 0 ? ["", ...aligned(fields, columns)] : []),
    "",
    ...(text === undefined ? [style("dim", "(this row has no text)")] : textLines(text, columns)),
  ];
  return parts.join("\n");
}

/** `key: value` lines whose values begin in one column. */
function aligned(fields: readonly (readonly [string, string])[], columns: number | undefined): string[] {
  const widest = Math.max(0, ...fields.map(([key]) => Bun.stringWidth(key)));
  // A longer key has its value after it, and does not move the others.
  const width = columns === undefined ? widest : Math.min(widest, Math.floor(columns / 3));
  const indent = " ".repeat(width + 3);
  return fields.flatMap(([key, value]) => {
    const label = `${key}:`;
    const filled = label + " ".repeat(Math.max(1, width + 3 - Bun.stringWidth(label)));
    const isLong = Bun.stringWidth(filled) > indent.length;
    const lines = textLines(value, columns, indent);
    if (isLong) return [clippedKey(label, columns), ...lines];
    return [style("dim", filled) + (lines[0] ?? "").slice(indent.length), ...lines.slice(1)];
  });
}

function clippedKey(label: string, columns: number | undefined): string {
  return style("dim", columns === undefined ? label : clipped(label, columns));
}

/** A text as it is, unless it could be taken for another value, as in `--where`; everything else as JSON. */
function shownValue(value: unknown): string {
  if (typeof value !== "string") return asciiControls(JSON.stringify(value));
  const isPlain = value !== "" && !/^["[{\s]|[\n\t]|\s$/.test(value) && attempt(() => JSON.parse(value)) === undefined;
  return isPlain ? visible(value) : asciiControls(JSON.stringify(value));
}
