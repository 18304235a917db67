/**
 * Bytes to frames and back: a 4-byte big-endian length, then as many bytes. A header can announce 256 MiB in four
 * bytes, so memory grows with the bytes received, never with the announced length.
 */
import { FRAME_BYTES_MAX } from "../../limits.ts";

/** Bytes of a frame's header. */
export const HEADER_BYTES = 4;
const FIRST_CAPACITY = 1024;

/** A length that is 0 or larger than allowed. No later byte of the connection can be read. */
export class FrameError extends Error {}

/** Cuts a stream of chunks into frames. Returns views: a body is valid until the next `push`. */
export class FrameReader {
  /** Received bytes that were not returned yet. */
  private chunk: Buffer = EMPTY;
  private at = 0;
  /** The beginning of an incomplete frame, header included. */
  private held: Buffer = EMPTY;
  private used = 0;
  /** The body that `advance` found. */
  bytes: Buffer = EMPTY;
  start = 0;
  end = 0;

  /** @param bytesMax largest body that is accepted; may be changed between frames */
  constructor(public bytesMax: number = FRAME_BYTES_MAX) {}

  /** Bytes held for frames that were not returned yet. */
  get bufferedBytes(): number {
    return Math.max(this.held.length, this.used) + (this.chunk.length - this.at);
  }

  /** Bytes received of the incomplete frame. */
  get partialBytes(): number {
    return this.used;
  }

  /** Discards everything that was not returned. */
  clear(): void {
    this.chunk = EMPTY;
    this.at = 0;
    this.held = EMPTY;
    this.used = 0;
    this.bytes = EMPTY;
  }

  /** Adds received bytes. The reader owns the chunk from here on. */
  push(chunk: Buffer): void {
    this.chunk = this.at < this.chunk.length ? Buffer.concat([this.chunk.subarray(this.at), chunk]) : chunk;
    this.at = 0;
  }

  /**
   * The next frame's body; undefined until more arrives.
   * @throws FrameError before anything of the frame's size is allocated
   */
  next(): Buffer | undefined {
    return this.advance() ? this.bytes.subarray(this.start, this.end) : undefined;
  }

  /**
   * As `next`, without making a view, which costs as much as parsing a small frame: if true, the body is `bytes` from
   * `start` to `end`.
   * @throws FrameError
   */
  advance(): boolean {
    if (this.used > 0) return this.advanceHeld();
    const left = this.chunk.length - this.at;
    if (left < HEADER_BYTES) return this.hold(left);
    const length = this.checked(this.chunk.readUInt32BE(this.at));
    if (left < HEADER_BYTES + length) return this.hold(left);
    this.bytes = this.chunk;
    this.start = this.at + HEADER_BYTES;
    this.end = this.start + length;
    this.at = this.end;
    if (this.at === this.chunk.length) {
      // The receiver of the body may keep its memory: the reader does not use it again.
      this.chunk = EMPTY;
      this.at = 0;
    }
    return true;
  }

  private advanceHeld(): boolean {
    if (this.used < HEADER_BYTES) this.take(HEADER_BYTES);
    if (this.used < HEADER_BYTES) return false;
    const total = HEADER_BYTES + this.checked(this.held.readUInt32BE(0));
    this.take(total);
    if (this.used < total) return false;
    this.bytes = this.held;
    this.start = HEADER_BYTES;
    this.end = total;
    this.held = EMPTY;
    this.used = 0;
    return true;
  }

  private hold(left: number): false {
    if (left > 0) this.take(left);
    else this.chunk = EMPTY;
    this.at = 0;
    this.bytes = EMPTY; // an idle connection holds no memory
    return false;
  }

  /** Moves bytes from the chunk to the held frame until that has `total`, or the chunk is empty. */
  private take(total: number): void {
    const end = Math.min(this.chunk.length, this.at + total - this.used);
    const size = this.used + end - this.at;
    if (size > this.held.length) {
      // Doubling, as most of the announced bytes may never come; the last step is exact.
      const needed = this.used >= HEADER_BYTES ? HEADER_BYTES + this.held.readUInt32BE(0) : FIRST_CAPACITY;
      const grown = Buffer.allocUnsafeSlow(
        Math.max(size, Math.min(needed, Math.max(FIRST_CAPACITY, this.held.length * 2))),
      );
      this.held.copy(grown, 0, 0, this.used);
      this.held = grown;
    }
    this.chunk.copy(this.held, this.used, this.at, end);
    this.used = size;
    this.at = end;
    if (this.at === this.chunk.length) {
      this.chunk = EMPTY;
      this.at = 0;
    }
  }

  private checked(length: number): number {
    if (length === 0) throw new FrameError("the frame's length is 0");
    if (length > this.bytesMax)
      throw new FrameError(`the frame's length is ${length}, at most ${this.bytesMax} are allowed${spoken(length)}`);
    return length;
  }
}

/** What a peer speaks instead whose first bytes are those of this length. */
function spoken(length: number): string {
  if (length >>> 16 === 0x1603) return ": it speaks TLS";
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.writeUInt32BE(length);
  return /^(GET |POST|PUT |HEAD|OPTI)$/.test(bytes.toString("latin1")) ? ": it speaks HTTP" : "";
}

/** One frame around a JSON text. */
export function encodeFrame(json: string): Buffer {
  const bytes = Buffer.byteLength(json);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + bytes);
  frame.writeUInt32BE(bytes, 0);
  frame.write(json, HEADER_BYTES);
  return frame;
}

const EMPTY = Buffer.alloc(0);
