/** CPU time of queries. Runs under Node.js and Bun. */
import { secondsSince } from "../cost.ts";
import { median } from "../measure.ts";
import { KINDS, type Kind, type Queries } from "./queries.ts";

/** CPU milliseconds of a query of one kind, all threads of the process together. */
export interface Asked {
  median: number;
  mean: number;
  /** How often each was run; its median counts. */
  rounds: number;
}

export type AskedKinds = Record<Kind, Asked>;

const ROUNDS = 5;
/** Milliseconds after which no further round of a kind begins. */
const BUDGET = 10_000;
const WARM_UP = 20;

/** Runs all queries of all kinds one after another. */
export async function askKinds(queries: Queries, ask: (query: string) => Promise<unknown>): Promise<AskedKinds> {
  const all = {} as AskedKinds;
  for (const kind of KINDS) {
    for (const query of queries[kind].slice(0, WARM_UP)) await ask(query);
    const times: number[][] = queries[kind].map(() => []);
    const start = performance.now();
    let rounds = 0;
    while (rounds < ROUNDS && (rounds === 0 || performance.now() - start < BUDGET)) {
      for (const [i, query] of queries[kind].entries()) {
        const before = process.cpuUsage();
        await ask(query);
        times[i]!.push(secondsSince(before) * 1000);
      }
      rounds++;
    }
    const each = times.map(median);
    all[kind] = { median: median(each), mean: each.reduce((sum, ms) => sum + ms, 0) / each.length, rounds };
  }
  return all;
}
