/** Answers for a person: compact, and safe to show whatever the stored texts hold. */
import type { GetRow, Metadata, SearchHit, TermContribution } from "../../memory/requests.ts";
import { asciiControls, oneLine, style, visible } from "../output.ts";

/** Characters of a text in a list of hits: two lines of a terminal. */
const EXCERPT_CHARS = 160;

/** Hits, best first: rank, id, score where there is one, metadata, the beginning of the text. */
export function renderHits(hits: readonly (SearchHit & { explain?: TermContribution[] })[]): string {
  const width = String(hits.length).length;
  const indent = " ".repeat(width + 2);
  return hits
    .map((hit, i) => {
      const score = hit.score === undefined ? "" : `  ${hit.score.toFixed(4)}`;
      const lines = [
        `${String(i + 1).padStart(width)}. ${style("bold", showId(hit.id))}${score}${showMetadata(hit)}${showTimes(hit)}`,
      ];
      if (hit.text) lines.push(indent + excerpt(hit.text));
      if (hit.explain?.length) lines.push(indent + style("dim", showTerms(hit.explain)));
      return lines.join("\n");
    })
    .join("\n");
}

/** Rows in full. */
export function renderRows(rows: readonly GetRow[]): string {
  return rows
    .map((row) => {
      if (!row.found) return `${style("bold", showId(row.id))}  (not found)`;
      const head = style("bold", showId(row.id)) + showMetadata(row) + showTimes(row);
      return row.text === undefined ? head : `${head}\n${visible(row.text)}`;
    })
    .join(rows.some((row) => row.text !== undefined) ? "\n\n" : "\n");
}

/** Names and values in two columns; what is not a plain value is shown as JSON. */
export function renderFields(fields: Record<string, unknown>): string {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries
    .map(([name, value]) => `${name.padEnd(width)}  ${typeof value === "string" ? oneLine(value) : safeJson(value)}`)
    .join("\n");
}

/** An id on one line, exact but for control characters. */
export function showId(id: string): string {
  return visible(id).replaceAll("\n", "\\x0a").replaceAll("\t", "\\x09");
}

/** "1 row", "2 rows". */
export function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function showMetadata({
  metadata,
  metadata_bytes,
}: {
  metadata?: Metadata | undefined;
  metadata_bytes?: number;
}): string {
  if (metadata_bytes !== undefined) return `  ${style("dim", `(metadata of ${counted(metadata_bytes, "byte")})`)}`;
  return metadata === undefined ? "" : `  ${style("dim", safeJson(metadata))}`;
}

/** Of a row that was never updated, when it was created says both. */
export function showTimes({ created, updated }: Pick<GetRow, "created" | "updated">): string {
  if (created === undefined || updated === undefined) return "";
  const changed = updated === created ? "" : `, updated ${new Date(updated).toISOString()}`;
  return `  ${style("dim", `created ${new Date(created).toISOString()}${changed}`)}`;
}

function showTerms(terms: readonly TermContribution[]): string {
  const word = ({ term, instead_of }: TermContribution) =>
    instead_of === undefined ? oneLine(term) : `${oneLine(term)} (for ${oneLine(instead_of)})`;
  return terms.map((term) => `${word(term)} ${term.score.toFixed(4)}`).join(", ");
}

function excerpt(text: string): string {
  // Only the beginning is looked at: a text may have 16 MiB.
  const line = visible(
    text
      .slice(0, 4 * EXCERPT_CHARS)
      .toWellFormed()
      .replace(/\s+/g, " ")
      .trim(),
  );
  const characters = Array.from(line);
  const short = characters.slice(0, EXCERPT_CHARS).join("");
  return short.length < line.length || text.length > 4 * EXCERPT_CHARS ? `${short}…` : short;
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
  return days <= 31 ? `${days} days ago` : new Date(ms).toISOString().slice(0, 10);
}

/** Bytes as KB or MB. */
export function megabytes(bytes: number): string {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
