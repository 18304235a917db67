/**
 * Splits bytes into lines and finds ids without parsing, with bounds that hold before JSON is parsed: 60 MiB of nested
 * arrays stall JSON.parse for seconds and take 1.5 GB, and a line without an end would be buffered until memory is
 * exhausted.
 */
import { stringEnd } from "../wire/depth.ts";

const NEWLINE = 0x0a;

/** Bytes kept of either end of a skipped line. */
const ENDS_BYTES = 512;

/** A line beyond the limit. Only its ends are kept: they may hold the message's id. */
export class OversizeLine {
  constructor(
    readonly head: Uint8Array,
    readonly tail: Uint8Array,
  ) {}
}

/** One line of input, without its line end. */
export type Line = Uint8Array | OversizeLine;

/** Splits a stream of chunks at `\n`. Holds at most `bytesMax` bytes of the line that is not yet complete. */
export class LineSplitter {
  private pieces: Uint8Array[] = [];
  private bytes = 0;
  private skipping: OversizeLine | undefined;

  constructor(private readonly bytesMax: number) {}

  /** The lines that this chunk completes. An oversize line is reported once, at its end. */
  *push(chunk: Uint8Array): Generator<Line> {
    let start = 0;
    while (start < chunk.length) {
      const end = chunk.indexOf(NEWLINE, start);
      const piece = chunk.subarray(start, end < 0 ? chunk.length : end);
      if (this.skipping || this.bytes + piece.length > this.bytesMax) this.skip(piece);
      if (end < 0) {
        if (!this.skipping) this.keep(piece);
        return;
      }
      yield this.skipping ?? this.complete(piece);
      this.skipping = undefined;
      start = end + 1;
    }
  }

  /** The rest after the last newline, at the stream's end. */
  *finish(): Generator<Line> {
    if (this.skipping) yield this.skipping;
    else if (this.bytes > 0) yield this.complete(new Uint8Array(0));
  }

  private skip(piece: Uint8Array): void {
    const head = this.skipping?.head ?? (this.pieces[0] ?? piece).slice(0, ENDS_BYTES);
    const before = this.skipping?.tail ?? this.pieces.at(-1)?.subarray(-ENDS_BYTES) ?? new Uint8Array(0);
    this.skipping = new OversizeLine(head, Buffer.concat([before, piece.subarray(-ENDS_BYTES)]).subarray(-ENDS_BYTES));
    this.reset();
  }

  private keep(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.pieces.push(piece);
    this.bytes += piece.length;
  }

  private complete(last: Uint8Array): Uint8Array {
    if (this.pieces.length === 0) return last;
    this.keep(last);
    const line = this.pieces.length === 1 ? this.pieces[0]! : Buffer.concat(this.pieces, this.bytes);
    this.reset();
    return line;
  }

  private reset(): void {
    this.pieces = [];
    this.bytes = 0;
  }
}

/** Whether the line holds only spaces, tabs and carriage returns. */
export function isBlank(line: Uint8Array): boolean {
  for (const byte of line) if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  return true;
}

/**
 * The `id` of a JSON-RPC message that is not parsed, for an error reply; null where none can be read. Considers only
 * names directly in the outermost object.
 */
export function topLevelId(line: Uint8Array): string | number | null {
  let depth = 0;
  for (let at = 0; at < line.length; at++) {
    const byte = line[at];
    if (byte === 0x7b || byte === 0x5b) depth++;
    else if (byte === 0x7d || byte === 0x5d) depth--;
    else if (byte === 0x22) {
      const end = stringEnd(line, at + 1);
      const isId = depth === 1 && end - at === 3 && line[at + 1] === 0x69 && line[at + 2] === 0x64;
      const colon = skipSpace(line, end + 1);
      if (isId && line[colon] === 0x3a) return scalarAt(line, skipSpace(line, colon + 1));
      at = end;
    }
  }
  return null;
}

function skipSpace(line: Uint8Array, start: number): number {
  let at = start;
  while (line[at] === 0x20 || line[at] === 0x09) at++;
  return at;
}

function scalarAt(line: Uint8Array, start: number): string | number | null {
  let end = start;
  if (line[start] === 0x22) end = stringEnd(line, start + 1) + 1;
  else while (end < line.length && /[-+.0-9eE]/.test(String.fromCharCode(line[end]!))) end++;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(line.subarray(start, end)));
    return typeof value === "string" || typeof value === "number" ? value : null;
  } catch {
    return null;
  }
}

/**
 * The id of a message of which only the ends are known: many clients write it first, some last. At the end, one closing
 * brace and nothing else must follow it, so that the id of a nested object does not match.
 */
export function idOfOversize({ head, tail }: OversizeLine): string | number | null {
  const first = topLevelId(head);
  if (first !== null) return first;
  const [, written] = /"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")[^{}[\]]*\}\s*$/.exec(new TextDecoder().decode(tail)) ?? [];
  return written === undefined ? null : scalarAt(new TextEncoder().encode(written), 0);
}
