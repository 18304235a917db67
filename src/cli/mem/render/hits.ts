/** Hits of a search for a person: which row, and the piece of its text that the question is about. */

import type { Neighbour } from "../../../answers/hits.ts";
import { type Term, termsOf, wordSpans } from "../../../answers/words.ts";
import type { ScoreParts, SearchHit, TermContribution } from "../../../memory/requests.ts";
import { oneLine, style, visible } from "../../terminal/output.ts";
import { clipped, terminalColumns, wrapped } from "../../terminal/width.ts";
import { textLines as wholeLines } from "./paragraphs.ts";
import { counted, showId, showMetadata, showTimes } from "./text.ts";

/** Characters of a text where stdout is not a terminal. */
const EXCERPT_CHARS = 160;
/** Lines of a text on a terminal. */
const EXCERPT_LINES = 2;
/** What stands for text that is left out. */
const LEFT_OUT = "…";

/** In place of the text of a hit that hardly fits. */
const WEAK = "few of the question's words; 'svc mem get' prints it";

/** How hits are shown. */
export interface HitOptions {
  /** The question, whose words are marked and choose the piece of a long text. */
  readonly query: string;
  /** The texts as they are, instead of a piece of them. */
  readonly isWhole?: boolean;
  /** Columns of the terminal (its own); undefined if stdout is not one. */
  readonly columns?: number | undefined;
}

type Hit = SearchHit & { explain?: TermContribution[] };

/** Hits, best first: rank, id, score where there is one, metadata, the piece of the text, the turns beside it. */
export function renderHits(hits: readonly Hit[], options: HitOptions): string {
  const { columns = terminalColumns() } = options;
  const terms = termsOf(options.query);
  const width = String(hits.length).length;
  const indent = " ".repeat(width + 2);
  const fitted = (line: string) => (columns === undefined ? [line] : wrapped(line, columns, indent));
  return hits
    .map((hit, i) => {
      const score = hit.score === undefined ? "" : `  ${hit.score.toFixed(4)}`;
      const rank = String(i + 1).padStart(width);
      const head = `${rank}. ${style("bold", nameOf(hit))}${score}${showMetadata(hit)}${showTimes(hit)}${showOmitted(hit)}`;
      const lines = columns === undefined ? [head] : headLines(head, columns, indent);
      const { before, after } = hit.neighbours ?? {};
      const beside = (name: string, turn: Neighbour | undefined) => turnLine(name, turn, columns, indent);
      lines.push(...beside("before", before));
      if (hit.text) lines.push(...textLines(hit, terms, columns, indent, options.isWhole === true));
      if (hit.weak) lines.push(...fitted(style("dim", WEAK)).map(at(indent)));
      lines.push(...beside("after", after));
      if (hit.scores) lines.push(...fitted(style("dim", showScores(hit.scores))).map(at(indent)));
      if (hit.explain?.length) lines.push(...fitted(style("dim", showTerms(hit.explain))).map(at(indent)));
      return lines.join("\n");
    })
    .join(options.isWhole ? "\n\n" : "\n");
}

/** Which row: of a search of all collections with its collection. */
function nameOf({ collection, id }: Hit): string {
  return collection === undefined ? showId(id) : `${showId(collection)}  ${showId(id)}`;
}

/** The head, which begins at the margin, continued after the indent. */
function headLines(head: string, columns: number, indent: string): string[] {
  if (Bun.stringWidth(head) <= columns) return [head];
  const [first = "", ...rest] = wrapped(head, columns - indent.length);
  return [first, ...rest.map((line) => indent + line)];
}

function textLines(hit: Hit, terms: readonly Term[], columns: number | undefined, indent: string, isWhole: boolean) {
  const text = hit.text!;
  if (isWhole) return wholeLines(text, columns, indent, (line) => marked(line, terms));
  const line = marked(piece(hit, excerptColumns(columns, indent.length)), terms);
  if (columns === undefined) return [indent + line];
  return wrapped(line, columns - indent.length).map((each) => indent + each);
}

/** How much of the turns beside a hit there was no room for. */
function showOmitted({ neighbours_bytes }: Hit): string {
  return neighbours_bytes === undefined
    ? ""
    : `  ${style("dim", `(neighbours of ${counted(neighbours_bytes, "byte")})`)}`;
}

/** The text of a turn beside a hit, on one line; no line where there is none. Imported ids alone may fill a line. */
function turnLine(name: string, turn: Neighbour | undefined, columns: number | undefined, indent: string): string[] {
  if (turn === undefined) return [];
  const line = `${name}: ${oneSpace(turn.text)}${turn.truncated ? LEFT_OUT : ""}`;
  return [indent + style("dim", clipped(line, columns === undefined ? EXCERPT_CHARS : columns - indent.length))];
}

/** Columns of an excerpt. Line ends and words may leave the end of a line empty. */
function excerptColumns(columns: number | undefined, indent: number): number {
  return columns === undefined ? EXCERPT_CHARS : Math.floor(0.9 * EXCERPT_LINES * Math.max(1, columns - indent));
}

/** Bytes of an excerpt: one a column, so that what it is about is not cut off where characters take more. */
export function excerptBytes(): number {
  return excerptColumns(terminalColumns(), 0);
}

/** The piece of its text that a hit shows, on one line of at most so many columns. */
function piece({ text = "", start = 0, truncated }: Hit, columns: number): string {
  const line = oneSpace(text.toWellFormed());
  const before = start > 0 ? LEFT_OUT : "";
  return Bun.stringWidth(line) <= columns
    ? `${before}${line}${truncated ? LEFT_OUT : ""}`
    : before + clipped(line, columns);
}

/** On one line, with what a terminal would obey made visible. */
function oneSpace(text: string): string {
  return visible(text.replace(/\s+/g, " ").trim());
}

/** The words of the question in a line stand out. */
function marked(line: string, terms: readonly Term[]): string {
  let shown = "";
  let last = 0;
  for (const { start, end } of wordSpans(line, terms)) {
    shown += line.slice(last, start) + style("yellow", line.slice(start, end));
    last = end;
  }
  return shown + line.slice(last);
}

function at(indent: string): (line: string, i: number) => string {
  return (line, i) => (i === 0 ? indent + line : line);
}

function showScores({ meaning_weight, ...scores }: ScoreParts): string {
  const parts = Object.entries(scores).map(([ranking, score]) => `${ranking} ${score.toFixed(4)}`);
  if (meaning_weight !== undefined) parts.push(`weight of meaning ${meaning_weight.toFixed(2)}`);
  return parts.join(", ");
}

function showTerms(terms: readonly TermContribution[]): string {
  const word = ({ term, instead_of }: TermContribution) =>
    instead_of === undefined ? oneLine(term) : `${oneLine(term)} (for ${oneLine(instead_of)})`;
  return terms.map((term) => `${word(term)} ${term.score.toFixed(4)}`).join(", ");
}
