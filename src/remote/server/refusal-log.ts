/**
 * The log of connections that are closed before they authenticate. Anyone can open those: the first ten of an address are
 * a line each, then one is for each doubling of their count.
 */
import type { Log, LogEvent } from "../../log.ts";
import { WrongTokens } from "../tokens/wrong-tokens.ts";

export class RefusalLog {
  /** Counted like wrong tokens, and apart from them: these are answered without delay. */
  private readonly refusals = new WrongTokens();

  constructor(private readonly log: Log) {}

  /** @param address undefined on a Unix socket: its processes count as one */
  add(address: string | undefined, event: LogEvent): void {
    const { count, isLogged } = this.refusals.miss(address);
    if (!isLogged) return;
    this.log(count === 1 ? event : { ...event, message: `${event.message}, the ${nth(count)} refused from there` });
  }
}

/** A count as a word: 2nd, 3rd, 64th. */
export function nth(count: number): string {
  return count === 2 ? "2nd" : count === 3 ? "3rd" : `${count}th`;
}
