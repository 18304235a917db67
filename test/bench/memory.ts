/** Adding and searching 10,000 texts over MCP, measured at the client. */
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { call, connectWithPid, signedInHome } from "./home.ts";
import { type Line, median, quantile, timed } from "./measure.ts";
import { makeTexts } from "./texts.ts";

const TEXTS = 10_000;
const BATCH = 100;
const QUERIES = 300;
/** Dimension of the default embedder. */
const DIM = 1024;

/** Adds in calls of 100, each durable when it returns, then searches. */
export async function benchMemory(): Promise<Line[]> {
  using home = signedInHome();
  const texts = makeTexts(TEXTS, 200, 7);
  await using server = await connectWithPid(home);
  const { client } = server;
  // The first call opens the runtime, which the start-up benchmark measures.
  await call(client, "svc_list_collections", {});
  const batches: number[] = [];
  for (let at = 0; at < TEXTS; at += BATCH) {
    const part = { collection: "bench", texts: texts.slice(at, at + BATCH) };
    batches.push(await timed(() => call(client, "svc_add", part)));
  }
  const seconds = batches.reduce((sum, ms) => sum + ms, 0) / 1000;
  const rate = TEXTS / seconds;
  const queries = makeTexts(QUERIES, 8, 11);
  const before = await ask(client, queries);
  await call(client, "svc_compact", { collection: "bench" });
  const after = await ask(client, queries);
  const pings = await repeat(QUERIES, () => client.ping());
  const appends = bareAppends(home.dir, 50);
  return [
    {
      what: `svc_add of ${TEXTS} texts in calls of ${BATCH} (p50 ${median(batches).toFixed(1)} ms a call)`,
      value: rate,
      unit: "texts/s",
      against: `a bare append of a call's vectors with fdatasync (${median(appends).toFixed(2)} ms)`,
      ratio: median(batches) / median(appends),
      goal: "at least 2000",
      met: rate >= 2000,
    },
    searchLine("svc_search, rows as they were added", before, pings),
    searchLine("svc_search, compacted", after, pings),
  ];
}

async function repeat(count: number, work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) times.push(await timed(work));
  return times;
}

/** The disk's share of a durable call: its vectors' bytes appended and synced, and nothing else. */
function bareAppends(dir: string, count: number): number[] {
  const bytes = new Uint8Array(BATCH * DIM * 4);
  const fd = openSync(join(dir, "append"), "w");
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    writeSync(fd, bytes);
    fdatasyncSync(fd);
    times.push(performance.now() - start);
  }
  closeSync(fd);
  return times;
}

async function ask(client: Parameters<typeof call>[0], queries: string[]): Promise<number[]> {
  const times: number[] = [];
  for (const query of queries)
    times.push(await timed(() => call(client, "svc_search", { collection: "bench", query })));
  return times.slice(20);
}

function searchLine(what: string, times: number[], pings: number[]): Line {
  const p50 = median(times);
  const p95 = quantile(times, 0.95).toFixed(2);
  const against = `a ping over the same pipe (${median(pings).toFixed(2)} ms)`;
  const ratio = p50 / median(pings);
  return {
    what: `${what}, p50 (p95 ${p95} ms)`,
    value: p50,
    unit: "ms",
    against,
    ratio,
    goal: "p50 below 2",
    met: p50 < 2,
  };
}
