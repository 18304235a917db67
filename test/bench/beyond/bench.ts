/** `npm run bench -- beyond`: nodes of one memory on a real PostgreSQL server; and what that means for more of them. */
import { statSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { isInstalled } from "../../beyond/installed.ts";
import { closeShared } from "../../opened.ts";
import { SVC } from "../home.ts";
import type { Line } from "../measure.ts";
import { publish } from "../text/publish.ts";
import { measureCommits, measureStandby } from "./commits.ts";
import type { Figures } from "./figures.ts";
import { measureCatchUp, measureCrowd, measureFound } from "./follow.ts";
import { measureMove } from "./move.ts";
import type { BeyondOptions, Part } from "./options.ts";
import { crowdOf } from "./paper.ts";
import { measureSearch, measureSizes } from "./search.ts";
import { crowdTable, lines } from "./table.ts";

/** Notes of the collection that nodes share. */
const ROWS = 20_000;

export async function benchBeyond({ parts, seconds, nodes, json }: BeyondOptions): Promise<Line[]> {
  if (process.platform !== "linux") throw new Error("beyond measures CPU time as only Linux shows it");
  if (!isInstalled())
    throw new Error("PostgreSQL is not installed: npm run test:beyond installs it (60 MB), and tests it");
  const measures: Record<Part, () => Promise<Partial<Figures>>> = {
    commits: async () => ({ commits: await measureCommits(ROWS, seconds) }),
    standby: async () => ({ standby: await measureStandby(ROWS, seconds) }),
    found: () => measureFound(ROWS),
    "catch-up": async () => ({ catchUp: await measureCatchUp(ROWS) }),
    move: async () => ({ move: await measureMove() }),
    search: async () => ({ search: await measureSearch(ROWS) }),
    sizes: async () => ({ sizes: await measureSizes() }),
    nodes: async () => ({ crowd: await measureCrowd(ROWS, nodes, seconds) }),
  };
  const figures: Figures = { executable: statSync(SVC).size };
  const notes: string[] = [];
  try {
    for (const part of parts) {
      console.error(`  ${part}`);
      Object.assign(figures, await measures[part]());
      notes.push(`load of the machine after ${part}: ${loadavg()[0]!.toFixed(1)}`);
    }
  } finally {
    await closeShared();
    // Also what was measured before a part that failed: a run takes minutes.
    publish(json, crowdLines(figures), figures, { notes, lines: lines(figures) });
  }
  return lines(figures);
}

function crowdLines({ crowd, costs }: Figures): string[] {
  return crowd && costs ? crowdTable(crowd, crowdOf({ costs, crowd }, availableParallelism())) : [];
}
