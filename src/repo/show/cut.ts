/** A long line, cut around what a question asks for. */
import { characterStart } from "../../answers/sizes.ts";

/** UTF-16 units of a line that are shown, marks included. */
export const LINE_UNITS_MAX = 200;
/** Stands where something is left out. */
export const CUT = "…";
/** UTF-16 units of a segment: two of them leave room about them. */
const SEGMENT_UNITS = 80;
/** A segment ends at a word's end where one is so near to its own. */
const EDGE_UNITS = 20;

/** A part of a line, in UTF-16 units. */
export interface Segment {
  start: number;
  end: number;
}

/** A line in parts that end with words where they can; whole characters. */
export function segmentsOf(line: string): Segment[] {
  const segments: Segment[] = [];
  for (let start = 0; start < line.length; ) {
    let end = Math.min(line.length, start + SEGMENT_UNITS);
    if (end < line.length) {
      const edge = line.slice(end - EDGE_UNITS, end).search(/[^\p{L}\p{N}\p{M}_$][\p{L}\p{N}\p{M}_$]*$/u);
      end = characterStart(line, edge >= 0 ? end - EDGE_UNITS + edge + 1 : end);
    }
    segments.push({ start, end });
    start = end;
  }
  return segments;
}

/** The best two neighbours of a line's segments with what stands about them, and what the two are worth. */
export function bestPart(
  line: string,
  segments: readonly Segment[],
  worthOf: (segment: number) => number,
): { text: string; value: number } {
  let best = 0;
  let most = -1;
  for (let i = 0; i < segments.length; i++) {
    // Where both are the same, the first two that have it begin with it.
    const value = worthOf(i) + (i + 1 < segments.length ? worthOf(i + 1) : 0);
    if (value > most || (value === most && worthOf(i) > worthOf(best))) [most, best] = [value, i];
  }
  const last = segments[Math.min(best + 1, segments.length - 1)]!;
  return { text: around(line, segments[best]!.start, last.end), value: most };
}

/** At most {@link LINE_UNITS_MAX} units of a line with those from `start` to `end` in the middle, marked where cut. */
export function around(line: string, start: number, end: number): string {
  if (line.length <= LINE_UNITS_MAX) return line;
  const room = LINE_UNITS_MAX - 2 * CUT.length;
  const first = Math.max(0, Math.min(start - Math.floor((room - (end - start)) / 2), line.length - room - CUT.length));
  // At an end of the line there is no mark.
  const from = first <= CUT.length ? 0 : characterStart(line, first);
  const to = from + room + CUT.length >= line.length ? line.length : characterStart(line, from + room);
  return `${from > 0 ? CUT : ""}${line.slice(from, to)}${to < line.length ? CUT : ""}`;
}
