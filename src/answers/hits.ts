/**
 * The hits of a search in at most so many bytes: first as many hits as fit with a beginning of their texts, then the
 * texts, of which none gets more than its share while another is cut. What does not fit is announced by `next`.
 */
import { CURSOR_BYTES_MAX, positionAfter, readCursor, scopeOf, toCursor } from "./cursor.ts";
import type { Passage } from "./excerpt.ts";
import { CUT_FIELDS_BYTES, excerptOf, type ShownText, shareRoom, TEXT_FIELD_BYTES } from "./share.ts";
import { countWithin, cut, jsonBytes, measure } from "./sizes.ts";

/** A turn of a conversation beside a hit. */
export interface Neighbour {
  id: string;
  /** The beginning of its text. */
  text: string;
  truncated?: true;
}

/** The turns beside a hit. */
export interface Neighbours {
  before?: Neighbour | undefined;
  after?: Neighbour | undefined;
}

/** What of a hit may be left out or cut. */
export interface CutHit extends ShownText {
  id: string;
  /** The id is too long for the answer: its beginning. */
  id_truncated?: true;
  metadata?: object | undefined;
  /** Bytes of the metadata as JSON, in its place. */
  metadata_bytes?: number;
}

/** The same of a hit that is a row, not a file. */
export interface CutRowHit extends CutHit {
  /** Only with `with_neighbours`: the turns `before` and `after` it, with at most 300 bytes of their texts. */
  neighbours?: Neighbours | undefined;
  /** Bytes of the neighbours as JSON, in their place. */
  neighbours_bytes?: number;
  explain?: unknown[] | undefined;
  /** Terms that `explain` leaves out. */
  explain_omitted?: number;
}

/** The arguments that bound a search. */
export interface Bounds {
  max_bytes: number;
  after?: string | undefined;
}

/** The passages that texts are ranked by. */
type PassagesOf = (texts: readonly string[]) => readonly Passage[];

/** A ranking, and how its rows become hits. */
export interface Ranking<R extends { id: string }, H extends CutRowHit> {
  rows: readonly R[];
  /** A hit without its text. */
  toHit(row: R): H;
  /** The texts of some rows; absent: none is wanted. */
  texts?: ((rows: readonly R[]) => readonly (string | undefined)[]) | undefined;
  passages?: PassagesOf | undefined;
  /** How many bytes inside a JSON string a text has at most; a longer one becomes an excerpt. */
  textBytes?: number | undefined;
}

/**
 * Bytes inside a JSON string that a hit's text has at least, if it has so many and the answer has room: three lines.
 */
const SHARE_BYTES_MIN = 320;
/** Bytes of `next`. */
const NEXT_FIELD_BYTES = ',"next":""'.length + CURSOR_BYTES_MAX;
/** Hits that are likely to fit. */
const FEW_HITS = 32;
/** Texts read in one batch: an answer holds more bare hits than hits with text. */
const TEXTS_READ = 64;

/**
 * The ranking after `after`.
 * @throws ValueError for a cursor of another question, before anything is read
 */
export function continuation(verb: string, args: Bounds) {
  const { after } = args;
  const cursor = after === undefined ? undefined : readCursor(after, scopeOf(verb, args));
  return (ranked: readonly { id: string }[]) => (cursor ? positionAfter(ranked.map(idOf), cursor) : 0);
}

/**
 * The hits from `from` on that fit into an answer beside `head`, and `next` where some do not.
 * @param head the answer's other fields
 */
export function fitHits<R extends { id: string }, H extends CutRowHit>(
  verb: string,
  args: Bounds & { query: string },
  head: object,
  ranking: Ranking<R, H>,
  from: number,
): { next?: string; hits: H[] } {
  const { rows, toHit, texts, passages, textBytes = Number.POSITIVE_INFINITY } = ranking;
  const rest = from === 0 ? rows : rows.slice(from);
  if (args.max_bytes === 0) {
    const whole = texts?.(rest) ?? [];
    const cutter = new Cutter(whole, passages);
    return { hits: rest.map((row, i) => Object.assign(toHit(row), cutter.of(i, textBytes))) };
  }
  const room = args.max_bytes - jsonBytes({ ...head, hits: [] });
  if (!texts && rest.length <= FEW_HITS) {
    const few = rest.map(toHit);
    // At most three bytes a UTF-16 unit: the usual answer is not counted hit by hit.
    if (JSON.stringify(few).length * 3 <= room) return { hits: few };
  }
  // A cursor takes room only where one is needed.
  const firstRoom = rest.length > 1 ? room - NEXT_FIELD_BYTES : room;
  const least = texts ? Math.max(0, Math.min(SHARE_BYTES_MIN, textBytes, firstRoom >> 2)) : 0;
  const textRoom = texts ? least + TEXT_FIELD_BYTES + CUT_FIELDS_BYTES : 0;
  const hits: H[] = [];
  const needs: number[] = [];
  // Every hit but the last has a comma after it.
  let left = room + 1;
  for (const row of rest) {
    const hit = hits.length === 0 ? slim(toHit(row), firstRoom - textRoom) : toHit(row);
    const bytes = jsonBytes(hit) + 1;
    if (bytes > left && hits.length > 0) break;
    hits.push(hit);
    needs.push(bytes);
    left -= bytes;
  }
  const found: (string | undefined)[] = [];
  if (texts) left = room + 1;
  for (let at = 0; texts && at < hits.length; at += TEXTS_READ) {
    for (const text of texts(rest.slice(at, Math.min(at + TEXTS_READ, hits.length)))) {
      const i = found.length;
      const need = needs[i]! + leastOf(text, least);
      if (need > left && i > 0) hits.length = needs.length = i;
      if (i === hits.length) break;
      needs[i] = need;
      left -= need;
      found.push(text);
    }
  }
  const drop = () => {
    hits.pop();
    left += needs.pop()!;
  };
  const isAll = hits.length === rest.length;
  if (!isAll) left -= NEXT_FIELD_BYTES;
  while (left < 0 && hits.length > 1) drop();
  shareTexts(hits, found, left, { least, most: textBytes }, passages);
  if (isAll) return { hits };
  return { next: toCursor(scopeOf(verb, args), rows.map(idOf), from + hits.length), hits };
}

