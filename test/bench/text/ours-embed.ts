/** The default embedder alone. */
import { readFileSync } from "node:fs";
import { MultigramEmbedder } from "../../../src/texts/kernel.ts";
import { openBuiltNative } from "../../native.ts";
import { secondsSince } from "../cost.ts";
import { median } from "../measure.ts";
import type { OwnJob } from "./job.ts";
import type { Queries } from "./queries.ts";
import { textsOf } from "./stored.ts";

/** Bytes and lines are those of the texts, seconds those of the CPU. */
export interface Embedding {
  /** English text, bytes a second. */
  rate: number;
  bytes: number;
  /** A query of six words, in seconds. */
  query: number;
  /** Lines of code a minute. */
  lines: number;
}

const RUNS = 5;
/** Texts of a call, few enough that their vectors stay small. */
const CALL = 500;
const QUERY_ROUNDS = 10;

export async function embedding(job: OwnJob): Promise<Embedding> {
  const embedder = new MultigramEmbedder((await openBuiltNative()).kernel);
  const seconds = (calls: string[][]) =>
    medianSeconds(async () => {
      for (const texts of calls) await embedder.embedDocuments(texts);
    });
  const english = [...textsOf(job.english, CALL)];
  const bytes = english.flat().reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const queries = (JSON.parse(readFileSync(job.queries, "utf8")) as Queries)["6 words"];
  const asked = await medianSeconds(async () => {
    for (let round = 0; round < QUERY_ROUNDS; round++) {
      for (const query of queries) await embedder.embedQueries([query]);
    }
  });
  return {
    rate: bytes / (await seconds(english)),
    bytes,
    query: asked / queries.length / QUERY_ROUNDS,
    lines: (job.codeLines / (await seconds([...textsOf(job.chunks, CALL)]))) * 60,
  };
}

/** CPU seconds, after one run that is not counted. */
async function medianSeconds(work: () => Promise<void>): Promise<number> {
  await work();
  const times: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    const before = process.cpuUsage();
    await work();
    times.push(secondsSince(before));
  }
  return median(times);
}
