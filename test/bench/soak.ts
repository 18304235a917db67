/**
 * The soak: five minutes (SVC_BENCH_SOAK_S) of mixed work by clients that are killed about once a second. The server's
 * memory must not grow, as its rows do not, and no acknowledged save may be lost, also after a crash of the server.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { connect, type RemoteTelys } from "../../src/remote/client/client.ts";
import { random, unitVectors } from "../random.ts";
import { type Home, signedInHome } from "./home.ts";
import { first, type Line, noneOf } from "./measure.ts";
import { Script, Server } from "./serve/processes.ts";
import { lostRows, readJournal, SOAK, type SoakCollection } from "./serve/soak-journal.ts";

const SECONDS = Number(process.env.SVC_BENCH_SOAK_S ?? 300);
const CLIENTS = 4;
const KILL_EVERY_MS = 1000;
const SAMPLE_MS = 500;

/** Runs it and checks what is stored. */
export async function benchSoak(): Promise<Line[]> {
  const home = signedInHome();
  await using ends = new AsyncDisposableStack();
  ends.defer(() => keepOrDispose(home));
  let server = ends.use(await Server.start(home, "unix"));
  const journals = Array.from({ length: CLIENTS }, (_, i) => join(home.dir, `journal-${i}`));
  const start = (i: number) => new Script("soak-client.ts", server.address, String(i), journals[i]!);
  await create(server);
  const clients = journals.map((_, i) => start(i));
  const next = random(23);
  const samples: number[] = [];
  const watch = setInterval(() => samples.push(server.rssKiB()), SAMPLE_MS);
  let kills = 0;
  for (const end = performance.now() + SECONDS * 1000; performance.now() < end; kills++) {
    await Bun.sleep(KILL_EVERY_MS * (0.5 + next()));
    const i = Math.floor(next() * CLIENTS);
    await clients[i]!.kill();
    clients[i] = start(i);
  }
  clearInterval(watch);
  for (const client of clients) await client.kill();
  const { requests, errors } = await serverStats(server);
  const before = await missing(server, journals);
  await server.crash();
  server = ends.use(await Server.start(home, "unix"));
  const after = await missing(server, journals);
  const notes = journals.filter(existsSync).flatMap(readJournal);
  const saves = notes.filter(({ kind }) => kind === "saved").length;
  const failures = notes.filter(({ kind }) => kind === "error").map(({ message }) => message);
  const lost = `rows of acknowledged saves lost, after ${kills} killed clients (${saves} saves, ${requests} requests)`;
  return [
    memoryLine(samples),
    { ...noneOf("rows", lost, before.length), met: before.length === 0 && saves > 0 },
    noneOf("rows", `the same after kill -9 of the server${first(after)}`, after.length),
    noneOf("errors", `errors that clients saw${first(failures)}`, failures.length + errors),
  ];
}

async function create(server: Server): Promise<void> {
  await using client = await connect(server.address);
  await (await client.createCollection(SOAK.vectors.name, { dim: SOAK.vectors.dim })).save();
  await (await client.createCollection(SOAK.notes.name, { embedder: SOAK.notes.embedder })).save();
}

async function serverStats(server: Server): Promise<{ requests: number; errors: number }> {
  await using client = await connect(server.address);
  const { requests, errors } = await client.stats();
  return { requests: Number(requests), errors: Number(errors) };
}

/** Rows that must exist by the journals and do not. */
async function missing(server: Server, journals: string[]): Promise<string[]> {
  await using client = await connect(server.address);
  const lost: string[] = [];
  for (const collection of ["vectors", "notes"] as const) {
    const live = await versions(client, collection);
    for (const journal of journals) lost.push(...lostRows(readJournal(journal), collection, live));
  }
  return lost;
}

/** Every live row's version, by a search for all rows. */
async function versions(client: RemoteTelys, collection: SoakCollection): Promise<Map<string, number>> {
  const rows = await client.openCollection(SOAK[collection].name);
  const { dim } = await rows.stats();
  const { ids, metadata } = await rows.search(unitVectors(1, dim, random(1)), { topK: 100_000, withMetadata: true });
  const found = new Map(ids.map((id, i) => [id, Number(metadata![i]!.n)]));
  const all = await rows.ids();
  if (found.size !== all.length) throw new Error(`a search for all rows found ${found.size} of ${all.length}`);
  return found;
}

/** Growth by linear regression over the second half, extrapolated to the whole run. */
function memoryLine(samples: number[]): Line {
  const half = samples.slice(samples.length >> 1);
  const mean = half.reduce((sum, kib) => sum + kib, 0) / half.length;
  const middle = (half.length - 1) / 2;
  let [above, below] = [0, 0];
  half.forEach((kib, i) => {
    above += (i - middle) * (kib - mean);
    below += (i - middle) ** 2;
  });
  const growth = ((above / below) * samples.length * 100) / mean;
  const mib = [Math.min(...half), mean, Math.max(...half)].map((kib) => (kib / 1024).toFixed(0)).join(" / ");
  return {
    what: `growth of the server's memory over ${SECONDS} s (least / mean / most of the second half: ${mib} MiB)`,
    value: growth,
    unit: "%",
    goal: "below 1",
    met: growth < 1,
  };
}

/** SVC_BENCH_KEEP=1 keeps journals and memory for analysis. */
function keepOrDispose(home: Home): void {
  if (process.env.SVC_BENCH_KEEP) console.error(`kept ${home.dir}`);
  else home[Symbol.dispose]();
}
