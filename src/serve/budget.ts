/**
 * Memory for all connections together. Where they keep too much, those that keep more than a small share stop reading, all but one: were
 * all of them stopped in the middle of a frame, none would ever make room.
 */
import { BUFFERED_SHARE_BYTES } from "../limits.ts";
import type { Connection } from "./connection.ts";

export class Budget {
  private total = 0;
  /** The one that reads on until its frame is complete. */
  private favoured: Connection | undefined;
  private favouredAt = 0;

  /** @param hasRoom called, in a turn of its own, when connections that stopped may look again */
  constructor(
    private readonly bytesMax: number,
    private readonly hasRoom: () => void,
  ) {}

  /** Bytes kept for all connections. */
  get bytes(): number {
    return this.total;
  }

  /** A connection keeps so many bytes more, or less, than it said before. */
  changed(connection: Connection, change: number): void {
    const wasCrowded = this.isCrowded;
    this.total += change;
    const hasFinished = this.favoured === connection && connection.bufferedBytes <= BUFFERED_SHARE_BYTES;
    if (hasFinished) this.favoured = undefined;
    // In a turn of its own: the connection that reports is in the middle of its own work.
    if (hasFinished || (wasCrowded && !this.isCrowded)) queueMicrotask(this.hasRoom);
  }

  /** Whether a connection that keeps more than its share may read on. */
  mayRead(connection: Connection): boolean {
    if (!this.isCrowded) return true;
    const now = performance.now();
    if (this.favoured === undefined || now - this.favouredAt > FAVOUR_MS) {
      this.favoured = connection;
      this.favouredAt = now;
    }
    return this.favoured === connection;
  }

  /** Whether all connections together keep more than they may. */
  get isCrowded(): boolean {
    return this.total > this.bytesMax;
  }
}

/** How long one reads on before another gets its turn: a client that sends slowly must not keep the rest waiting. */
const FAVOUR_MS = 30_000;
