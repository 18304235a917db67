/**
 * When the server ends by itself: once the last tab is closed, or after a time without a request. Pages say when they
 * open and when they are left; a browser that was killed says nothing, and only idleness ends the server then.
 */

/** A page that leads to another one is left before the next one opens, and a reload too. */
const LEFT_MS = 8_000;
/** Open pages ask again every ten minutes: see `pages/script.ts`. */
const IDLE_MS = 45 * 60_000;

export class Lifetime {
  /** Pages that are open, by a number that each makes for itself. */
  readonly #open = new Set<string>();
  #timer: Timer;
  readonly #ended = Promise.withResolvers<"left" | "idle">();

  constructor(
    readonly leftMs = LEFT_MS,
    readonly idleMs = IDLE_MS,
  ) {
    this.#timer = this.#after(idleMs, "idle");
  }

  /** Resolves once the server is to end, with the reason. */
  get ended(): Promise<"left" | "idle"> {
    return this.#ended.promise;
  }

  /** A request of the session came. */
  touch(): void {
    this.#restart(this.idleMs, "idle");
  }

  /** A page has opened, or is still open. */
  opened(page: string): void {
    if (this.#open.size < PAGES_MAX) this.#open.add(page);
    this.touch();
  }

  /** A page was left. */
  left(page: string): void {
    if (this.#open.delete(page) && this.#open.size === 0) this.#restart(this.leftMs, "left");
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #restart(ms: number, why: "left" | "idle"): void {
    clearTimeout(this.#timer);
    this.#timer = this.#after(ms, why);
  }

  #after(ms: number, why: "left" | "idle"): Timer {
    return setTimeout(() => this.#ended.resolve(why), ms);
  }
}

/** A script gone wrong must not fill the memory. */
const PAGES_MAX = 1_000;
