/** Bounds on guessing (RFC 8628 §5.1): so many misses in a window, for one address and for all of them together. */

export interface GuessLimits {
  readonly perAddress: number;
  readonly inAll: number;
  readonly windowMs: number;
}

/** 20 consonants to the 8th are 2.6e10 user codes: at 200 guesses in ten minutes nobody finds one of them while it lives. */
const LIMITS: GuessLimits = { perAddress: 20, inAll: 200, windowMs: 600_000 };

/** Counts wrong codes. Right ones never count, so that a user who types the right code is never refused. */
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

  /** A new window forgets the old; the map is bounded because `inAll` misses end a window's guessing. */
  #turn(now: number): void {
    if (now < this.#windowEnds) return;
    this.#windowEnds = now + this.limits.windowMs;
    this.#inAll = 0;
    this.#byAddress.clear();
  }
}