/** Bytes that a text takes at least, where it has `least` bytes inside the string and is cut, or is shorter. */
function leastOf(text: string | undefined, least: number): number {
  if (text === undefined) return 0;
  const { end, bytes } = measure(text, 0, least + CUT_FIELDS_BYTES);
  return TEXT_FIELD_BYTES + (end === text.length ? bytes : least + CUT_FIELDS_BYTES);
}

/**
 * Adds the texts to hits: whole where they take no more than a fair share of what is free, else an excerpt in it.
 * @param left bytes that are free beside the least of each text
 * @param bounds bytes inside a JSON string that each text has at least, if it has so many, and at most
 */
function shareTexts(
  hits: CutHit[],
  texts: readonly (string | undefined)[],
  left: number,
  { least, most }: { least: number; most: number },
  passages: PassagesOf | undefined,
): void {
  let free = left;
  for (const text of texts.slice(0, hits.length)) {
    if (text !== undefined) free += leastOf(text, least) - TEXT_FIELD_BYTES;
  }
  const given = hits.flatMap((hit, i) => {
    const text = texts[i];
    if (text === undefined) return [];
    const { end, bytes } = measure(text, 0, Math.max(0, free));
    const isShort = end === text.length && bytes <= most + CUT_FIELDS_BYTES;
    return [{ i, hit, text, bytes: isShort ? bytes : Number.POSITIVE_INFINITY, parts: 1 }];
  });
  const cutter = new Cutter(texts.slice(0, hits.length), passages);
  const sharing = given.map((one) => ({
    ...one,
    shorten(share: number) {
      const taken = Math.min(share, most + CUT_FIELDS_BYTES);
      Object.assign(one.hit, cutter.of(one.i, Math.max(0, taken - CUT_FIELDS_BYTES)));
      return taken;
    },
  }));
  shareRoom(sharing, free);
}

/** Texts of hits, whole or as excerpts. */
class Cutter {
  private passages: readonly Passage[] | undefined;

  constructor(
    private readonly texts: readonly (string | undefined)[],
    private readonly passagesOf: PassagesOf | undefined,
  ) {}

  /** The fields of a hit with its text, or an excerpt of at most `bytes` bytes inside the JSON string. */
  of(i: number, bytes: number): ShownText {
    const text = this.texts[i];
    if (text === undefined) return {};
    if (measure(text, 0, bytes).end === text.length) return { text };
    // Of all texts at once, and only where one is cut.
    this.passages ??= this.passagesOf?.(this.texts.map((one = "") => one)) ?? [];
    return excerptOf(text, this.passages[i], bytes);
  }
}

const idOf = ({ id }: { id: string }) => id;

/** The first hit, which is always given, in at most `room` bytes: without what is too large. */
function slim<H extends CutRowHit>(hit: H, room: number): H {
  if (jsonBytes(hit) <= room) return hit;
  const small: H = { ...hit };
  const bytes = { metadata: jsonBytes(hit.metadata), neighbours: jsonBytes(hit.neighbours) };
  // The larger one first: the other may fit without it.
  const fields = ["metadata", "neighbours"] as const;
  for (const field of bytes.neighbours > bytes.metadata ? fields.toReversed() : fields) {
    if (bytes[field] === 0 || jsonBytes(small) <= room) continue;
    Object.assign(small, { [field]: undefined, [`${field}_bytes`]: bytes[field] });
  }
  if (hit.explain !== undefined && jsonBytes(small) > room) {
    small.explain = [];
    small.explain_omitted = hit.explain.length;
    small.explain = hit.explain.slice(0, countWithin(hit.explain, room - jsonBytes(small)));
    small.explain_omitted = hit.explain.length - small.explain.length;
  }
  return withShortId(small, room);
}

/** A hit or row that is too large by its id, which may take 3 KB as JSON: with the id's beginning. */
export function withShortId<H extends { id: string; id_truncated?: true }>(row: H, room: number): H {
  const over = jsonBytes(row) - room;
  if (over <= 0) return row;
  const bytes = jsonBytes(row.id) - 2 - over - ',"id_truncated":true'.length;
  return { ...row, id: cut(row.id, Math.max(0, bytes)), id_truncated: true };
}
