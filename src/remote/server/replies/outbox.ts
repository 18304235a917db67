/** Unsent replies of one connection: one write for each turn; bytes that the kernel does not take wait here. */
import { FRAME_BYTES_MAX } from "../../../limits.ts";
import { HEADER_BYTES } from "../../wire/frame.ts";

/** Where the replies of one turn are encoded, shared by all connections: an idle one holds no memory. */
const SCRATCH_BYTES = 256 * 1024;
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

/** The half of a socket that takes bytes. */
export interface Sink {
  /** @returns how many of the bytes were taken; negative where the peer is gone */
  write(bytes: Buffer): number;
}

/** Frames on their way to one client. */
export class Outbox {
  /** Bytes of the scratch buffer that this turn's replies fill. */
  private used = 0;
  /** The last reply in the scratch buffer, and the bytes of its frame. */
  private last = "";
  private lastBytes = 0;
  private waiting: Buffer[] = [];
  private isBroken = false;
  /** Bytes that the kernel has not taken yet. */
  unsentBytes = 0;
  /** Bytes handed to the kernel so far. */
  sentBytes = 0;

  constructor(private readonly sink: Sink) {}

  /** Whether a reply of that many UTF-16 units may be sent at all; a unit is at most three bytes of UTF-8. */
  static fits(json: string): boolean {
    return json.length * 3 <= FRAME_BYTES_MAX || Buffer.byteLength(json) <= FRAME_BYTES_MAX;
  }

  /** Adds a frame. Between two calls of `flush` no other outbox may add: the scratch buffer is shared. */
  add(json: string): void {
    if (this.isBroken) return;
    if (this.used > 0 && json === this.last && this.used + this.lastBytes <= SCRATCH_BYTES) {
      // The same reply again, as to many pings in one packet: the encoded bytes are copied.
      scratch.copyWithin(this.used, this.used - this.lastBytes, this.used);
      this.used += this.lastBytes;
      return;
    }
    if (HEADER_BYTES + json.length * 3 > SCRATCH_BYTES - this.used) {
      this.flush();
      if (HEADER_BYTES + json.length * 3 > SCRATCH_BYTES) {
        const bytes = Buffer.byteLength(json);
        const frame = Buffer.allocUnsafeSlow(HEADER_BYTES + bytes);
        frame.writeUInt32BE(bytes, 0);
        frame.write(json, HEADER_BYTES);
        this.push(frame, false);
        return;
      }
    }
    const bytes = scratch.write(json, this.used + HEADER_BYTES);
    scratch.writeUInt32BE(bytes, this.used);
    this.last = json;
    this.lastBytes = HEADER_BYTES + bytes;
    this.used += this.lastBytes;
  }

  /** Hands this turn's replies to the kernel. */
  flush(): void {
    if (this.used === 0) return;
    const turn = scratch.subarray(0, this.used);
    this.used = 0;
    this.last = "";
    this.push(turn, true);
  }

  /** Writes on when the kernel has room again. */
  drain(): void {
    while (this.waiting.length > 0) {
      const [first] = this.waiting as [Buffer];
      const taken = this.write(first);
      if (this.isBroken) return;
      this.unsentBytes -= taken;
      if (taken < first.length) {
        this.waiting[0] = first.subarray(taken);
        return;
      }
      this.waiting.shift();
    }
  }

  private push(bytes: Buffer, isShared: boolean): void {
    const taken = this.waiting.length === 0 ? this.write(bytes) : 0;
    if (taken === bytes.length || this.isBroken) return;
    const rest = bytes.subarray(taken);
    this.waiting.push(isShared ? Buffer.from(rest) : rest);
    this.unsentBytes += rest.length;
  }

  private write(bytes: Buffer): number {
    const taken = this.isBroken ? -1 : this.sink.write(bytes);
    if (taken >= 0) {
      this.sentBytes += taken;
      return taken;
    }
    this.isBroken = true;
    this.waiting = [];
    this.unsentBytes = 0;
    return 0;
  }
}
