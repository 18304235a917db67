/** A named token while a server uses it: whether it is still valid, and what was put with it. */
import { isDeepStrictEqual } from "node:util";
import { PermissionError } from "../../errors.ts";
import type { TokenRecord } from "./token-file.ts";
import { sum, UNUSED, type Usage } from "./usage-file.ts";

export class NamedToken {
  /** Why it is not valid any more, as the end of a sentence about it; undefined while it is valid. */
  ended: string | undefined;
  /** What was counted and is not written yet. */
  private counted: Usage = { ...UNUSED };
  /** What is being written. */
  private underWay: Usage = { ...UNUSED };

  constructor(
    readonly record: TokenRecord,
    private stored: Readonly<Usage> = UNUSED,
  ) {}

  /** Whether a record is the same as this token's. */
  isOf(record: TokenRecord): boolean {
    return isDeepStrictEqual(record, this.record);
  }

  /** When it expires; a token that a server has seen expire stays so. */
  get end(): number {
    return this.stored.isExpired ? 0 : (this.record.expires ?? Number.POSITIVE_INFINITY);
  }

  /** Its time is over. */
  expire(): void {
    if (this.ended !== undefined) return;
    this.ended = "has expired";
    if (!this.stored.isExpired) this.counted.isExpired = true;
  }

  /** It was shown to the server, or a request came with it. */
  used(now = Date.now()): void {
    // A minute is precise enough for people, and the file is not written for each request.
    if (now - this.lastUsed > 60_000) this.counted.used = now;
  }

  /** When it was last used, to the minute, in milliseconds since 1970; 0: never. */
  get lastUsed(): number {
    return Math.max(this.stored.used ?? 0, this.counted.used ?? 0, this.underWay.used ?? 0);
  }

  /**
   * Counts rows that are going to be put.
   * @returns takes that back, where they were not put
   * @throws PermissionError with the numbers, where they are too many
   */
  charge(rows: number, bytes: number): () => void {
    const { name, rowsMax, bytesMax } = this.record;
    const now = sum(sum(this.stored, this.underWay), this.counted);
    refuseMore(name, "rows", now.rows, rows, rowsMax);
    refuseMore(name, "bytes", now.bytes, bytes, bytesMax);
    const { counted } = this;
    counted.rows += rows;
    counted.bytes += bytes;
    return () => {
      this.counted.rows -= rows;
      this.counted.bytes -= bytes;
    };
  }

  /** What is to be written; undefined where nothing was counted. */
  takeCounted(): Usage | undefined {
    const { counted } = this;
    if (counted.rows === 0 && counted.bytes === 0 && counted.used === undefined && !counted.isExpired) return undefined;
    // Rows that were taken back since the last time are subtracted from later ones: the file never counts below 0.
    if (counted.rows < 0 || counted.bytes < 0) return undefined;
    this.underWay = counted;
    this.counted = { ...UNUSED };
    return counted;
  }

  /** What was taken is written. @param stored all of it, with what other servers have counted */
  written(stored: Usage | undefined): void {
    this.underWay = { ...UNUSED };
    if (stored !== undefined) this.stored = stored;
  }

  /** What was taken could not be written. */
  restore(counted: Usage | undefined): void {
    this.underWay = { ...UNUSED };
    if (counted !== undefined) this.counted = sum(this.counted, counted);
  }
}

function refuseMore(name: string, what: string, stored: number, more: number, most: number | undefined): void {
  if (most === undefined || stored + more <= most) return;
  throw new PermissionError(
    `token '${name}' may store ${most} ${what} in all and has stored ${stored}: ${more} more are too many; ask the ` +
      "operator of the server for another token",
  );
}
