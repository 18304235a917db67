/** What the soak runs beside the fault program, a part after the other with each seed. */
import { race } from "../e2e/swaps/races.ts";
import { openBuiltNative } from "../native.ts";
import { badOf, countsOf, lineOf, tryDamage } from "./damage.ts";
import { buildFuzzer, runFuzzer } from "./fuzzer.ts";
import { live } from "./life.ts";
import { targetsOf, tryTarget } from "./parsers.ts";
import { livePast } from "./past.ts";

const PROCESSES = 2;
const LIVES = 100;
const STEPS = 400;
const TRIES = 200_000;
const GUIDED_TRIES = 100_000;
const RACES = 1_000;

/** What was tried, and whether all of it was right. */
export interface Tried {
  said: string;
  good: boolean;
}

export const PARTS: Record<string, (seed: number) => Promise<Tried>> = {
  /** Every structure of every file of every store. */
  async damage(seed) {
    const judged = await tryDamage(await openBuiltNative(), { seed, processes: PROCESSES });
    const bad = badOf(judged);
    return { said: [...bad.map(lineOf), countsOf(judged)].join("\n"), good: bad.length === 0 };
  },
  async life(seed) {
    const native = await openBuiltNative();
    for (let i = 0; i < LIVES; i++) await live(native, seed * LIVES + i, STEPS);
    return { said: `${LIVES * STEPS} steps`, good: true };
  },
  async past(seed) {
    const native = await openBuiltNative();
    for (let i = 0; i < LIVES; i++) await livePast(native, seed * LIVES + i, STEPS);
    return { said: `${LIVES * STEPS} steps`, good: true };
  },
  async parsers(seed) {
    const targets = Object.entries(targetsOf());
    for (const [name, target] of targets) tryTarget(name, target, TRIES, seed);
    return { said: `${targets.length} parsers, ${TRIES} tries each`, good: true };
  },
  async files(seed) {
    const { out, code } = await runFuzzer(await buildFuzzer("counting"), seed, GUIDED_TRIES);
    // Without counters an input never is new.
    const counted = /^\d+ tries, [1-9]\d+ inputs, [1-9]\d{3,} edges$/m.test(out);
    return { said: out.trim(), good: code === 0 && counted };
  },
  /** The executable of the last build loads its runtime while it is swapped. */
  async swaps(seed) {
    const races = await race({ tries: RACES, seed, parallel: PROCESSES });
    const { loaded, refused, wrong, mapped, noticed } = races;
    const said = [...wrong, `${loaded} loaded, ${refused} refused, ${mapped} of wrong bytes mapped`].join("\n");
    return { said, good: wrong.length === 0 && mapped === 0 && noticed > 0 };
  },
};
