/** Texts of hits in the room that ids and metadata leave: none gets more than its share while another is cut. */
import { excerpt, type Passage } from "./excerpt.ts";
import { measure } from "./sizes.ts";

/** The fields of a hit's text. */
export interface ShownText {
  text?: string | undefined;
  /** The text is an excerpt. */
  truncated?: true;
  /** Byte of the text's UTF-8 that the excerpt begins at: an `offset` of svc_get. */
  start?: number;
}

/** A text that shares room with others. */
export interface Sharing {
  hit: ShownText;
  text: string;
  /** What the whole text takes of the room. */
  bytes: number;
  /** How much of the room is its share, compared with other texts. */
  parts: number;
  /** Shows less of the text, in at most `share` bytes, or none of it. Returns what is taken of the room. */
  shorten(share: number): number;
}

/** Bytes of `,"text":""`, and of `,"truncated":true,"start":16777216`. */
export const TEXT_FIELD_BYTES = 10;
export const CUT_FIELDS_BYTES = 34;

/** Adds texts to their hits in `room` bytes. A text that takes less than its share leaves the rest to the others. */
export function shareRoom(texts: readonly Sharing[], room: number): void {
  let free = room;
  let parts = texts.reduce((sum, one) => sum + one.parts, 0);
  for (const one of [...texts].sort((a, b) => a.bytes / a.parts - b.bytes / b.parts)) {
    const share = Math.floor((free * one.parts) / parts);
    parts -= one.parts;
    const isWhole = one.bytes <= share;
    if (isWhole) one.hit.text = one.text;
    free -= isWhole ? one.bytes : one.shorten(share);
  }
}

/** Bytes of a text with its name in a hit. */
export function textBytes(text: string): number {
  return TEXT_FIELD_BYTES + measure(text, 0, Number.POSITIVE_INFINITY).bytes;
}

/** The fields of a hit with an excerpt of at most `bytes` bytes inside the JSON string. */
export function excerptOf(text: string, passage: Passage | undefined, bytes: number): ShownText {
  const { start, end } = excerpt(text, passage, bytes);
  return { text: text.slice(start, end), truncated: true, start: Buffer.byteLength(text.slice(0, start)) };
}
