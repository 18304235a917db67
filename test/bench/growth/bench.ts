/** `npm run bench -- growth`: what grows with the rows of a collection, and how fast. */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { freemem } from "node:os";
import { join } from "node:path";
import { scratchFolder } from "../home.ts";
import type { Line } from "../measure.ts";
import { inProcess } from "../text/job.ts";
import { publish } from "../text/publish.ts";
import type { Grown, Life, Opened, Size } from "./figures.ts";
import type { GrowthOptions, Kind } from "./options.ts";
import { sizesTo } from "./options.ts";
import type { GrowthJob } from "./ours.ts";
import { lines, table } from "./table.ts";

const CHILD = [process.execPath, join(import.meta.dir, "child-ours.ts")];

const log = (line: string) => console.error(`  ${line}`);

export async function benchGrowth(options: GrowthOptions): Promise<Line[]> {
  if (process.platform !== "linux") throw new Error("growth measures memory as only Linux shows it");
  using folder = scratchFolder();
  const grown: Grown[] = [];
  for (const kind of options.kinds) {
    const sizes: Size[] = [];
    for (const rows of sizesTo(options.rows)) sizes.push(await measure(kind, rows, join(folder.path, "memory")));
    grown.push({ kind, sizes });
  }
  const judged = lines(grown);
  publish(options.json, grown.flatMap(table), { grown }, { notes: [], lines: judged });
  return judged;
}

async function measure(kind: Kind, rows: number, dir: string): Promise<Size> {
  log(`${rows} ${kind}`);
  const job: GrowthJob = { work: "", dir, kind, rows, passages: "", queries: "", budget: 0, packages: "" };
  const run = <T>(work: string) => inProcess<T>(CHILD, { ...job, work });
  mkdirSync(dir);
  touchMemory(rows * ROW_MEMORY);
  try {
    const put = await run<Pick<Size, "import" | "anonymous" | "compaction" | "disk">>("import");
    const warm = await run<Opened>("open");
    dropPages(dir);
    const cold = await run<Opened>("open");
    return { rows, ...put, warm, cold, life: await run<Life>("life") };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** Bytes of memory that an import of a row passes through, files that it replaces included. */
const ROW_MEMORY = 4096;

/**
 * Touches memory, a quarter of what is free at most, so that the host of a virtual machine has assigned it before the
 * measurement. The host takes free memory back, and assigns it again page by page: an import of 1,000,000 notes then took
 * up to 1.7 times the time of the system.
 */
function touchMemory(wanted: number): void {
  const bytes = Math.min(wanted, freemem() / 4);
  const file = join("/dev/shm", `svc-bench-touch-${process.pid}`);
  Bun.spawnSync(["dd", "if=/dev/zero", `of=${file}`, "bs=1M", `count=${Math.ceil(bytes / 2 ** 20)}`, "status=none"]);
  rmSync(file, { force: true });
}

/** Takes files out of the page cache; other files stay there. */
function dropPages(dir: string): void {
  Bun.spawnSync(["sync"]);
  for (const entry of readdirSync(dir, { withFileTypes: true, recursive: true }).filter((one) => one.isFile()))
    Bun.spawnSync(["dd", `if=${join(entry.parentPath, entry.name)}`, "iflag=nocache", "count=0", "status=none"]);
}
