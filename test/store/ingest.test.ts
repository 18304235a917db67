/** What an ingest holds in memory does not grow with its rows: neither with those of a save nor with those of many. */
import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { scratchDir } from "../fixture.ts";

const MIB = 1024 * 1024;

/** The most that a process was resident with that added so many rows of 1,024 dimensions. */
async function peak(rows: number, saves: "each" | "once"): Promise<number> {
  const dir = scratchDir();
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "ingest.ts"), dir, `${rows}`, "500", saves], {
    stdout: "inherit",
    stderr: "inherit",
  });
  expect(await child.exited).toBe(0);
  rmSync(dir, { recursive: true });
  return child.resourceUsage()!.maxRSS;
}

// 15,000 rows more are 60 MB of vectors and 25 MB of codes. Bounds: 16 MiB each in the native code, and heap noise.
test.each(["each", "once"] as const)(
  "rows saved %s",
  async (saves) => {
    const few = await peak(5_000, saves);
    const many = await peak(20_000, saves);
    expect((many - few) / MIB).toBeLessThan(64);
  },
  120_000,
);
