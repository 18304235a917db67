/** How soon nodes have what another node has saved. */
import { join } from "node:path";
import { scratchFolder } from "../home.ts";
import { median, quantile } from "../measure.ts";
import { cpuOf } from "../processes.ts";
import type { Costs, Crowd, Figures } from "./figures.ts";
import { NodeScript, serverCpu, serverMemory, sharedServer } from "./nodes.ts";

const SAMPLES = 300;
/** Milliseconds between two notes, at random: not in step with the looks of the other node. */
const PAUSE_MS = 60;
const GENERATIONS = 1000;
const TIMES = 3;
const POLLS = 300;
/** Saves whose costs are measured, without and with a node that follows, in turn. */
const SAVES = 100;
const SAVE_PAUSE_MS = 20;

/** From a save on one node to an answer of another, two processes; then what single calls cost. */
export async function measureFound(rows: number): Promise<Pick<Figures, "found" | "costs">> {
  using folder = scratchFolder();
  await using shared = await sharedServer(folder.path, rows);
  const { server } = shared;
  const site = (name: string) => ({ address: server.url, dir: join(folder.path, name), compacts: false });
  await using a = await NodeScript.open(site("a"));
  const ms: number[] = [];
  const alone: Spent[] = [];
  const followed: Spent[] = [];
  const spend = async (b?: NodeScript): Promise<Spent> => {
    const before = await b?.run({ do: "counts" });
    const [cpu, own, other] = [serverCpu(server), cpuOf(a.pid), b ? cpuOf(b.pid) : 0];
    const written = await a.run({ do: "write", writers: 1, saves: SAVES, pauseMs: SAVE_PAUSE_MS });
    if (b) await Bun.sleep(100);
    const spent = { server: serverCpu(server) - cpu, a: cpuOf(a.pid) - own, b: b ? cpuOf(b.pid) - other : 0 };
    const after = await b?.run({ do: "counts" });
    const roundMs = after ? (after.roundMs - before!.roundMs) / (after.rounds - before!.rounds) : 0;
    const rounds = after ? after.rounds - before!.rounds : 0;
    const fetched = after ? after.fetchedBytes - before!.fetchedBytes : 0;
    return {
      ...spent,
      saves: SAVES,
      ms: median(written.ms),
      rounds,
      roundMs,
      fetched,
      headBytes: after?.headBytes ?? 0,
    };
  };
  for (let turn = 0; turn < TIMES; turn++) {
    alone.push(await spend());
    await using b = await NodeScript.open(site("b"));
    followed.push(await spend(b));
  }
  await using b = await NodeScript.open(site("b"));
  for (let i = 0; i < SAMPLES; i++) {
    const word = `zq${i}x${Math.floor(Math.random() * 1e9).toString(36)}`;
    const found = b.run({ do: "find", word });
    const { at } = await a.run({ do: "add", word });
    ms.push(Math.max(0, (await found).at - at));
    await Bun.sleep(Math.random() * PAUSE_MS);
  }
  const cpu = serverCpu(server);
  const poll = await b.run({ do: "poll", times: POLLS });
  const pollCpu = (serverCpu(server) - cpu) / POLLS;
  const { bytes, processes } = serverMemory(server);
  return {
    found: { p50: quantile(ms, 0.5), p99: quantile(ms, 0.99), count: SAMPLES },
    costs: costsOf(alone, followed, { server: pollCpu, ms: poll.ms }, bytes / processes),
  };
}

/** What a number of saves used: CPU milliseconds of the database, of the writer, and of a node that followed. */
export interface Spent {
  saves: number;
  server: number;
  a: number;
  b: number;
  ms: number;
  rounds: number;
  roundMs: number;
  fetched: number;
  headBytes: number;
}

/** What a save and a round cost. Nodes follow each save by itself, because there is a pause between two. */
export function costsOf(
  alone: readonly Spent[],
  followed: readonly Spent[],
  poll: Costs["poll"],
  session: number,
): Costs {
  const save = (of: (spent: Spent) => number) => median(alone.map((one) => of(one) / one.saves));
  const round = (of: (spent: Spent) => number) => median(followed.map((one) => of(one) / one.rounds));
  const commit = {
    server: save((one) => one.server),
    node: save((one) => one.a),
    ms: median(alone.map(({ ms }) => ms)),
  };
  const { headBytes } = followed.at(-1)!;
  return {
    commit,
    round: {
      server: Math.max(
        0,
        round((one) => one.server - commit.server * one.saves),
      ),
      node: round((one) => one.b),
      ms: median(followed.map((one) => one.roundMs)),
      bytes: headBytes + round((one) => one.fetched),
    },
    headBytes,
    poll,
    session,
  };
}

/** A node starts after it missed a thousand saves: each of one note, without and with the compactions between them. */
export async function measureCatchUp(rows: number): Promise<Figures["catchUp"]> {
  const ms = { plain: [] as number[], compacted: [] as number[] };
  for (const compacts of [false, true]) {
    using folder = scratchFolder();
    await using shared = await sharedServer(folder.path, rows);
    const site = (name: string) => ({ address: shared.server.url, dir: join(folder.path, name), compacts });
    {
      await using _ = await NodeScript.open(site("b"));
    }
    await using a = await NodeScript.open(site("a"));
    for (let turn = 0; turn < TIMES; turn++) {
      await a.run({ do: "write", writers: 1, saves: GENERATIONS });
      await using b = await NodeScript.open(site("b"));
      ms[compacts ? "compacted" : "plain"].push(b.opened.ms);
    }
  }
  return { plain: median(ms.plain), compacted: median(ms.compacted), generations: GENERATIONS };
}

/** Nodes that follow while one writer saves as fast as it can. */
export async function measureCrowd(rows: number, nodes: number, seconds: number): Promise<Crowd> {
  using folder = scratchFolder();
  await using shared = await sharedServer(folder.path, rows);
  const { server } = shared;
  await using stack = new AsyncDisposableStack();
  const open = async (name: string) =>
    stack.use(await NodeScript.open({ address: server.url, dir: join(folder.path, name), compacts: false }));
  const writer = await open("writer");
  const all: NodeScript[] = [];
  for (let i = 0; i < nodes; i++) all.push(await open(`node-${i}`));
  await writer.run({ do: "write", writers: 1, seconds: 1 });
  const rounds = async () => {
    const counts = await Promise.all(all.map((node) => node.run({ do: "counts" })));
    return counts.reduce((sum, one) => sum + one.rounds, 0);
  };
  const [before, cpu] = [await rounds(), serverCpu(server)];
  const written = await writer.run({ do: "write", writers: 1, seconds });
  const used = serverCpu(server) - cpu;
  return {
    nodes,
    saves: written.ms.length / written.seconds,
    rounds: ((await rounds()) - before) / nodes / written.seconds,
    server: used / 1000 / written.seconds / navigator.hardwareConcurrency,
  };
}
