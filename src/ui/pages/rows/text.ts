/** Texts of rows as HTML: cut to a number of bytes, with the words of a search marked. */
import { type Span, type Term, wordSpans } from "../../../answers/words.ts";
import { escaped, visible, visibleLines } from "../../../pages/text.ts";

/** A text as HTML, or as much of its beginning as has room. */
export interface Cut {
  html: string;
  /** UTF-16 units of the text that are shown. */
  shown: number;
}

/**
 * As much of a text as its HTML has at most `bytes` bytes for, whole characters, and where it is cut up to the end of a line or a
 * word that is near.
 * @param render more text has more HTML
 */
export function cutTo(text: string, bytes: number, render: (text: string) => string = plain): Cut {
  // A UTF-16 unit becomes one byte at least.
  let shown = characterEnd(text, Math.min(text.length, bytes));
  let html = render(text.slice(0, shown));
  for (let size = Buffer.byteLength(html); size > bytes; size = Buffer.byteLength(html)) {
    shown = edgeBefore(text, characterEnd(text, Math.floor(shown * Math.min(0.95, bytes / size))));
    html = render(text.slice(0, shown));
  }
  return { html, shown };
}

/** Text of several lines. */
export function plain(text: string): string {
  return escaped(visibleLines(text));
}

/** The same with words marked. */
export function marked(text: string, terms: readonly Term[]): string {
  return withMarks(text, wordSpans(text, terms), "mark");
}

/** @param spans in order, none within another */
export function withMarks(text: string, spans: readonly Span[], tag: "mark" | "ins" | "del"): string {
  let html = "";
  let last = 0;
  for (const { start, end } of spans) {
    html += `${plain(text.slice(last, start))}<${tag}>${plain(text.slice(start, end))}</${tag}>`;
    last = end;
  }
  return html + plain(text.slice(last));
}

/** An id, or its beginning: it may have 512 bytes, each of them to be shown as its number. */
export function idText(id: string): string {
  const { html, shown } = cutTo(id, ID_BYTES, (part) => escaped(visible(part)));
  return `<bdi>${html}${shown < id.length ? "…" : ""}</bdi>`;
}

/** Bytes of HTML that an id takes at most. */
const ID_BYTES = 240;

/** UTF-16 units that may be left out for a text to end where a line or a word does. */
const EDGE = 200;

/** Not within a pair of surrogates. */
function characterEnd(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff && at > 0 ? at - 1 : at;
}

/** The end of a line or a word near `at`, before it. */
function edgeBefore(text: string, at: number): number {
  const tail = text.slice(at - Math.min(at >> 3, EDGE), at);
  const line = tail.lastIndexOf("\n");
  const edge = line >= 0 ? line : tail.lastIndexOf(" ");
  return edge < 0 ? at : at - tail.length + edge + 1;
}
