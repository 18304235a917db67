/**
 * Memory for all connections together. Beyond the limit, connections that hold more than a small share stop reading,
 * except one: with all of them stopped in the middle of a frame, none would ever free memory.
 */
import { BUFFERED_SHARE_BYTES } from "../../limits.ts";

/** A connection as its memory counts. */
interface Holder {
  readonly bufferedBytes: number;
}

export class Budget {
  /** Bytes held for all connections. */
  bytes = 0;
  /** The connection that reads on until its frame is complete. */
  private favoured: Holder | undefined;
  private favouredAt = 0;

  /** @param hasRoom called in a microtask when paused connections may check `mayRead` again */
  constructor(
    private readonly bytesMax: number,
    private readonly hasRoom: () => void,
  ) {}

  /** A connection holds `change` bytes more than it reported before; less where negative. */
  changed(connection: Holder, change: number): void {
    const wasCrowded = this.isCrowded;
    this.bytes += change;
    const hasFinished = this.favoured === connection && connection.bufferedBytes <= BUFFERED_SHARE_BYTES;
    if (hasFinished) this.favoured = undefined;
    // In a microtask: the connection that reports is in the middle of its own work.
    if (hasFinished || (wasCrowded && !this.isCrowded)) queueMicrotask(this.hasRoom);
  }

  /** Whether a connection that holds more than its share may read on. */
  mayRead(connection: Holder): boolean {
    if (!this.isCrowded) return true;
    const now = performance.now();
    if (this.favoured === undefined || now - this.favouredAt > FAVOUR_MS) {
      this.favoured = connection;
      this.favouredAt = now;
    }
    return this.favoured === connection;
  }

  /** Whether all connections together hold more than the limit. */
  get isCrowded(): boolean {
    return this.bytes > this.bytesMax;
  }
}

/** How long one connection is favoured before another: a client that sends slowly must not block the rest. */
const FAVOUR_MS = 30_000;
