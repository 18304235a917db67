/** How many requests are answered at once, in all and of one address. */
import { AUTHORITY_REQUESTS_MAX, AUTHORITY_REQUESTS_OF_ADDRESS_MAX } from "../../../limits.ts";

/** Requests that have come and are not answered yet: each may hold a body that is still on its way. */
export class Room {
  #count = 0;
  readonly #byAddress = new Map<string, number>();

  constructor(
    readonly most = AUTHORITY_REQUESTS_MAX,
    readonly mostOfAddress = AUTHORITY_REQUESTS_OF_ADDRESS_MAX,
  ) {}

  /**
   * @param group what counts as one address; undefined where a proxy does not say, and all clients would be one
   * @returns whether there is room; if so, `leave` ends it
   */
  enter(group: string | undefined): boolean {
    const own = group === undefined ? 0 : (this.#byAddress.get(group) ?? 0);
    if (this.#count >= this.most || own >= this.mostOfAddress) return false;
    this.#count++;
    if (group !== undefined) this.#byAddress.set(group, own + 1);
    return true;
  }

  leave(group: string | undefined): void {
    this.#count--;
    if (group === undefined) return;
    const own = (this.#byAddress.get(group) ?? 0) - 1;
    if (own > 0) this.#byAddress.set(group, own);
    else this.#byAddress.delete(group);
  }
}
