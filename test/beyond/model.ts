/** What a collection may hold, given what was acknowledged, refused and left unknown. */
import type { Listed } from "./node-process.ts";
import { textOf, type Version } from "./rows.ts";

/** What became of a change. */
export type Fate = "made" | "refused" | "unknown";

/** The version of a row, or `undefined`: it is not there. */
type State = number | undefined;

export class Model {
  /** The states that each id may be in. */
  private readonly states = new Map<string, State[]>();
  readonly counts: Record<Fate, number> = { made: 0, refused: 0, unknown: 0 };

  /** Notes a change that makes a row `version`, or removes it. */
  note(id: string, version: State, fate: Fate): void {
    this.counts[fate]++;
    const before = this.states.get(id) ?? [undefined];
    if (fate === "made") this.states.set(id, [version]);
    else if (fate === "unknown") this.states.set(id, [...before, version]);
    else this.states.set(id, before);
  }

  /** An `add` of an id that several processes add, each with a version of its own: the first one wins. */
  noteContested(id: string, version: number, fate: Fate): void {
    const won = this.states.get(id)?.length === 1 && this.states.get(id)![0] !== undefined;
    if (fate === "made" && won) throw new Error(`two processes have added ${id}`);
    if (!won) this.note(id, version, fate);
    else this.counts[fate]++;
  }

  /** What is wrong with the rows of a node; empty: nothing. */
  faultsOf(listed: readonly Listed[]): string[] {
    const faults: string[] = [];
    const found = new Map<string, string>();
    for (const [id, text] of listed) {
      if (found.has(id)) faults.push(`${id} is there twice`);
      found.set(id, text);
      if (!this.states.has(id)) faults.push(`${id} was never added`);
    }
    for (const [id, states] of this.states) {
      const texts = states.map((version) => (version === undefined ? undefined : textOf({ id, version } as Version)));
      if (!texts.includes(found.get(id)))
        faults.push(`${id} is '${found.get(id)}' and should be ${texts.map((text) => `'${text}'`).join(" or ")}`);
    }
    return faults;
  }
}
