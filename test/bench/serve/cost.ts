/** CPU time of the server for a search by an approximate index, beside the same search in process. Linux only. */
import { LocalStore } from "../../../src/api/local-store.ts";
import { connect } from "../../../src/remote/client/client.ts";
import { openBuiltNative } from "../../native.ts";
import { signedInHome } from "../home.ts";
import { type Line, median } from "../measure.ts";
import { cpuOf } from "../processes.ts";
import { clustered } from "../vectors/data.ts";
import { Server, TOKEN } from "./processes.ts";

const ROWS = 100_000;
const BATCH = 5000;
const DIM = 384;
const QUERIES = 1000;
const RECALL = 0.98;
const MORE_MS = 0.15;

/**
 * How one client asks, one search after the other: `count` of them are measured together, `turns` times after `warm`
 * turns, each followed by `pauseMs`. After a pause caches hold other programs' data.
 */
const WAYS = {
  "the first 300 of the process": { count: 300, turns: 1, warm: 0, pauseMs: 0 },
  "one after the other": { count: 100, turns: 25, warm: 10, pauseMs: 0 },
  "one every 5 ms": { count: 50, turns: 10, warm: 2, pauseMs: 5 },
} as const;
type Way = keyof typeof WAYS;

/** Who is asked, and which process it costs. */
interface Searcher {
  pid: number;
  search(vector: Float32Array): Promise<unknown>;
  ping?(): Promise<unknown>;
}

/** In process, over a Unix socket and over TCP in turn. */
export async function benchCost(): Promise<Line[]> {
  if (process.platform !== "linux") return [];
  using home = signedInHome();
  const { data, queries } = clustered({ rows: ROWS, dim: DIM, clusters: 1000, spread: 0.7, seed: DIM }, QUERIES);
  await using local = new LocalStore(home.env.SVC_MEMORY_PATH!, await openBuiltNative(), "bench");
  const rows = await local.createCollection("bench", { dim: DIM });
  for (let at = 0; at < ROWS; at += BATCH) await rows.add(data.subarray(at * DIM, (at + BATCH) * DIM));
  await rows.buildIvf({ minRows: BATCH, targetRecall: RECALL });
  await using unix = await Server.start(home, "unix");
  await using tcp = await Server.start(home, "tcp");
  await using clients = new AsyncDisposableStack();
  const all: Searcher[] = [{ pid: process.pid, search: (vector) => rows.search(vector, { topK: 10 }) }];
  for (const { address, pid } of [unix, tcp]) {
    const client = clients.use(await connect(address, { token: TOKEN }));
    const there = await client.openCollection("bench");
    all.push({ pid, search: (vector) => there.search(vector, { topK: 10 }), ping: () => client.ping() });
  }
  const lines: Line[] = [];
  for (const way of Object.keys(WAYS) as Way[]) {
    const [own, ...others] = await measure(all, way, queries);
    for (const [i, { search, ping }] of others.entries()) {
      lines.push(lineOf(`${["Unix socket", "TCP"][i]}, ${way}`, search, own!.search, ping));
    }
  }
  return lines;
}

/** CPU milliseconds of a search and of a ping for each that is asked; they take turns. */
async function measure(all: readonly Searcher[], way: Way, queries: Float32Array) {
  const { count, turns, warm, pauseMs } = WAYS[way];
  const times = all.map(() => ({ search: [] as number[], ping: [] as number[] }));
  let next = 0;
  const each = async (pid: number, call: () => Promise<unknown>) => {
    let cpu = 0;
    for (let i = 0; i < count; i++) {
      const before = cpuOf(pid);
      await call();
      // Not the pause: in process it is the client's too.
      if (pid === process.pid) cpu += cpuOf(pid) - before;
      if (pauseMs > 0) await Bun.sleep(pauseMs);
      if (pid !== process.pid) cpu += cpuOf(pid) - before;
    }
    return cpu / count;
  };
  for (let turn = 0; turn < warm + turns; turn++) {
    for (const [i, { pid, search, ping }] of all.entries()) {
      const query = () => {
        const at = (next++ % QUERIES) * DIM;
        return queries.subarray(at, at + DIM);
      };
      times[i]!.search.push(await each(pid, () => search(query())));
      if (ping && turn >= warm) times[i]!.ping.push(await each(pid, ping));
    }
  }
  return times.map(({ search, ping }) => ({ search: median(search.slice(warm)), ping: median(ping) }));
}

function lineOf(how: string, cpu: number, own: number, ping: number): Line {
  const figures = `${cpu.toFixed(3)} less ${own.toFixed(3)} ms; a ping ${ping.toFixed(3)}`;
  return {
    what: `CPU of the server for a search of ${ROWS} x ${DIM} by IVF, ${how}, less that in process (${figures})`,
    value: cpu - own,
    unit: "ms",
    against: "the same in process",
    ratio: cpu / own,
    goal: `at most ${MORE_MS} more`,
    met: cpu - own <= MORE_MS,
  };
}
