/** CPU time of queries. Runs under Node.js and Bun. */
import { secondsSince } from "../cost.ts";
import { median } from "../measure.ts";

/** CPU milliseconds of a query of one kind, all threads of the process together. */
export interface QueryTimes {
  median: number;
  mean: number;
  /** The median by the clock. */
  wall: number;
  /** How often each was run; its median counts. */
  rounds: number;
}

const ROUNDS = 5;
const WARM_UP = 20;

/** A way to answer a query. */
export type Way = (query: string) => Promise<unknown>;

/** Runs all queries of all kinds one after another; after `budget` milliseconds no further round of a kind begins. */
export async function askKinds<Kind extends string>(
  queries: Readonly<Record<Kind, string[]>>,
  ask: Way,
  budget: number,
): Promise<Record<Kind, QueryTimes>> {
  return (await askWays(queries, { ask }, budget)).ask;
}

/** The same in several ways, which take turns at each query. */
export async function askWays<Kind extends string, Name extends string>(
  queries: Readonly<Record<Kind, string[]>>,
  ways: Readonly<Record<Name, Way>>,
  budget: number,
): Promise<Record<Name, Record<Kind, QueryTimes>>> {
  const names = Object.keys(ways) as Name[];
  const all = Object.fromEntries(names.map((name) => [name, {}])) as Record<Name, Record<Kind, QueryTimes>>;
  for (const [kind, list] of Object.entries(queries) as [Kind, string[]][]) {
    for (const query of list.slice(0, WARM_UP)) for (const name of names) await ways[name](query);
    const [cpu, wall] = [samples(names, list.length), samples(names, list.length)];
    const start = performance.now();
    let rounds = 0;
    while (rounds < ROUNDS && (rounds === 0 || performance.now() - start < budget)) {
      for (const [i, query] of list.entries()) {
        for (const name of names) {
          const [before, begun] = [process.cpuUsage(), performance.now()];
          await ways[name](query);
          wall[name][i]!.push(performance.now() - begun);
          cpu[name][i]!.push(secondsSince(before) * 1000);
        }
      }
      rounds++;
    }
    for (const name of names) {
      const each = cpu[name].map(median);
      const mean = each.reduce((sum, ms) => sum + ms, 0) / each.length;
      all[name][kind] = { median: median(each), mean, wall: median(wall[name].map(median)), rounds };
    }
  }
  return all;
}

/** Times by way and query. */
function samples<Name extends string>(names: readonly Name[], queries: number): Record<Name, number[][]> {
  const none = () => Array.from({ length: queries }, () => [] as number[]);
  return Object.fromEntries(names.map((name) => [name, none()])) as Record<Name, number[][]>;
}
