/** Work in a process of its own, so that its CPU time and memory are measured alone. */

/** Milliseconds until a process counts as hung. */
const PATIENCE = 3_600_000;

/** What a process is given as its argument. */
export interface Job {
  /** One of its `Work`s. */
  work: string;
  /** Its own folder. */
  dir: string;
  /** A file of texts: see stored.ts. */
  passages: string;
  /** A JSON file of queries by kind. */
  queries: string;
  /** Milliseconds for the queries of one kind: see ask.ts. */
  budget: number;
  /** The folder with a peer's `node_modules`. */
  packages: string;
}

/** What a process of ours is given beside that. */
export interface OwnJob extends Job {
  /** Files of texts. */
  english: string;
  chunks: string;
  /** A folder of code, and its lines. */
  code: string;
  codeLines: number;
}

/** What a process can do; the answer is printed as JSON. */
export type Works<J extends Job = Job> = Readonly<Record<string, (job: J) => Promise<unknown>>>;

/** Does what the argument says and prints the answer. */
export async function carryOut<J extends Job>(works: Works<J>): Promise<void> {
  const job = JSON.parse(process.argv[2]!) as J;
  const answer = await works[job.work]!(job);
  process.stdout.write(JSON.stringify(answer ?? null), () => process.exit(0));
}

/** Runs a job in a new process. @throws Error with the last output of the process */
export async function inProcess<T>(command: readonly string[], job: Job, env: Record<string, string> = {}): Promise<T> {
  const child = Bun.spawn([...command, JSON.stringify(job)], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: PATIENCE,
  });
  const [out, said] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const code = await child.exited;
  if (code === 0) return JSON.parse(out) as T;
  const last = said.trim().split("\n").slice(-3).join(" ");
  throw new Error(`${job.work} ended with ${child.signalCode ?? `status ${code}`}${last ? `: ${last}` : ""}`);
}
