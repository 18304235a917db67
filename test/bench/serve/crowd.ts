/** A thousand connections of which 64 are busy: memory of an idle one, and fairness between busy ones. */

import { connect } from "../../../src/remote/client/client.ts";
import { random, unitVectors } from "../../random.ts";
import { signedInHome } from "../home.ts";
import { type Line, quantile } from "../measure.ts";
import { makeTexts } from "../texts.ts";
import { type CrowdFigures, DIM, NOTES, ROWS, VECTORS } from "./crowd-work.ts";
import { Script, Server, TOKEN } from "./processes.ts";

const CONNECTIONS = 1000;
const BUSY = 64;
const BUSY_S = 8;
const SETTLE_MS = 2500;
const IDLE_KIB_MAX = 64;

/** One server, one other process with all the clients. */
export async function benchCrowd(): Promise<Line[]> {
  using home = signedInHome();
  await using server = await Server.start(home, "tcp");
  await using crowd = new Script<CrowdFigures>("crowd-client.ts", server.address, String(BUSY), String(BUSY_S));
  await using client = await connect(server.address, { token: TOKEN });
  await fill(client);
  await Bun.sleep(SETTLE_MS);
  const before = server.rssKiB();
  crowd.tell({ open: CONNECTIONS - BUSY });
  await crowd.next();
  await Bun.sleep(SETTLE_MS);
  const each = (server.rssKiB() - before) / (CONNECTIONS - BUSY);
  crowd.tell({ busy: BUSY });
  const { errors, times } = await crowd.next();
  const { open } = (await client.stats()).connections as { open: number };
  const all = Object.values(times).flat().length;
  return [
    {
      what: `memory of an idle connection (mean of ${CONNECTIONS - BUSY}, each pinged once)`,
      value: each,
      unit: "KiB",
      goal: `below ${IDLE_KIB_MAX}`,
      met: each < IDLE_KIB_MAX,
    },
    {
      what: `errors in ${all} requests of ${BUSY} busy connections, ${open - BUSY - 1} idle: ${errors[0] ?? "-"}`,
      value: errors.length,
      unit: "errors",
      goal: "none, and no connection dropped",
      met: errors.length === 0 && open === CONNECTIONS + 1,
    },
    ...Object.entries(times).map(([op, ms]) => opLine(op, ms, all)),
  ];
}

async function fill(client: Awaited<ReturnType<typeof connect>>): Promise<void> {
  const vectors = await client.createCollection(VECTORS, { dim: DIM });
  const metadata = Array.from({ length: ROWS }, (_, i) => ({ scope: `s${i % 100}` }));
  await vectors.add(unitVectors(ROWS, DIM, random(1)), { metadata });
  const notes = await client.createCollection(NOTES, { embedder: "multigram" });
  const texts = makeTexts(500, 40, 2);
  for (let at = 0; at < texts.length; at += 100) await notes.addTexts(texts.slice(at, at + 100));
  await vectors.save();
  await notes.save();
}

function opLine(op: string, ms: number[], all: number): Line {
  const [p50, p99] = [quantile(ms, 0.5), quantile(ms, 0.99)];
  return {
    what: `p99 of ${op}, ${BUSY} busy of ${CONNECTIONS} connections (${ms.length} of ${all} requests in ${BUSY_S} s)`,
    value: p99,
    unit: "ms",
    against: `its p50 (${p50.toFixed(2)} ms)`,
    ratio: p99 / p50,
    goal: "below 10",
    met: p99 / p50 < 10,
  };
}
