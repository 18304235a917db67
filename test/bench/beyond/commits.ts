/** Saves a second of one and of several writers of one collection. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "../../../src/remote/client/client.ts";
import { Standby } from "../../beyond/standby.ts";
import { scratchFolder, signedInHome } from "../home.ts";
import { quantile } from "../measure.ts";
import { Server } from "../serve/processes.ts";
import { makeTexts } from "../texts.ts";
import type { Figures, Load } from "./figures.ts";
import { NAME, type Written } from "./node.ts";
import { NodeScript, sharedServer } from "./nodes.ts";

const WRITERS = 8;
/** Seconds before a load is measured. */
const WARM_S = 1;

/** Writers of one node, of several nodes, and clients of `svc serve`. */
export async function measureCommits(rows: number, seconds: number): Promise<Figures["commits"]> {
  using folder = scratchFolder();
  await using shared = await sharedServer(folder.path, rows, false);
  const { server } = shared;
  const local = await ofNode(undefined, join(folder.path, "memory"), 1, seconds);
  const one = await ofNode(server.url, join(folder.path, "one"), 1, seconds);
  const eight = await ofNode(server.url, join(folder.path, "eight"), WRITERS, seconds);
  const nodes = await ofNodes(server.url, folder.path, seconds);
  return { local, one, eight, nodes, wire: await ofClients(server.url, seconds) };
}

/** The same with a standby that every commit waits for, on the same disk. */
export async function measureStandby(rows: number, seconds: number): Promise<Figures["standby"]> {
  using folder = scratchFolder();
  await using shared = await sharedServer(folder.path, rows, false);
  const standby = await Standby.of(shared.server, { dir: join(folder.path, "standby") });
  try {
    const { url } = shared.server;
    const one = await ofNode(url, join(folder.path, "one"), 1, seconds);
    return { one, eight: await ofNode(url, join(folder.path, "eight"), WRITERS, seconds) };
  } finally {
    await standby.close();
  }
}

/** @param address undefined: a memory without a database */
async function ofNode(address: string | undefined, dir: string, writers: number, seconds: number): Promise<Load> {
  await using node = await NodeScript.open({ address, dir, compacts: true });
  await node.run({ do: "write", writers, seconds: WARM_S });
  const { rows: before } = await node.run({ do: "counts" });
  const written = await node.run({ do: "write", writers, seconds });
  const { rows } = await node.run({ do: "counts" });
  return loadOf(writers, [written], rows - before);
}

async function ofNodes(address: string, dir: string, seconds: number): Promise<Load> {
  await using nodes = new AsyncDisposableStack();
  const all: NodeScript[] = [];
  for (let i = 0; i < WRITERS; i++) {
    const site = { address, dir: join(dir, `node-${i}`), compacts: true };
    all.push(nodes.use(await NodeScript.open(site)));
  }
  await Promise.all(all.map((node) => node.run({ do: "write", writers: 1, seconds: WARM_S })));
  const rowsOf = async () => {
    await all[0]!.run({ do: "write", writers: 1, saves: 1 }); // on the newest state
    return (await all[0]!.run({ do: "counts" })).rows;
  };
  const before = await rowsOf();
  const written = await Promise.all(all.map((node) => node.run({ do: "write", writers: 1, seconds })));
  return loadOf(WRITERS, written, (await rowsOf()) - before - 1);
}

/** Clients of one server, in one process, that have a connection each. */
async function ofClients(address: string, seconds: number): Promise<Load> {
  using home = signedInHome();
  const file = join(home.dir, "database");
  writeFileSync(file, address, { mode: 0o600 });
  delete home.env.SVC_MEMORY_PATH;
  await using serve = await Server.start(home, "unix", "--engine-file", file);
  const clients = await Promise.all(Array.from({ length: WRITERS }, () => connect(serve.address)));
  const collections = await Promise.all(clients.map((client) => client.openCollection(NAME)));
  const texts = makeTexts(1000, 32, 3);
  const load = async (forSeconds: number): Promise<Written> => {
    const [ms, errors]: [number[], string[]] = [[], []];
    const began = performance.now();
    await Promise.all(
      collections.map(async (collection) => {
        while (performance.now() - began < forSeconds * 1000) {
          const id = crypto.randomUUID();
          const start = performance.now();
          try {
            await collection.addTexts([texts[ms.length % texts.length]!], { ids: [id] });
            await collection.save();
            ms.push(performance.now() - start);
          } catch (error) {
            errors.push((error as Error).message);
          }
        }
      }),
    );
    return { ms, errors, seconds: (performance.now() - began) / 1000 };
  };
  await load(WARM_S);
  const before = (await collections[0]!.ids()).length;
  const written = await load(seconds);
  const rows = (await collections[0]!.ids()).length - before;
  await Promise.all(clients.map((client) => client.close()));
  return loadOf(WRITERS, [written], rows);
}

/** @param rows that the collection has more than before */
export function loadOf(writers: number, written: readonly Written[], rows: number): Load {
  const ms = written.flatMap((one) => one.ms);
  const errors = written.flatMap((one) => one.errors);
  if (errors.length > 0) console.error(`  a save failed: ${errors[0]}`);
  return {
    writers,
    saves: ms.length,
    seconds: Math.max(...written.map((one) => one.seconds)),
    p50: quantile(ms, 0.5),
    p99: quantile(ms, 0.99),
    lost: errors.length,
    missing: Math.max(0, ms.length - rows),
  };
}
