/** A search over the socket beside the same search in process: the same rows, read from the same files. */

import { LocalStore } from "../../../src/api/local-store.ts";
import { connect } from "../../../src/remote/client/client.ts";
import { openBuiltNative } from "../../native.ts";
import { random, unitVectors } from "../../random.ts";
import { signedInHome } from "../home.ts";
import { type Line, median, quantile, timed } from "../measure.ts";
import { Server, TOKEN } from "./processes.ts";

const ROWS = 100_000;
const BATCH = 5000;
const DIM = 384;
const QUERIES = 300;
const WARM = 30;
/** The bound of `svc serve`: larger scans run on a worker. */
const INLINE_SCAN_BYTES = 1024 * 1024;

/** Fills a collection over the socket, then searches in process and over the socket in turn. */
export async function benchSearch(): Promise<Line[]> {
  using home = signedInHome();
  await using server = await Server.start(home, "unix");
  await using local = new LocalStore(home.env.SVC_MEMORY_PATH!, await openBuiltNative(), "bench", INLINE_SCAN_BYTES);
  await using client = await connect(server.address, { token: TOKEN });
  const there = await client.createCollection("bench", { dim: DIM });
  const rows = unitVectors(ROWS, DIM, random(3));
  for (let at = 0; at < ROWS; at += BATCH) await there.add(rows.subarray(at * DIM, (at + BATCH) * DIM));
  await there.save();
  const here = local.collection("bench");
  const queries = unitVectors(QUERIES, DIM, random(5));
  const [remote, inProcess]: [number[], number[]] = [[], []];
  for (let i = 0; i < QUERIES; i++) {
    const query = queries.subarray(i * DIM, (i + 1) * DIM);
    const pair = [
      async () => inProcess.push(await timed(() => here.search(query, { topK: 10 }))),
      async () => remote.push(await timed(() => there.search(query, { topK: 10 }))),
    ];
    for (const ask of i % 2 === 0 ? pair : pair.reverse()) await ask();
  }
  const [ours, theirs] = [median(remote.slice(WARM)), median(inProcess.slice(WARM))];
  const p95 = [remote, inProcess].map((times) => quantile(times.slice(WARM), 0.95).toFixed(2));
  const ratio = ours / theirs;
  const { ops } = (await client.stats()) as unknown as { ops: Record<string, { p50_ms: number }> };
  const inServer = ops.search!.p50_ms.toFixed(2);
  return [
    {
      what: `search of ${ROWS} x ${DIM}, k = 10, Unix socket, p50 (p95 ${p95[0]} ms, in the server ${inServer} ms)`,
      value: ours,
      unit: "ms",
      against: `the same in process (${theirs.toFixed(2)} ms, p95 ${p95[1]} ms)`,
      ratio,
      goal: "at most 1.15",
      met: ratio <= 1.15,
    },
  ];
}
