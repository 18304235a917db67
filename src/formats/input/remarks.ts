/**
 * What an import left out: bad rows by the caller's choice, and what is not a row, counted and said once at its end.
 */
import { SvcError } from "../../errors.ts";
import type { FormatOptions } from "./row.ts";

/** Names that a sentence shows. */
const SHOWN = 3;

/** Counts places by the reason for which they were left out. */
export class Remarks {
  private readonly places = new Map<string, { count: number; first: string[] }>();

  private readonly said: string[] = [];

  constructor(private readonly onBad?: FormatOptions["onBad"]) {}

  /** What is made; undefined where a row is bad and bad rows are left out. @throws what `make` throws otherwise */
  row<T>(make: () => T): T | undefined {
    try {
      return make();
    } catch (error) {
      if (!this.leavesOut(error)) throw error;
      return undefined;
    }
  }

  /** Whether a row with this error is left out, which is then said. */
  leavesOut(error: unknown): boolean {
    if (!this.onBad || !(error instanceof SvcError)) return false;
    this.onBad(error);
    return true;
  }

  /** A place that has no text. Returns nothing, as a row that is left out. */
  blank(where: string): undefined {
    this.add("without text", where);
  }

  /** @param why as in "3 left out, not UTF-8"; @param what instead of "left out" */
  add(why: string, where: string, what = "left out"): void {
    const said = `${what}, ${why}`;
    const known = this.places.get(said) ?? { count: 0, first: [] };
    known.count += 1;
    if (known.first.length < SHOWN) known.first.push(where);
    this.places.set(said, known);
  }

  /** A sentence that is about no single row. */
  say(sentence: string): void {
    this.said.push(sentence);
  }

  /** One sentence for each reason. */
  sentences(): readonly string[] {
    const counted = [...this.places].map(([said, { count, first }]) => {
      return `${count} ${said}: ${first.join("; ")}${count > first.length ? "; …" : ""}`;
    });
    return [...this.said, ...counted];
  }
}
