/** A named token while a server uses it: whether it is still valid, and what was put with it. */
import { isDeepStrictEqual } from "node:util";
import { PermissionError } from "../../errors.ts";
import type { Charge } from "../../store/limited/view.ts";
import type { TokenRecord } from "./token-file.ts";
import type { Usage } from "./usage-file.ts";

/**
 * A new collection counts as one row and so many bytes: without that a token with a quota could make any number of
 * collections, each of which takes memory of the server.
 */
const COLLECTION_BYTES = 4096;

/** What is known of the use of a token, also after its rights were changed. */
export class Tally {
  /** It is not written yet. */
  isUnwritten = false;
  /** Of puts that are under way. They are written once they have succeeded. */
  private pending = { rows: 0, bytes: 0 };

  /** @param usage what was done with the token, without puts that are under way */
  constructor(readonly usage: Usage = { rows: 0, bytes: 0 }) {}

  /** What was put, with what is being put. */
  get total(): Pick<Usage, "rows" | "bytes"> {
    const { usage, pending } = this;
    return { rows: usage.rows + pending.rows, bytes: usage.bytes + pending.bytes };
  }

  /** Changes what is written. */
  note(change: Partial<Usage>): void {
    Object.assign(this.usage, change);
    this.isUnwritten = true;
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
        this.note({ rows: this.usage.rows + rows, bytes: this.usage.bytes + bytes });
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
    return this.tally.usage.isExpired ? 0 : (this.record.expires ?? Number.POSITIVE_INFINITY);
  }

  /** Its time is over. */
  expire(): void {
    if (this.ended !== undefined) return;
    this.ended = "has expired";
    if (!this.tally.usage.isExpired) this.tally.note({ isExpired: true });
  }

  /** A request came with it. */
  used(now = Date.now()): void {
    // A minute is precise enough for people, and the file is not written for each request.
    if (now - this.lastUsed > 60_000) this.tally.note({ used: now });
  }

  /** When it was last used, to the minute, in milliseconds since 1970; 0: never. */
  get lastUsed(): number {
    return this.tally.usage.used ?? 0;
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
