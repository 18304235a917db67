/** Searches of a node beside those of a memory without a database; and what a collection needs as it grows. */
import { join } from "node:path";
import { scratchFolder } from "../home.ts";
import { median } from "../measure.ts";
import { memoryOf } from "../processes.ts";
import type { Figures, Size } from "./figures.ts";
import { fill, NodeScript, sharedServer } from "./nodes.ts";

const PAIRS = 40;
/** Questions of a process in one turn. */
const QUESTIONS = 50;
const ROWS = [10_000, 100_000, 1_000_000];

/** Two processes that take turns with the same questions over the same files. The CPU time of all their threads counts. */
export async function measureSearch(rows: number): Promise<Figures["search"]> {
  using folder = scratchFolder();
  await using shared = await sharedServer(folder.path, rows);
  const address = shared.server.url;
  await using local = await NodeScript.open({ dir: join(folder.path, "memory"), compacts: false });
  await using node = await NodeScript.open({ address, dir: join(folder.path, "node"), compacts: false });
  const pairs: { node: number; local: number }[] = [];
  for (let pair = -1; pair < PAIRS; pair++) {
    const order = { do: "ask", from: Math.max(0, pair) * QUESTIONS, count: QUESTIONS } as const;
    const first = pair % 2 === 0 ? node : local;
    const one = (await first.run(order)).cpu;
    const other = (await (first === node ? local : node).run(order)).cpu;
    if (pair >= 0) pairs.push(first === node ? { node: one, local: other } : { node: other, local: one });
  }
  return {
    node: median(pairs.map((pair) => pair.node)),
    local: median(pairs.map((pair) => pair.local)),
    ratio: median(pairs.map((pair) => pair.node / pair.local)),
    rows,
  };
}

/** Disk, memory and searches of collections of several sizes, each in a new process. */
export async function measureSizes(): Promise<Size[]> {
  const sizes: Size[] = [];
  for (const rows of ROWS) {
    using folder = scratchFolder();
    const { disk } = await fill(folder.path, "notes", rows);
    await using script = await NodeScript.open({ dir: folder.path, compacts: false });
    const costs: number[] = [];
    for (let i = 0; i < QUESTIONS; i++) costs.push((await script.run({ do: "ask", from: i, count: 1 })).cpu);
    const { resident, private: anonymous } = memoryOf(script.pid);
    sizes.push({ rows, disk, search: median(costs), resident, anonymous });
  }
  return sizes;
}
