/** Adding and searching 10,000 texts over MCP, measured at the client. */
import { call, connect, signedInHome } from "./home.ts";
import { type Line, median, quantile, timed } from "./measure.ts";
import { makeTexts } from "./texts.ts";

const TEXTS = 10_000;
const BATCH = 100;
const QUESTIONS = 300;

/** Adds in calls of 100, each durable when it returns, then asks. */
export async function benchMemory(): Promise<Line[]> {
  const home = signedInHome();
  const texts = makeTexts(TEXTS, 200, 7);
  const client = await connect(home);
  try {
    // The first call opens the runtime; that is the start-up benchmark's business.
    await call(client, "svc_list_collections", {});
    const batches: number[] = [];
    for (let at = 0; at < TEXTS; at += BATCH) {
      const part = { collection: "bench", texts: texts.slice(at, at + BATCH) };
      batches.push(await timed(() => call(client, "svc_add", part)));
    }
    const seconds = batches.reduce((sum, ms) => sum + ms, 0) / 1000;
    const rate = TEXTS / seconds;
    const questions = makeTexts(QUESTIONS, 8, 11);
    const before = await ask(client, questions);
    await call(client, "svc_compact", { collection: "bench" });
    const after = await ask(client, questions);
    return [
      {
        what: `svc_add of ${TEXTS} texts in calls of ${BATCH} (p50 ${median(batches).toFixed(1)} ms a call)`,
        value: rate,
        unit: "texts/s",
        goal: "at least 2000",
        met: rate >= 2000,
      },
      searchLine("svc_search, rows as they were added", before),
      searchLine("svc_search, compacted", after),
    ];
  } finally {
    await client.close();
    home.dispose();
  }
}

async function ask(client: Parameters<typeof call>[0], questions: string[]): Promise<number[]> {
  const times: number[] = [];
  for (const query of questions)
    times.push(await timed(() => call(client, "svc_search", { collection: "bench", query })));
  return times.slice(20);
}

function searchLine(what: string, times: number[]): Line {
  const p50 = median(times);
  const p95 = quantile(times, 0.95).toFixed(2);
  return { what: `${what}, p50 (p95 ${p95} ms)`, value: p50, unit: "ms", goal: "p50 below 2", met: p50 < 2 };
}
