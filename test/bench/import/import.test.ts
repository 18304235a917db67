import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchDir } from "../../fixture.ts";
import type { Usage } from "../cost.ts";
import { fts5 } from "../text/fts5.ts";
import type { Job } from "../text/job.ts";
import { writeTexts } from "../text/stored.ts";
import type { Imported, Kind } from "./figures.ts";
import { lines, table } from "./lines.ts";
import { importOptions } from "./options.ts";
import { ours } from "./ours.ts";
import { countedIn } from "./syncs.ts";

const MB = 1e6;
const used = (cpu: number): Usage => ({
  user: cpu * 0.75,
  system: cpu * 0.25,
  wall: cpu,
  peak: 300 * MB,
  anonymous: 50 * MB,
  faults: 2000,
});
const contender = (name: string, cpu: number, disk: number) => ({
  name,
  used: used(cpu),
  compaction: used(cpu / 2),
  disk,
});
const kind = (name: Kind["name"], cpu: number): Kind => ({
  name,
  rows: 1000,
  bytes: MB,
  own: { ...contender("svc", cpu, 3 * MB), syncs: 3 },
  fts5: contender("fts5", 0.02, 1.5 * MB),
});

test.skipIf(process.platform !== "linux")("both ways import, compact and say what they used", async () => {
  const dir = scratchDir();
  const file = join(dir, "texts");
  const texts = Array.from({ length: 1200 }, (_, i) => `note ${i} of some words`);
  const { bytes } = writeTexts(file, texts);
  for (const work of [ours.import!, fts5.import!]) {
    const job: Job = { work: "", dir: join(dir, "files"), passages: file, queries: "", budget: 0, packages: "" };
    mkdirSync(job.dir, { recursive: true });
    const { used, compaction, disk } = (await work(job)) as Imported;
    expect(used.user + used.system).toBeGreaterThan(0);
    expect(used.peak).toBeGreaterThan(used.anonymous);
    expect(compaction.peak).toBeGreaterThanOrEqual(used.peak);
    expect(disk).toBeGreaterThan(bytes);
  }
});

test("notes have goals for CPU, memory and disk; passages are compared with FTS5", () => {
  const notes = lines(kind("notes", 0.029));
  expect(notes.filter(({ met }) => met !== undefined).map(({ met }) => met)).toEqual([true, true, true]);
  expect(notes[0]).toMatchObject({ value: 29, goal: "at most 30 us", against: "FTS5's 20.00 us" });
  const passages = lines(kind("passages", 0.019));
  expect(passages.filter(({ met }) => met !== undefined).map(({ met }) => met)).toEqual([true, true, true, false]);
  expect(lines(kind("passages", 0.021))[1]).toMatchObject({ goal: "as fast as FTS5", met: false });
  const [, head, own, peer] = table([kind("notes", 0.029)]);
  expect(own!.length).toBe(head!.length);
  expect(own!.split(/ +/)).toEqual(["svc", "21.8", "7.3", "29.0", "300", "50", "2.00", "3.00", "14.5", "3.0"]);
  expect(peer!.trim().endsWith("-")).toBe(true);
});

test("syncs are the calls that strace counted", () => {
  const file = join(scratchDir(), "counts");
  const counts = [
    "% time     seconds  usecs/call     calls    errors syscall",
    "------ ----------- ----------- --------- --------- ----------------",
    " 86.12    0.024567          60       407           fdatasync",
    " 13.88    0.003958          19       208         1 fsync",
    "------ ----------- ----------- --------- --------- ----------------",
    "100.00    0.028525          46       615         1 total",
  ];
  writeFileSync(file, `${counts.join("\n")}\n`);
  expect(countedIn(file)).toBe(615);
});

test("options of import have defaults, and are checked", () => {
  const read = (...options: [string, string][]) => importOptions({ given: new Map(options) });
  expect(read()).toEqual({ notes: 100_000, passages: 20_000, json: undefined });
  expect(read(["--notes", "300000"]).notes).toBe(300_000);
  expect(() => read(["--passages", "10"])).toThrow("--passages is a whole number from 20000");
});
