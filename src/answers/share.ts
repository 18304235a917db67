/** Texts of hits in the room that ids and metadata leave: none gets more than its share while another is cut. */
import { excerpt } from "./excerpt.ts";
import { jsonBytes, measure } from "./sizes.ts";
import type { Term } from "./words.ts";

/** The fields of a hit's text. */
export interface ShownText {
  text: string;
  /** The text is an excerpt. */
  truncated?: true;
  /** Byte of the text's UTF-8 that the excerpt begins at. */
  start?: number;
}

/** A text that may have to be shortened. */
export interface Showable {
  whole: string;
  /** How much of the room is its share, compared with other texts. */
  parts: number;
  /**
   * Less of it, with which `fits` holds; undefined: none of it.
   * @param fits whether a text fits
   * @param room bytes that the fields may take, with the comma before each
   */
  within(fits: (text: string) => boolean, room: number): ShownText | undefined;
}

/** Bytes of `,"text":""`, and of `,"truncated":true,"start":16777216`. */
export const TEXT_FIELD_BYTES = 10;
export const CUT_FIELDS_BYTES = 34;
/** An excerpt of fewer bytes says nothing. */
const EXCERPT_BYTES_MIN = 40;
/** UTF-16 units of a text in which words are looked for. */
const SEARCHED_UNITS = 64 * 1024;

/**
 * Adds texts to hits.
 * @param room bytes that all of them may take as JSON, with their names; undefined: any
 */
export function shareRoom(
  hits: readonly object[],
  texts: readonly (Showable | undefined)[],
  room: number | undefined,
): void {
  const given = hits.flatMap((hit, i) => {
    const text = texts[i];
    return text === undefined ? [] : [{ hit, text, bytes: bytesOf(text.whole) }];
  });
  if (room === undefined) {
    for (const { hit, text } of given) Object.assign(hit, { text: text.whole });
    return;
  }
  // What takes least of its share comes first and leaves the rest to the others.
  given.sort((a, b) => a.bytes / a.text.parts - b.bytes / b.text.parts);
  let free = room;
  let parts = given.reduce((sum, { text }) => sum + text.parts, 0);
  for (const { hit, text, bytes } of given) {
    const share = Math.floor((free * text.parts) / parts);
    parts -= text.parts;
    if (bytes <= share) {
      Object.assign(hit, { text: text.whole });
      free -= bytes;
      continue;
    }
    const short = text.within((shorter) => bytesOf(shorter) <= share, share);
    if (!short) continue;
    Object.assign(hit, short);
    // A comma stands for the opening brace.
    free -= jsonBytes(short) - 1;
  }
}

/** How a text is shown by an excerpt around the question's words. */
export function excerptOf(text: string, terms: () => readonly Term[]): Showable["within"] {
  return (_, room) => {
    const bytes = room - TEXT_FIELD_BYTES - CUT_FIELDS_BYTES;
    if (bytes < EXCERPT_BYTES_MIN) return undefined;
    const { start, end } = excerpt(text, terms(), bytes, SEARCHED_UNITS);
    return { text: text.slice(start, end), truncated: true, start: Buffer.byteLength(text.slice(0, start)) };
  };
}

/** Bytes of a text with its name in a hit. */
function bytesOf(text: string): number {
  return TEXT_FIELD_BYTES + measure(text, 0, Number.POSITIVE_INFINITY).bytes;
}
