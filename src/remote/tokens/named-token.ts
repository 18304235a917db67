/** A named token while a server uses it: whether it is still valid, and what was put with it. */
import { isDeepStrictEqual } from "node:util";
import { PermissionError } from "../../errors.ts";
import type { Charge } from "../../store/limited/view.ts";
import type { TokenRecord } from "./token-file.ts";
import { sum, UNUSED, type Usage } from "./usage-file.ts";

/**
 * A new collection counts as one row and so many bytes: without that a token with a quota could make any number of
 * collections, each of which takes memory of the server.
 */
const COLLECTION_BYTES = 4096;

/** What is known of the use of a token, also after its rights were changed. */
export class Tally {
  /** What was counted and is not written yet. */
  counted: Usage = { ...UNUSED };
  /** What is being written. */
  underWay: Usage = { ...UNUSED };
  /** Of puts that are under way. They are written once they have succeeded. */
  private pending: Usage = { ...UNUSED };

  /** @param stored what is in the file, with what other servers have counted */
  constructor(public stored: Readonly<Usage> = UNUSED) {}

  /** All of it. */
  get total(): Usage {
    return [this.underWay, this.counted, this.pending].reduce(sum, this.stored);
  }

  charge(rows: number, bytes: number): Charge {
    const end = () => {
      this.pending.rows -= rows;
      this.pending.bytes -= bytes;
    };
    this.pending.rows += rows;
    this.pending.bytes += bytes;
    return {
      keep: () => {
        end();
        this.counted.rows += rows;
        this.counted.bytes += bytes;
      },
      takeBack: end,
    };
  }
}

export class NamedToken {
  /** Why it is not valid any more, as the end of a sentence about it; undefined while it is valid. */
  ended: string | undefined;

  constructor(
    readonly record: TokenRecord,
    readonly tally = new Tally(),
  ) {}

  /** Whether a record is the same as this token's. */
  isOf(record: TokenRecord): boolean {
    return isDeepStrictEqual(record, this.record);
  }

  /** When it expires; a token that a server has seen expire stays so. */
  get end(): number {
    return this.tally.stored.isExpired ? 0 : (this.record.expires ?? Number.POSITIVE_INFINITY);
  }

  /** Its time is over. */
  expire(): void {
    if (this.ended !== undefined) return;
    this.ended = "has expired";
    if (!this.tally.stored.isExpired) this.tally.counted.isExpired = true;
  }

  /** A request came with it. */
  used(now = Date.now()): void {
    // A minute is precise enough for people, and the file is not written for each request.
    if (now - this.lastUsed > 60_000) this.tally.counted.used = now;
  }

  /** When it was last used, to the minute, in milliseconds since 1970; 0: never. */
  get lastUsed(): number {
    const { stored, counted, underWay } = this.tally;
    return Math.max(stored.used ?? 0, counted.used ?? 0, underWay.used ?? 0);
  }

  /**
   * Counts rows that are going to be put.
   * @param why a remark about these numbers
   * @throws PermissionError with the numbers, where they are too many
   */
  charge(rows: number, bytes: number, why = ""): Charge {
    const { name, rowsMax, bytesMax } = this.record;
    const { total } = this.tally;
    refuseMore(name, "rows", total.rows, rows, rowsMax, why);
    refuseMore(name, "bytes", total.bytes, bytes, bytesMax, why);
    return this.tally.charge(rows, bytes);
  }

  /** Counts a collection that is going to be made. @throws as `charge` */
  chargeCollection(): Charge {
    return this.charge(1, COLLECTION_BYTES, ` (a new collection counts as one row and ${COLLECTION_BYTES} bytes)`);
  }

  /** What is to be written; undefined where nothing was counted. */
  takeCounted(): Usage | undefined {
    const { counted } = this.tally;
    if (counted.rows === 0 && counted.bytes === 0 && counted.used === undefined && !counted.isExpired) return undefined;
    this.tally.underWay = counted;
    this.tally.counted = { ...UNUSED };
    return counted;
  }

  /** What was taken is written. @param stored all of it, with what other servers have counted */
  stored(stored: Usage | undefined): void {
    this.tally.underWay = { ...UNUSED };
    if (stored !== undefined) this.tally.stored = stored;
  }

  /** What was taken could not be written. */
  restore(counted: Usage | undefined): void {
    this.tally.underWay = { ...UNUSED };
    if (counted !== undefined) this.tally.counted = sum(this.tally.counted, counted);
  }
}

function refuseMore(
  name: string,
  what: string,
  stored: number,
  more: number,
  most: number | undefined,
  why: string,
): void {
  if (most === undefined || stored + more <= most) return;
  throw new PermissionError(
    `token '${name}' may store ${most} ${what} in all and has stored ${stored}: ${more} more are too many${why}; ask the ` +
      "operator of the server for another token",
  );
}
