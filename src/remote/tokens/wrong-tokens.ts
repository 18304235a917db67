/**
 * Wrong tokens, counted by address. A token is always looked up at once, so that the right one never waits, from
 * whatever address; what is delayed is the answer to a wrong one, once its address has sent many.
 */
import { addressGroup } from "../../trust/authority/addresses.ts";

/** Wrong tokens of one address that are answered at once. */
const FREE = 10;
/**
 * The first delay; it doubles with each further wrong token up to the longest. `svc mcp` waits two seconds for an answer:
 * a longer delay would hide from it that the token is wrong.
 */
const FIRST_DELAY_MS = 50;
const LONGEST_DELAY_MS = 1000;
/** An address without a wrong token for so long begins again. */
const FORGOTTEN_MS = 60_000;
/** Addresses that are counted; beyond, the one whose last miss is the oldest is forgotten. */
const ADDRESSES_MAX = 10_000;

/** What a wrong token means for the connection that sent it. */
export interface Miss {
  /** How long its answer waits. */
  readonly delayMs: number;
  /** Wrong tokens of this address, this one included. */
  readonly count: number;
  /** Whether this one is worth a line in the log: a flood is one line for each doubling. */
  readonly isLogged: boolean;
}

export class WrongTokens {
  private readonly byAddress = new Map<string, { count: number; at: number }>();

  /**
   * Counts one.
   * @param address undefined on a Unix socket: its processes count as one
   * @param now milliseconds of a monotonic clock
   */
  miss(address: string | undefined, now = performance.now()): Miss {
    const group = addressGroup(address);
    const known = this.byAddress.get(group);
    const count = known !== undefined && now - known.at < FORGOTTEN_MS ? known.count + 1 : 1;
    this.byAddress.delete(group); // the map is in the order of the last miss
    this.byAddress.set(group, { count, at: now });
    if (this.byAddress.size > ADDRESSES_MAX) this.byAddress.delete(this.byAddress.keys().next().value!);
    const delayMs = count <= FREE ? 0 : Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (count - FREE - 1));
    return { delayMs, count, isLogged: count <= FREE || Number.isInteger(Math.log2(count)) };
  }
}
