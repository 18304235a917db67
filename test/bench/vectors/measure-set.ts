/** Measures one data set: every contender in a process of its own, in turn, medians of rounds. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { median } from "../measure.ts";
import { coldStarts } from "./cold.ts";
import { COLUMNS, type Filter, TOP } from "./contender.ts";
import { scattered } from "./data.ts";
import type { Figures, QueryCost, SetFigures } from "./figures.ts";
import { packagesOf } from "./install.ts";
import type { Machine } from "./machine.ts";
import { Commands, OURS, Running } from "./process.ts";
import type { Job, Timing, Way } from "./protocol.ts";
import type { DataSet } from "./sets.ts";
import { matching, recall, scanned } from "./truth.ts";

const ROUNDS = 5;
const CURVE_ROUNDS = 3;
/** Milliseconds of queries in a round. */
const BUDGET = 400;
const CURVE_BUDGET = 250;
/** Queries by which approximate and exact answers are judged; an exact peer may take a tenth of a second for each. */
const JUDGED = 1000;
const JUDGED_EXACT = 50;
const VERIFIED = 5;

const FILTERS: Readonly<Record<string, Filter>> = {
  "1": { column: "percent", value: 7 },
  "10": { column: "tenth", value: 3 },
};

interface Entry {
  running: Running;
  figures: Figures;
}

