/** `npm run bench -- text`: texts embedded, indexed and searched by words, beside peers. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Cost } from "../cost.ts";
import { scratchFolder } from "../home.ts";
import { type Line, median } from "../measure.ts";
import { writeCode } from "./code.ts";
import type { Engine, Figures, Own } from "./figures.ts";
import { goals } from "./goals.ts";
import { inProcess, type Job, type OwnJob } from "./job.ts";
import { isEnglish, machinePassages } from "./machine-text.ts";
import type { TextOptions } from "./options.ts";
import { COLLECTION, INDEXED } from "./ours.ts";
import { peerRunner } from "./peer.ts";
import { publish } from "./publish.ts";
import { queriesAbout } from "./queries.ts";
import { bytesBelow, lexicalBytes } from "./sizes.ts";
import { writeTexts } from "./stored.ts";
import { figureLines, table } from "./table.ts";

/** Builds of the index, and compactions without one; the middle one counts. */
const RUNS = 3;
/** English passages that are embedded, at most: 26 MB. */
const ENGLISH = 20_000;
const CHUNKS = 5000;
/** Milliseconds of a process for the queries of a kind. */
const BUDGET = 10_000;

const log = (line: string) => console.error(`  ${line}`);

/** Measures ours and the peers. A peer that is not available is noted in the output and skipped. */
export async function benchText(options: TextOptions): Promise<Line[]> {
  const notes: string[] = [];
  using folder = scratchFolder();
  const scratch = folder.path;
  log("gathering text of this machine");
  const { job, count, bytes } = gather(options.passages, scratch);
  if (count < options.passages) notes.push(`this machine has text for ${count} passages only, not ${options.passages}`);
  const own = await measureOwn(job);
  const peers: Engine[] = [];
  for (const name of options.peers) {
    try {
      peers.push(await measurePeer(name, job, scratch));
    } catch (error) {
      notes.push(`${name} is left out: ${(error as Error).message}`);
    }
  }
  const figures: Figures = { passages: count, bytes, own, peers };
  const lines = goals(figures);
  publish(options.json, table(figures), figures, { notes, lines });
  return options.isJson ? [...figureLines(figures), ...lines] : lines;
}

/** Everything that the processes read, in files. */
function gather(most: number, scratch: string): { job: OwnJob; count: number; bytes: number } {
  const file = (name: string) => join(scratch, name);
  const passages = [...machinePassages(most)];
  const { count, bytes } = writeTexts(file("passages"), passages);
  writeTexts(file("english"), passages.filter(isEnglish).slice(0, ENGLISH));
  writeFileSync(file("queries.json"), JSON.stringify(queriesAbout(passages)));
  const code = writeCode(file("code"), CHUNKS);
  writeTexts(file("chunks"), code.chunks);
  const job: OwnJob = {
    work: "",
    dir: file("ours"),
    passages: file("passages"),
    english: file("english"),
    chunks: file("chunks"),
    queries: file("queries.json"),
    code: file("code"),
    codeLines: code.lines,
    budget: BUDGET,
    packages: "",
  };
  mkdirSync(job.dir);
  return { job, count, bytes };
}

async function measureOwn(job: OwnJob): Promise<Own> {
  const command = [process.execPath, join(import.meta.dir, "child-ours.ts")];
  const run = <T>(work: string): Promise<T> => {
    log(`svc: ${work}`);
    return inProcess<T>(command, { ...job, work });
  };
  const repeated = async (work: string) => {
    const costs: Cost[] = [];
    for (let i = 0; i < RUNS; i++) costs.push(await run<Cost>(work));
    return middle(costs);
  };
  const ingest = await run<Cost>("ingest");
  await run("ingestPlain");
  const build = await repeated("build");
  const compact = await repeated("compact");
  const folder = join(job.dir, INDEXED, COLLECTION);
  const index = lexicalBytes(folder);
  const disk = bytesBelow(folder);
  return {
    name: "svc",
    ingest,
    build,
    compact,
    disk,
    index,
    asked: await run("ask"),
    adds: await run("adds"),
    embedding: await run("embedding"),
    rows: await run("rowBytes"),
  };
}

/** @throws Error with a sentence where the peer is not available */
async function measurePeer(name: string, ours: Job, scratch: string): Promise<Engine> {
  const run = await peerRunner(name, ours, scratch, log);
  const put = await run<Pick<Engine, "ingest" | "build" | "disk" | "index">>("ingest");
  return { name, ...put, asked: await run("ask") };
}

function middle(costs: readonly Cost[]): Cost {
  const of = (key: keyof Cost) => median(costs.map((one) => one[key]));
  return { cpu: of("cpu"), wall: of("wall"), memory: of("memory") };
}
