/** The mixed small work of the crowd and of the honest clients beside abusers. */
import type { RemoteTelys } from "../../../src/remote/client/client.ts";
import { random, unitVectors } from "../../random.ts";

export const VECTORS = "vectors";
export const NOTES = "notes";
export const ROWS = 2000;
export const DIM = 64;

/** What busy clients report. */
export interface CrowdFigures {
  errors: string[];
  /** Milliseconds of each request, by operation. */
  times: Record<string, number[]>;
}

const QUERIES = 64;
const queries = unitVectors(QUERIES, DIM, random(4));
const WORDS = ["tion ment", "base disi", "vuwa zeal ter", "nomo pu", "ingos kelihe"];

/** Runs operations in turn until `until`: dense and text searches, adds of one row, pings, ids of one scope. */
export async function work(client: RemoteTelys, seed: number, until: number, figures: CrowdFigures): Promise<void> {
  const next = random(seed);
  const vectors = await client.openCollection(VECTORS);
  const notes = await client.openCollection(NOTES);
  const query = () => {
    const at = Math.floor(next() * QUERIES);
    return queries.subarray(at * DIM, (at + 1) * DIM);
  };
  const operations: [share: number, op: string, run: () => Promise<unknown>][] = [
    [0.3, "ping", () => client.ping()],
    [0.6, "search", () => vectors.search(query(), { topK: 10 })],
    [0.75, "search_text", () => notes.searchText(WORDS[Math.floor(next() * WORDS.length)]!)],
    [0.9, "add", () => vectors.add(query(), { ids: [crypto.randomUUID()] })],
    [1, "ids", () => vectors.ids({ scope: `s${Math.floor(next() * 100)}` })],
  ];
  while (performance.now() < until) {
    const drawn = next();
    const [, op, run] = operations.find(([share]) => drawn < share)!;
    const start = performance.now();
    try {
      await run();
      figures.times[op] ??= [];
      figures.times[op].push(performance.now() - start);
    } catch (error) {
      figures.errors.push(`${op}: ${(error as Error).message}`);
    }
  }
}
