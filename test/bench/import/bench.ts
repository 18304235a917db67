/** `npm run bench -- import`: texts in commits of 500, each synced, beside SQLite's FTS5; each import in a process. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Usage } from "../cost.ts";
import { scratchFolder } from "../home.ts";
import { type Line, median } from "../measure.ts";
import { COMMIT } from "../text/fts5.ts";
import { inProcess, type Job } from "../text/job.ts";
import { machinePassages } from "../text/machine-text.ts";
import { publish } from "../text/publish.ts";
import { writeTexts } from "../text/stored.ts";
import { makeTexts } from "../texts.ts";
import { passagesOf } from "../words/passages.ts";
import type { Contender, Imported, Kind } from "./figures.ts";
import { lines, table } from "./lines.ts";
import type { ImportOptions } from "./options.ts";
import { countedIn, counting } from "./syncs.ts";

/** Imports of each contender; the middle one of each figure counts. */
const ROUNDS = 3;
/** Words of a note: about 230 bytes. */
const NOTE_WORDS = 31;
const SEED = 31;
/** Passages of the machine for one of 200 words, at most. */
const MACHINE_PASSAGES = 2;
/** Commits that syncs are counted between. */
const COUNTED = 20;

const CHILDREN = {
  svc: join(import.meta.dir, "child-ours.ts"),
  fts5: join(import.meta.dir, "../text/child-fts5.ts"),
};

const log = (line: string) => console.error(`  ${line}`);

export async function benchImport(options: ImportOptions): Promise<Line[]> {
  if (process.platform !== "linux") throw new Error("import measures memory as only Linux shows it");
  const notes: string[] = [];
  if (Bun.which("strace") === null) notes.push("strace is not installed: syncs are not counted");
  const kinds = [await measure("notes", makeTexts(options.notes, NOTE_WORDS, SEED))];
  const machine = [...machinePassages(Math.ceil(options.passages * MACHINE_PASSAGES))];
  const passages = passagesOf(machine).slice(0, options.passages);
  if (passages.length < options.passages) notes.push(`this machine has text for ${passages.length} passages only`);
  kinds.push(await measure("passages", passages));
  const judged = kinds.flatMap(lines);
  publish(options.json, table(kinds), { kinds }, { notes, lines: judged });
  return judged;
}

async function measure(name: Kind["name"], texts: readonly string[]): Promise<Kind> {
  using folder = scratchFolder();
  const job: Job = {
    work: "import",
    dir: join(folder.path, "files"),
    passages: join(folder.path, "texts"),
    queries: "",
    budget: 0,
    packages: "",
  };
  const { count, bytes } = writeTexts(job.passages, texts);
  const done = { svc: [] as Imported[], fts5: [] as Imported[] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const contender of ["svc", "fts5"] as const) {
      log(`${contender}: ${count} ${name}`);
      done[contender].push(await imported([], contender, job));
    }
  }
  const of = async (contender: keyof typeof done): Promise<Contender> => ({
    name: contender,
    used: middle(done[contender].map(({ used }) => used)),
    compaction: middle(done[contender].map(({ compaction }) => compaction)),
    disk: median(done[contender].map(({ disk }) => disk)),
    ...(Bun.which("strace") && { syncs: await syncsOf(contender, texts, job) }),
  });
  return { name, rows: count, bytes, own: await of("svc"), fts5: await of("fts5") };
}

/** @param before what the command begins with */
async function imported(before: readonly string[], contender: keyof typeof CHILDREN, job: Job): Promise<Imported> {
  mkdirSync(job.dir);
  try {
    return await inProcess<Imported>([...before, process.execPath, CHILDREN[contender]], job);
  } finally {
    rmSync(job.dir, { recursive: true });
  }
}

/** Between an import of so many commits and one of twice as many: what comes before and after does not count. */
async function syncsOf(contender: keyof typeof CHILDREN, texts: readonly string[], job: Job): Promise<number> {
  const counts: number[] = [];
  for (const commits of [COUNTED, 2 * COUNTED]) {
    const passages = `${job.passages}-counted`;
    writeTexts(passages, texts.slice(0, commits * COMMIT));
    await imported(counting(`${passages}-syncs`), contender, { ...job, passages });
    counts.push(countedIn(`${passages}-syncs`));
  }
  return (counts[1]! - counts[0]!) / COUNTED;
}

function middle(all: readonly Usage[]): Usage {
  const keys = Object.keys(all[0]!) as (keyof Usage)[];
  return Object.fromEntries(keys.map((key) => [key, median(all.map((one) => one[key]))])) as unknown as Usage;
}
