/** `npm run bench -- words`: questions in words, over MCP and in process, beside peers' search by words. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchFolder, signedInHome } from "../home.ts";
import type { Line } from "../measure.ts";
import { inProcess, type Job } from "../text/job.ts";
import { peerRunner } from "../text/peer.ts";
import { publish } from "../text/publish.ts";
import { bytesBelow, lexicalBytes } from "../text/sizes.ts";
import { writeTexts } from "../text/stored.ts";
import { Machine } from "../vectors/machine.ts";
import type { Figures, Peer } from "./figures.ts";
import { askTools, memoryOfServer } from "./mcp.ts";
import type { WordsOptions } from "./options.ts";
import { COLLECTION } from "./ours.ts";
import { gather, kindOf, LENGTHS } from "./passages.ts";
import { figureLines, lines, table } from "./table.ts";

/** Milliseconds of a process for the questions of a kind, after a first round of them. */
const BUDGET = 1000;
/** Words of the questions that memory is measured with, at most. */
const USUAL = 20;
/** Longer questions that peers are asked, at most: one of 150 words takes FTS5 0.7 s over 20,000 passages. */
const LONG = 10;

const log = (line: string) => console.error(`  ${line}`);

/** Measures ours and the peers. A peer that is not available is noted in the output and skipped. */
export async function benchWords(options: WordsOptions): Promise<Line[]> {
  if (process.platform !== "linux") throw new Error("words measures other processes as only Linux lets it");
  const notes: string[] = [];
  using home = signedInHome();
  using temporary = scratchFolder();
  const scratch = temporary.path;
  log("gathering passages");
  const { passages, real, questions } = gather(options.passages, options.questions, options.sets);
  if (real < passages.length) notes.push(`${passages.length - real} of the passages are recombined of the others`);
  const job: Job = {
    work: "",
    dir: home.env.SVC_MEMORY_PATH!,
    passages: join(scratch, "passages"),
    queries: join(scratch, "questions.json"),
    budget: BUDGET,
    packages: "",
  };
  const { count, bytes } = writeTexts(job.passages, passages);
  writeFileSync(job.queries, JSON.stringify(questions));
  const child = [process.execPath, join(import.meta.dir, "child-ours.ts")];
  log("svc: ingest");
  await inProcess(child, { ...job, work: "ingest" });
  const folder = join(job.dir, COLLECTION);
  log("svc: over MCP");
  const usual = LENGTHS.filter((words) => words <= USUAL).map(kindOf);
  const memory = await memoryOfServer(home, questions, usual);
  const overMcp = await askTools(home, questions);
  log("svc: in process");
  const figures: Figures = {
    passages: count,
    real,
    bytes,
    disk: { all: bytesBelow(folder), index: lexicalBytes(folder) },
    bandwidth: (await Machine.open()).bandwidth(),
    ...overMcp,
    inProcess: await inProcess(child, { ...job, work: "ask" }),
    memory,
    peers: [],
  };
  const peersJob = { ...job, queries: join(scratch, "peers.json") };
  for (const kind of LENGTHS.filter((words) => words > USUAL).map(kindOf)) questions[kind]!.length = LONG;
  writeFileSync(peersJob.queries, JSON.stringify(questions));
  for (const name of options.peers) {
    try {
      figures.peers.push(await measurePeer(name, peersJob, scratch));
    } catch (error) {
      notes.push(`${name} is left out: ${(error as Error).message}`);
    }
  }
  const judged = lines(figures);
  publish(options.json, table(figures), figures, { notes, lines: judged });
  return options.isJson ? [...figureLines(figures), ...judged] : judged;
}

/** @throws Error with a sentence where the peer is not available */
async function measurePeer(name: string, ours: Job, scratch: string): Promise<Peer> {
  const run = await peerRunner(name, ours, scratch, log);
  const { ingest, disk } = await run<Pick<Peer, "ingest" | "disk">>("ingest");
  return { name, ingest, disk, asked: await run("ask") };
}
