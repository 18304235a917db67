/** A memory moved into the database and back, beside bare statements that move the same bytes. */
import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { CHUNK_BYTES } from "../../../src/replication/engine.ts";
import type { PostgresServer } from "../../beyond/postgres.ts";
import { type Home, scratchFolder, signedInHome } from "../home.ts";
import { median } from "../measure.ts";
import type { Figures, Rate } from "./figures.ts";
import { NAME } from "./node.ts";
import { fill, serverCpu, startServer } from "./nodes.ts";

/** Vectors of 384 numbers: 412 MB of files. */
const ROWS = 600_000;
const TURNS = 3;

/** `svc mem copy` in each direction, and the bare statements, in turn. Medians count. */
export async function measureMove(rows = ROWS): Promise<Figures["move"]> {
  using folder = scratchFolder();
  using home = signedInHome();
  const memory = join(folder.path, "memory");
  await fill(memory, "vectors", rows);
  const server = await startServer(folder.path);
  await using sql = new SQL(server.url, { max: 1, prepare: false });
  const engine = join(home.dir, "database");
  writeFileSync(engine, server.url, { mode: 0o600 });
  const back = join(folder.path, "back");
  const rates = { to: [] as Taken[], from: [] as Taken[], bareTo: [] as Taken[], bareFrom: [] as Taken[] };
  try {
    await sql.unsafe(BARE_TABLE);
    for (let turn = 0; turn < TURNS; turn++) {
      rates.bareTo.push(await taken(server, () => insertBare(sql, join(memory, NAME))));
      rates.to.push(await taken(server, async () => copy(home, "--to", engine, memory)));
      rates.bareFrom.push(await taken(server, () => readBare(sql, join(folder.path, "bare"))));
      rates.from.push(await taken(server, async () => copy(home, "--from", engine, back)));
      rmSync(back, { recursive: true });
      await sql.unsafe("truncate bare; truncate svc.svc_head, svc.svc_chunk, svc.svc_commit, svc.svc_garbage");
    }
  } finally {
    await server.close();
  }
  return { to: rateOf(rates.to, rates.bareTo), from: rateOf(rates.from, rates.bareFrom) };
}

/** What moved: bytes, seconds, and CPU milliseconds of the database. */
export interface Taken {
  bytes: number;
  seconds: number;
  cpu: number;
}

export function rateOf(ours: readonly Taken[], bare: readonly Taken[]): Rate {
  const mb = ours[0]!.bytes / 1e6;
  return {
    mb,
    perSecond: median(ours.map(({ bytes, seconds }) => bytes / 1e6 / seconds)),
    barePerSecond: median(bare.map(({ bytes, seconds }) => bytes / 1e6 / seconds)),
    serverCpu: median(ours.map(({ cpu }) => cpu)) / mb,
  };
}

async function taken(server: PostgresServer, work: () => Promise<number>): Promise<Taken> {
  const [cpu, start] = [serverCpu(server), performance.now()];
  const bytes = await work();
  return { bytes, seconds: (performance.now() - start) / 1000, cpu: serverCpu(server) - cpu };
}

async function copy(home: Home, direction: "--to" | "--from", engine: string, path: string): Promise<number> {
  const { SVC_MEMORY_PATH: _, ...env } = home.env;
  const words = ["mem", "copy", NAME, direction, engine, "--path", path, "--json"];
  const child = Bun.spawn([home.svc, ...words], { env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`svc mem copy ${direction} failed: ${err}`);
  return JSON.parse(out).copied[0].bytes;
}

/** As the table of chunks, but for the key. */
const BARE_TABLE = `create table bare (id bigint primary key, bytes bytea not null);
  alter table bare alter column bytes set storage external`;

/** The files of a folder in chunks, one statement each. @returns bytes */
async function insertBare(sql: SQL, folder: string): Promise<number> {
  let [sum, id] = [0, 0];
  const chunk = new Uint8Array(CHUNK_BYTES);
  for (const name of readdirSync(folder).filter((one) => /\.(slab|npy)$/.test(one))) {
    const fd = openSync(join(folder, name), "r");
    for (let at = 0, left = statSync(join(folder, name)).size; left > 0; ) {
      const n = readSync(fd, chunk, 0, chunk.length, at);
      await sql`insert into bare values (${id++}::bigint, ${chunk.subarray(0, n)}::bytea)`;
      [at, left, sum] = [at + n, left - n, sum + n];
    }
    closeSync(fd);
  }
  return sum;
}

/** All chunks into one file, which is synced. @returns bytes */
async function readBare(sql: SQL, path: string): Promise<number> {
  const [{ count }] = await sql`select count(*)::int as count from bare`;
  const fd = openSync(path, "w");
  let sum = 0;
  for (let id = 0; id < count; id++) {
    const [{ bytes }] = await sql`select bytes from bare where id = ${id}::bigint`;
    writeSync(fd, bytes);
    sum += bytes.length;
  }
  fsyncSync(fd);
  closeSync(fd);
  rmSync(path);
  return sum;
}
