/** What is compared: one small interface that this project's engine and each peer implement. */

/** The name of our collection. */
export const COLLECTION = "bench";

/** Top k of each query. */
export const TOP = 10;

/** Filter columns: values below 100 and below 10 at random, so that one value matches 1 % and 10 % of the rows. */
export const COLUMNS = { percent: 100, tenth: 10 } as const;

/** Rows where a column has a value. */
export interface Filter {
  column: keyof typeof COLUMNS;
  value: number;
}

/** One data set as a contender gets it. A row's id is its position. */
export interface Task {
  /** Folder of this contender. */
  dir: string;
  rows: number;
  dim: number;
  data: Float32Array;
  columns: Record<keyof typeof COLUMNS, Uint8Array>;
}

/** Row numbers of the answers, `TOP` a query, best first; -1 where there are fewer. */
export type Answers = Int32Array;

/** Queries side by side, each of the data's dimension. */
export type Queries = Float32Array;

/** One engine. What it cannot do it leaves out. */
export interface Contender {
  /** Settings of `approximate`, one point of a curve each. */
  readonly settings: readonly number[];
  /** Adds all rows and saves them. */
  ingest(): Promise<void>;
  /** Builds the approximate index and saves it; left out where `ingest` makes it. */
  buildIndex?(): Promise<void>;
  /** One query at a time, as in `approximate` and `filtered`. */
  exact?(queries: Queries): Promise<Answers>;
  /** All in one call, where the contender has such a call. */
  exactBatch?(queries: Queries, threads: number): Promise<Answers>;
  approximate?(queries: Queries, setting: number): Promise<Answers>;
  filtered?(queries: Queries, filter: Filter): Promise<Answers>;
  /** Opens what was saved; called in a new process, without the data. */
  open(): Promise<void>;
  /** The first query after `open`, as most programs would run it. */
  first(query: Queries): Promise<Answers>;
  close(): Promise<void>;
}

/** Makes a contender. `packages` is the folder with its `node_modules`, unused by our own. */
export type Maker = (task: Task, packages: string) => Promise<Contender>;

/** Runs one query after another. */
export async function each(
  queries: Queries,
  dim: number,
  ask: (query: Float32Array) => ArrayLike<number> | Promise<ArrayLike<number>>,
): Promise<Answers> {
  const count = queries.length / dim;
  const out = new Int32Array(count * TOP).fill(-1);
  for (let i = 0; i < count; i++) {
    const answered = ask(queries.subarray(i * dim, (i + 1) * dim));
    // A synchronous answer is not awaited: the turn of the event loop would be timed too.
    const ids = answered instanceof Promise ? await answered : answered;
    for (let k = 0; k < Math.min(TOP, ids.length); k++) out[i * TOP + k] = Number(ids[k]);
  }
  return out;
}
