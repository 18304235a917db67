/**
 * Processes that write to one collection at the same time: how long the unlucky ones wait. Each is an `svc mcp` whose
 * client upserts one text after the other.
 */
import { call, connect, signedInHome } from "./home.ts";
import { type Line, quantile } from "./measure.ts";
import { makeTexts } from "./texts.ts";

const ROWS = 5000;
const ROWS_A_CALL = 1000;
const SECONDS = 12;
const WRITERS = [16, 64] as const;

/** Upserts of 16 and of 64 processes: p99 beside p50. */
export async function benchWriters(): Promise<Line[]> {
  const lines: Line[] = [];
  for (const writers of WRITERS) lines.push(await measure(writers));
  return lines;
}

async function measure(writers: number): Promise<Line> {
  using home = signedInHome();
  const clients = [await connect(home)];
  try {
    const texts = makeTexts(ROWS, 40, 2);
    const ids = texts.map((_, i) => `r${i}`);
    for (let at = 0; at < ROWS; at += ROWS_A_CALL) {
      const [some, names] = [texts, ids].map((all) => all.slice(at, at + ROWS_A_CALL));
      await call(clients[0]!, "svc_upsert", { collection: "notes", texts: some, ids: names });
    }
    while (clients.length < writers) clients.push(await connect(home));
    // The first call of a process maps the runtime.
    await Promise.all(clients.map((client) => call(client, "svc_count", { collection: "notes" })));
    const ms: number[] = [];
    const until = performance.now() + SECONDS * 1000;
    const write = async (client: (typeof clients)[number], writer: number) => {
      for (let i = 0; performance.now() < until; i++) {
        const at = (writer * 7919 + i) % ROWS;
        const start = performance.now();
        await call(client, "svc_upsert", { collection: "notes", texts: [`${texts[at]} ${i}`], ids: [ids[at]] });
        ms.push(performance.now() - start);
      }
    };
    await Promise.all(clients.map(write));
    const [p50, p99] = [quantile(ms, 0.5), quantile(ms, 0.99)];
    return {
      what: `p99 of an upsert, ${writers} processes that write to one collection (${ms.length} upserts in ${SECONDS} s)`,
      value: p99,
      unit: "ms",
      against: `its p50 (${p50.toFixed(1)} ms)`,
      ratio: p99 / p50,
      goal: "at most 10",
      met: p99 / p50 <= 10,
    };
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}
