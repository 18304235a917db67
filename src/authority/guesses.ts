/** Bounds on guessing (RFC 8628 §5.1): misses in a window, for each address and for all together. */

export interface GuessLimits {
  readonly perAddress: number;
  readonly inAll: number;
  readonly windowMs: number;
}

/** 20 consonants to the 8th are 2.6e10 user codes: 200 guesses in ten minutes do not find one before it expires. */
const LIMITS: GuessLimits = { perAddress: 20, inAll: 200, windowMs: 600_000 };

/** Counts wrong codes; right ones do not count. */
export class Guesses {
  #windowEnds = 0;
  #inAll = 0;
  readonly #byAddress = new Map<string, number>();

  constructor(readonly limits: GuessLimits = LIMITS) {}

  /** Milliseconds until this address may try again; 0 if it may now. */
  waitMs(address: string, now: number): number {
    this.#turn(now);
    const tooMany = this.#inAll >= this.limits.inAll || (this.#byAddress.get(address) ?? 0) >= this.limits.perAddress;
    return tooMany ? this.#windowEnds - now : 0;
  }

  miss(address: string, now: number): void {
    this.#turn(now);
    this.#inAll++;
    this.#byAddress.set(address, (this.#byAddress.get(address) ?? 0) + 1);
  }

  /** Starts a new window after the old. The map is bounded because `inAll` misses end a window's guessing. */
  #turn(now: number): void {
    if (now < this.#windowEnds) return;
    this.#windowEnds = now + this.limits.windowMs;
    this.#inAll = 0;
    this.#byAddress.clear();
  }
}
