/** What is compared: one small interface that this project's engine and each peer stand behind. */

/** The name of our collection. */
export const COLLECTION = "bench";

/** Answers a question asks for. */
export const TOP = 10;

/** Filter columns: values below 100 and below 10, scattered over the rows, so that one value matches 1 % and 10 % of them. */
export const COLUMNS = { percent: 100, tenth: 10 } as const;

/** Rows where a column has a value. */
export interface Filter {
  column: keyof typeof COLUMNS;
  value: number;
}

/** One data set as a contender gets it. Rows are their positions. */
export interface Task {
  /** The contender's own folder. */
  dir: string;
  rows: number;
  dim: number;
  data: Float32Array;
  columns: Record<keyof typeof COLUMNS, Uint8Array>;
}

/** Row numbers of the answers, `TOP` a question, best first; -1 where there are fewer. */
export type Answers = Int32Array;

/** Questions side by side, each of the data's dimension. */
export type Questions = Float32Array;

/** One engine. What it cannot do it leaves out. */
export interface Contender {
  /** What `approximate` is asked with, one point of a curve each. */
  readonly settings: readonly number[];
  /** Adds all rows and saves them. */
  ingest(): Promise<void>;
  /** Builds the approximate index and saves it; left out where `ingest` makes it. */
  buildIndex?(): Promise<void>;
  /** One question at a time, as in `approximate` and `filtered`. */
  exact?(questions: Questions): Promise<Answers>;
  /** All in one call, where the contender has such a call. */
  exactBatch?(questions: Questions, threads: number): Promise<Answers>;
  approximate?(questions: Questions, setting: number): Promise<Answers>;
  filtered?(questions: Questions, filter: Filter): Promise<Answers>;
  /** Opens what was saved; called in a new process, without the data. */
  open(): Promise<void>;
  /** The first question to what was opened: as most programs would ask it. */
  first(question: Questions): Promise<Answers>;
  close(): Promise<void>;
}

/** Makes a contender. `packages` is the folder with its `node_modules`, unused by our own. */
export type Maker = (task: Task, packages: string) => Promise<Contender>;

/** Asks one question after another. */
export async function each(
  questions: Questions,
  dim: number,
  ask: (question: Float32Array) => ArrayLike<number> | Promise<ArrayLike<number>>,
): Promise<Answers> {
  const count = questions.length / dim;
  const out = new Int32Array(count * TOP).fill(-1);
  for (let i = 0; i < count; i++) {
    const answered = ask(questions.subarray(i * dim, (i + 1) * dim));
    // No turn of the event loop for what answers at once: it would be timed too.
    const ids = answered instanceof Promise ? await answered : answered;
    for (let k = 0; k < Math.min(TOP, ids.length); k++) out[i * TOP + k] = Number(ids[k]);
  }
  return out;
}
