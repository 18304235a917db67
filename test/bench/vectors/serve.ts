/** A contender's process: executes commands that come over the IPC channel. Runs under Node.js and Bun. */
import { readFileSync } from "node:fs";
import { cost, resident } from "../cost.ts";
import { type Answers, COLUMNS, type Contender, type Maker, type Queries } from "./contender.ts";
import { scattered } from "./data.ts";
import type { Command, Described, Job, Timing, Way } from "./protocol.ts";

/** Most queries of a batch: enough for engines that gain from batches, few enough to stop in time. */
const BATCH_MAX = 256;

/** Serves the job whose file is the first argument; with `--cold` as the second it runs `cold` instead. */
export async function serve(makers: Record<string, Maker>): Promise<void> {
  const job = JSON.parse(readFileSync(process.argv[2]!, "utf8")) as Job;
  const make = makers[job.name];
  if (!make) throw new Error(`there is no contender ${job.name}`);
  if (process.argv[3] === "--cold") return cold(job, make);
  const task = {
    ...job,
    data: readFloats(job.dataFile),
    columns: { percent: scattered(job.rows, COLUMNS.percent), tenth: scattered(job.rows, COLUMNS.tenth) },
  };
  const contender = await make(task, job.packages);
  const worker = new Worker(contender, readFloats(job.queriesFile), job.dim);
  process.on("message", async (command: Command) => {
    try {
      process.send!({ value: (await worker.carryOut(command)) ?? null });
    } catch (error) {
      process.send!({ error: error instanceof Error ? error.message : String(error) });
    }
    if (command.do === "close") process.exit(0);
  });
  process.send!({ value: "ready" });
}

/** Opens what is saved, runs one query, prints `answer` when its answer is there, then the process's resident bytes. */
async function cold(job: Job, make: Maker): Promise<void> {
  const none = new Uint8Array(0);
  const columns = { percent: none, tenth: none };
  const contender = await make({ ...job, data: new Float32Array(0), columns }, job.packages);
  await contender.open();
  const [first] = await contender.first(readFloats(job.queriesFile).subarray(0, job.dim));
  process.stdout.write(`answer ${first}\n`);
  process.stdout.write(`resident ${resident()}\n`, () => process.exit(0));
}

class Worker {
  private next = 0;

  constructor(
    private readonly contender: Contender,
    private readonly queries: Queries,
    private readonly dim: number,
  ) {}

  async carryOut(command: Command): Promise<unknown> {
    const { contender } = this;
    switch (command.do) {
      case "describe":
        return {
          settings: [...contender.settings],
          ways: (["exact", "exactBatch", "approximate", "filtered"] as const).filter((kind) => contender[kind]),
          builds: contender.buildIndex !== undefined,
          runtime: process.versions.bun ? `Bun ${process.versions.bun}` : `Node.js ${process.version}`,
        } satisfies Described;
      case "ingest":
        return cost(() => contender.ingest());
      case "buildIndex":
        return cost(() => contender.buildIndex!());
      case "answers":
        return [...(await this.ask(command.way, this.queries.subarray(0, command.count * this.dim)))];
      case "time":
        return this.time(command.way, command.budget);
      case "close":
        return contender.close();
    }
  }

  /** Batches grow until one takes an eighth of the budget. */
  private async time(way: Way, budget: number): Promise<Timing> {
    await this.batch(way, 1);
    const most = Math.min(BATCH_MAX, this.queries.length / this.dim);
    let size = 1;
    let asked = 0;
    const cpu = process.cpuUsage();
    const start = performance.now();
    do {
      const begun = performance.now();
      await this.batch(way, size);
      asked += size;
      if (performance.now() - begun < budget / 8) size = Math.min(most, size * 2);
    } while (performance.now() - start < budget);
    const wall = (performance.now() - start) * 1000;
    const { user, system } = process.cpuUsage(cpu);
    return { cpu: (user + system) / asked, wall: wall / asked, queries: asked };
  }

  private batch(way: Way, count: number): Promise<Answers> {
    const total = this.queries.length / this.dim;
    if (this.next + count > total) this.next = 0;
    const from = this.next;
    this.next += count;
    return this.ask(way, this.queries.subarray(from * this.dim, (from + count) * this.dim));
  }

  private ask(way: Way, queries: Queries): Promise<Answers> {
    const { contender } = this;
    if (way.kind === "exact") return contender.exact!(queries);
    if (way.kind === "exactBatch") return contender.exactBatch!(queries, way.threads ?? 1);
    if (way.kind === "approximate") return contender.approximate!(queries, way.setting!);
    return contender.filtered!(queries, way.filter!);
  }
}

function readFloats(path: string): Float32Array {
  const bytes = readFileSync(path);
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2);
}