/** @param log is called with what runs */
export async function measureSet(
  set: DataSet,
  peers: readonly string[],
  machine: Machine,
  scratch: string,
  log: (line: string) => void,
): Promise<SetFigures> {
  const files = { dataFile: join(scratch, "data.f32"), queriesFile: join(scratch, "queries.f32") };
  writeFileSync(files.dataFile, set.data);
  writeFileSync(files.queriesFile, set.queries);
  const columns = { percent: scattered(set.rows, COLUMNS.percent), tenth: scattered(set.rows, COLUMNS.tenth) };
  const queryCount = set.queries.length / set.dim;
  const commands = new Commands(scratch);
  const all: Figures[] = [];
  const entries: Entry[] = [];
  const jobs = new Map<string, Job>();

  /** Calls `work` for each contender that still runs; a failure ends that contender only, unless it is ours. */
  const withEach = async (work: (entry: Entry) => Promise<void>) => {
    for (const entry of [...entries]) {
      try {
        await work(entry);
      } catch (error) {
        if (entry.figures.name === OURS) throw error;
        entry.figures.error = (error as Error).message;
        log(`${entry.figures.name}: ${entry.figures.error}`);
        entry.running.kill();
        entries.splice(entries.indexOf(entry), 1);
      }
    }
  };
  /** Medians over rounds in which the contenders take turns. */
  const rounds = async (
    count: number,
    way: (entry: Entry) => Way | undefined,
    budget: number,
    between?: () => void,
  ) => {
    const timings = new Map<Figures, Timing[]>();
    for (let round = 0; round < count; round++) {
      between?.();
      await withEach(async ({ running, figures }) => {
        const asked = way({ running, figures });
        if (!asked || !running.described.ways.includes(asked.kind)) return;
        timings.set(figures, [...(timings.get(figures) ?? []), await running.time(asked, budget)]);
      });
    }
    return (figures: Figures, share: number): QueryCost | undefined => {
      const list = timings.get(figures);
      if (!list) return undefined;
      return { cpu: median(list.map((t) => t.cpu)), wall: median(list.map((t) => t.wall)), recall: share };
    };
  };

  try {
    for (const name of [OURS, ...peers]) {
      const job: Job = {
        name,
        dir: join(scratch, name),
        packages: packagesOf(name),
        rows: set.rows,
        dim: set.dim,
        ...files,
      };
      const figures: Figures = { name, filtered: {}, curve: [] };
      jobs.set(name, job);
      all.push(figures);
      log(`${name}: adding ${set.rows} rows of ${set.dim}`);
      try {
        const { command, env } = await commands.of(name);
        const running = await Running.start(job, command, env);
        entries.push({ running, figures });
        figures.runtime = running.described.runtime;
      } catch (error) {
        if (name === OURS) throw error;
        figures.error = (error as Error).message;
        log(`${name}: ${figures.error}`);
      }
    }
    await withEach(async ({ running, figures }) => {
      figures.ingest = await running.ingest();
      log(`${figures.name}: added in ${figures.ingest.wall.toFixed(1)} s`);
    });

    const own = entries[0]!.running;
    const truth = await own.answers({ kind: "exact" }, queryCount);
    verify(set, truth, () => true, "exact");

    log("exact queries, one at a time and in batches");
    const bandwidths: number[] = [];
    const scans: number[] = [];
    const exact: Way = { kind: "exact" };
    const batch: Way = { kind: "exactBatch", threads: 1 };
    const timed = await rounds(
      ROUNDS,
      () => exact,
      BUDGET,
      () => {
        bandwidths.push(machine.bandwidth());
        scans.push(machine.scan(set.data, set.dim, set.queries.subarray(0, set.dim)));
      },
    );
    const batched = await rounds(ROUNDS, () => batch, BUDGET);
    all[0]!.twoThreads = await twoThreads(own);
    await withEach(async ({ running, figures }) => {
      const { ways } = running.described;
      const count = Math.min(JUDGED_EXACT, queryCount);
      if (ways.includes("exactBatch")) {
        figures.exactBatch = batched(figures, recall(set, truth, await running.answers(batch, count)));
      }
      if (ways.includes("exact"))
        figures.exact = timed(
          figures,
          recall(set, truth, await running.answers(exact, Math.min(JUDGED_EXACT, queryCount))),
        );
    });

    for (const [percent, filter] of Object.entries(FILTERS)) {
      log(`exact queries to ${percent} % of the rows`);
      const way: Way = { kind: "filtered", filter };
      const matches = matching(columns, filter);
      const count = Math.min(JUDGED_EXACT, queryCount);
      const right = await own.answers(way, count);
      verify(set, right, matches, `filtered to ${percent} %`);
      const filteredTimes = await rounds(ROUNDS, () => way, BUDGET);
      await withEach(async ({ running, figures }) => {
        if (!running.described.ways.includes("filtered")) return;
        const share = recall(set, right, await running.answers(way, count), matches);
        figures.filtered[percent] = filteredTimes(figures, share)!;
      });
    }

    await withEach(async ({ running, figures }) => {
      if (!running.described.builds) return;
      log(`${figures.name}: building its index`);
      figures.index = await running.buildIndex();
    });
    log("approximate queries");
    const longest = Math.max(...entries.map(({ running }) => running.described.settings.length));
    for (let at = 0; at < longest; at++) {
      const way = ({ running }: Entry): Way | undefined => {
        const setting = running.described.settings[at];
        return setting === undefined ? undefined : { kind: "approximate", setting };
      };
      const times = await rounds(CURVE_ROUNDS, way, CURVE_BUDGET);
      await withEach(async (entry) => {
        const asked = way(entry);
        if (!asked) return;
        const share = recall(set, truth, await entry.running.answers(asked, Math.min(JUDGED, queryCount)));
        entry.figures.curve.push({ setting: asked.setting!, ...times(entry.figures, share)! });
      });
    }
    await withEach(({ running }) => running.close());
    log("first answers of new processes");
    const spawn = await coldStarts(all, jobs, commands, log);
    const bare = { bandwidth: median(bandwidths), scan: median(scans), isa: machine.isa, spawn };
    return { name: set.name, rows: set.rows, dim: set.dim, bare, contenders: all };
  } finally {
    for (const { running } of entries) running.kill();
  }
}

/** Speed-up of a second thread, by the wall clock. */
async function twoThreads(own: Running): Promise<number> {
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const one = await own.time({ kind: "exactBatch", threads: 1 }, BUDGET);
    const two = await own.time({ kind: "exactBatch", threads: 2 }, BUDGET);
    ratios.push(one.wall / two.wall);
  }
  return median(ratios);
}

/** Our answers are the ground truth, so a plain scan has to agree with them first. */
function verify(set: DataSet, answers: readonly number[][], matches: (row: number) => boolean, what: string): void {
  for (let query = 0; query < Math.min(VERIFIED, answers.length); query++) {
    const truth = [scanned(set, query, TOP, matches)];
    const judged = { ...set, queries: set.queries.subarray(query * set.dim) };
    if (recall(judged, truth, [answers[query]!], matches) < 1) {
      throw new Error(`${set.name}: our ${what} answer to query ${query} differs from a plain scan's`);
    }
  }
}
