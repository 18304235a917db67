/**
 * Splits bytes into lines, with a bound that holds before anything is parsed: a line without an end would be buffered
 * until memory is exhausted.
 */
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
