/**
 * The rows of svc_get in at most so many bytes: whole rows in the order asked, and a piece of the text of one that does
 * not fit by itself. What is left out is announced by `next`.
 */
import type { Metadata } from "../checks/values.ts";
import { CURSOR_BYTES_MAX, readCursor, scopeOf, toCursor } from "./cursor.ts";
import { withShortId } from "./hits.ts";
import { jsonBytes, measure, positionOf } from "./sizes.ts";

/** What of a row may be left out or cut. */
export interface CutRow {
  id: string;
  /** The id is too long for the answer: its beginning. */
  id_truncated?: true;
  found: boolean;
  metadata?: Metadata | undefined;
  /** Bytes of the metadata as JSON, in its place. */
  metadata_bytes?: number;
  /** From `offset` on. */
  text?: string | undefined;
  /** The text goes on after this piece. */
  truncated?: true;
  /** Bytes of the whole text's UTF-8; only where it goes on. */
  text_bytes?: number;
  /** The `offset` at which the text goes on. */
  next_offset?: number;
}

/** The arguments that bound svc_get. */
export interface RowBounds {
  ids: readonly string[];
  offset: number;
  max_bytes: number;
  after?: string | undefined;
}

/** A row's parts, its text whole. */
export interface WholeRow {
  id: string;
  found: boolean;
  metadata: Metadata | undefined;
  text: string | undefined;
}

/** Rows that are read together: ten thousand texts at once may take gigabytes. */
const BATCH_ROWS = 64;
/** Bytes of `,"text":""`, of the fields of a text that goes on, and of `next`. */
const TEXT_FIELD_BYTES = 10;
const CUT_FIELDS_BYTES = ',"truncated":true,"text_bytes":16777216,"next_offset":16777216'.length;
const NEXT_FIELD_BYTES = ',"next":""'.length + CURSOR_BYTES_MAX;
/** The share of an answer that a text has beside its row's metadata, if it has so much: to be read in few calls. */
const TEXT_SHARE = 1 / 4;

/**
 * Rows by id, after `after`.
 * @param read the rows of some of the ids, in their order
 * @param head the answer's other fields
 * @throws ValueError for a cursor of another call
 */
export function fitRows(
  args: RowBounds,
  head: object,
  read: (ids: readonly string[]) => WholeRow[],
): { next?: string; rows: CutRow[] } {
  const { ids, offset, max_bytes, after } = args;
  const from = after === undefined ? 0 : readCursor(after, scopeOf("get", args)).given;
  if (max_bytes === 0) return { rows: read(ids.slice(from)).map((row) => fromOffset(row, offset)) };
  const rows: CutRow[] = [];
  let left = max_bytes - jsonBytes({ ...head, rows: [] }) + 1;
  for (let batch = from; batch < ids.length; batch += BATCH_ROWS) {
    const some = read(ids.slice(batch, batch + BATCH_ROWS));
    for (const [i, row] of some.entries()) {
      const at = batch + i;
      const room = (at + 1 < ids.length ? left - NEXT_FIELD_BYTES : left) - 1;
      const fits = rowWithin(row, offset, room);
      if (fits) {
        rows.push(fits.row);
        left -= fits.bytes + 1;
      } else if (rows.length === 0) {
        const piece = pieceOf(row, offset, room);
        rows.push(piece);
        left -= jsonBytes(piece) + 1;
      } else {
        return { next: toCursor(scopeOf("get", args), ids, at), rows };
      }
    }
  }
  return { rows };
}

/** The row with its text to the end, if that takes at most `room` bytes, and how many it takes. */
function rowWithin(row: WholeRow, offset: number, room: number): { row: CutRow; bytes: number } | undefined {
  const { text } = row;
  if (text === undefined) {
    const bytes = jsonBytes(row);
    return bytes <= room ? { row, bytes } : undefined;
  }
  const { at } = positionOf(text, offset);
  // A character takes a byte at least: what cannot fit is not measured.
  if (text.length - at > room) return undefined;
  const given = at === 0 ? row : { ...row, text: text.slice(at) };
  const bytes = jsonBytes(given);
  return bytes <= room ? { row: given, bytes } : undefined;
}

/** The row in at most `room` bytes: a piece of its text, and no metadata where that is too large. */
function pieceOf(row: WholeRow, offset: number, room: number): CutRow {
  const { text, metadata, ...rest } = row;
  const position = text === undefined ? undefined : positionOf(text, offset);
  const isBehind = text === undefined || position!.at === text.length;
  const textRoom = text === undefined ? 0 : TEXT_FIELD_BYTES + (isBehind ? 0 : CUT_FIELDS_BYTES);
  const least = isBehind ? 0 : Math.min(room * TEXT_SHARE, 6 * (text.length - position!.at));
  let small: CutRow = metadata === undefined ? rest : { ...rest, metadata };
  if (metadata !== undefined && jsonBytes(small) + textRoom + least > room) {
    small = { ...rest, metadata_bytes: jsonBytes(metadata) };
  }
  small = withShortId(small, room - textRoom - Math.ceil(least));
  if (text === undefined || position === undefined) return small;
  const free = room - jsonBytes(small) - TEXT_FIELD_BYTES;
  const { at, bytes } = position;
  if (measure(text, at, free).end === text.length) return { ...small, text: text.slice(at) };
  const piece = text.slice(at, measure(text, at, free - CUT_FIELDS_BYTES).end);
  const text_bytes = Buffer.byteLength(text);
  return { ...small, text: piece, truncated: true, text_bytes, next_offset: bytes + Buffer.byteLength(piece) };
}

function fromOffset(row: WholeRow, offset: number): CutRow {
  const { text } = row;
  return offset === 0 || text === undefined ? row : { ...row, text: text.slice(positionOf(text, offset).at) };
}
