/** Bounds on guessing user codes (RFC 8628 §5.1). A right code never waits: what is bounded is the answer to wrong ones. */

export interface GuessLimits {
  /** Misses of one address in a window that are answered as what they are; further ones are answered 429. */
  readonly perAddress: number;
  readonly windowMs: number;
  /** How likely a hit may become in a window before addresses that are over their limit are no longer looked up for. */
  readonly chance: number;
}

/** Twenty consonants to the eighth: 34.6 bits. */
const USER_CODES = 20 ** 8;

/**
 * A guess hits one of n open codes with probability n / 2.56e10. A count of misses as the limit would lock the right
 * person out, who shares an address with an office or with every user of a machine. The sum of those probabilities is
 * bounded instead: .001 in ten minutes is 2.56e7 guesses against one code, 43,000 a second, twice what a process answered
 * on two cores; of a server with its 2,500 codes open it is 10,240 guesses. From then on an address has the 20 guesses of
 * its limit, which add 2.0e-6 at 2,500 codes. 1,000 guesses against one code hit with probability 3.9e-8. A hit shows
 * where a request came from, and can deny it; approving takes the approval code, except on the machine itself.
 */
export const GUESS_LIMITS: GuessLimits = { perAddress: 20, windowMs: 600_000, chance: 0.001 };

/** Addresses that are counted one by one; beyond, all others are one, so that the map stays small. */
const ADDRESSES_MAX = 10_000;
const OTHERS = "others";

/** Counts wrong codes; right ones do not count. */
export class Guesses {
  #windowEnds = 0;
  #chance = 0;
  readonly #byAddress = new Map<string, number>();

  constructor(readonly limits: GuessLimits = GUESS_LIMITS) {}

  /** Milliseconds until codes of this address are looked up again; 0 if they are now. */
  pauseMs(address: string, now: number): number {
    this.#turn(now);
    return this.#chance >= this.limits.chance && this.#isOver(this.#key(address)) ? this.#windowEnds - now : 0;
  }

  /**
   * Counts a miss, which could have hit one of `open` codes.
   * @returns milliseconds until a wrong code of this address is answered as such again; 0 if this one is
   */
  miss(address: string, open: number, now: number): number {
    this.#turn(now);
    const key = this.#key(address);
    const isOver = this.#isOver(key);
    this.#chance += open / USER_CODES;
    this.#byAddress.set(key, (this.#byAddress.get(key) ?? 0) + 1);
    return isOver ? this.#windowEnds - now : 0;
  }

  #isOver(key: string): boolean {
    return (this.#byAddress.get(key) ?? 0) >= this.limits.perAddress;
  }

  #key(address: string): string {
    return this.#byAddress.has(address) || this.#byAddress.size < ADDRESSES_MAX ? address : OTHERS;
  }

  #turn(now: number): void {
    // A window that ends later than it can is of a clock that was ahead, which may have been by a year.
    if (now < this.#windowEnds && this.#windowEnds - now <= this.limits.windowMs) return;
    this.#windowEnds = now + this.limits.windowMs;
    this.#chance = 0;
    this.#byAddress.clear();
  }
}
