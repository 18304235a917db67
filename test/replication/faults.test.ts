/** Nodes commit through a network that fails at random moments; afterwards every answer is compared with the database. */
import { describe, expect, test } from "bun:test";
import { type Engine, EngineError } from "../../src/replication/engine.ts";
import { Network } from "./network.ts";
import { database, faultOf, headOf, open, server, useServer } from "./nodes.ts";
import { hasPostgres, NEEDS } from "./server.ts";

const NODES = 3;
/** `FAULTS_SECONDS=600 bun test ./test/replication/faults.test.ts` looks for longer. */
const SECONDS = Number(process.env.FAULTS_SECONDS ?? 6);
const DEADLINES = { connect: 500, statement: 600, lock: 1500, idle: 1000 };

const chance = (share: number) => Math.random() < share;
const collectionOf = () => (chance(0.5) ? "one" : "two");

/** One commit, whose files are partly uploaded before. @returns its id, and what it answered */
async function commitOnce(engine: Engine): Promise<[string, string]> {
  const [collection, file] = [collectionOf(), crypto.randomUUID()];
  const bytes = new Uint8Array(3000);
  let commit = "";
  try {
    const isUploaded = chance(0.3);
    if (isUploaded) await engine.put(collection, { file, at: 0, bytes });
    const lease = await engine.lease(collection, DEADLINES.lock);
    const next = headOf((lease.head?.generation ?? 0) + 1, {
      ...lease.head?.files,
      [isUploaded ? "base" : "delta"]: file,
    });
    commit = next.commit;
    await lease.swap(next, isUploaded ? [] : [{ file, at: 0, bytes }]);
    return [commit, "made"];
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return [commit, error.fault];
  }
}

/** Faults of one network, until `until`. */
async function disturb(network: Network, until: number): Promise<void> {
  while (performance.now() < until) {
    await Bun.sleep(Math.random() * 300);
    if (chance(0.5)) network.cut();
    else {
      network.hold();
      await Bun.sleep(Math.random() * 1500);
      if (chance(0.3)) network.cut();
      network.release();
    }
    const sessions = "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'svc %'";
    if (chance(0.1)) await server.query(`${sessions} and random() < 0.5`, database);
  }
}

describe.skipIf(!hasPostgres)("a network that fails", () => {
  useServer();

  /** A commit whose first connection is held as its `commit` is sent; a second way to the server works. */
  async function heldCommit(idle: number) {
    await (await open()).close();
    const [held, working] = [await Network.start(server.port), await Network.start(server.port)];
    const hosts = `127.0.0.1:${held.port},127.0.0.1:${working.port}`;
    const url = server.url(database).replace(`127.0.0.1:${server.port}`, hosts);
    const engine = await open({ deadlines: { ...DEADLINES, statement: 3000, lock: 5000, idle } }, url);
    const lease = await engine.lease("one", 1000);
    const isHeld = held.holdFrom("commit\0");
    const next = headOf(1);
    const swap = lease.swap(next, []);
    await isHeld;
    return { engine, held, next, swap };
  }

  test(`may delay a commit: it counts, as its lock is waited for ${NEEDS}`, async () => {
    const { engine, held, next, swap } = await heldCommit(10_000);
    const waits = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    while ((await server.query(waits, database)).length === 0) await Bun.sleep(20);
    held.release();
    await swap;
    expect(await engine.head("one")).toEqual(next);
  });

  test(`may lose a commit: the server ends its session, and it is made again ${NEEDS}`, async () => {
    const { engine, held, swap } = await heldCommit(1500);
    expect(await faultOf(swap)).toStartWith("again: the connection was cut before commit");
    held.release();
    await Bun.sleep(100);
    expect(await engine.head("one")).toBeUndefined();
    const again = await engine.lease("one", 1000);
    await again.swap(headOf(1), []);
  });

  test(`makes no answer of a commit wrong ${NEEDS}`, async () => {
    await (await open()).close();
    const answers = new Map<string, string>();
    const until = performance.now() + SECONDS * 1000;
    // On a busy machine few commits are made in that time.
    const isDone = () =>
      performance.now() >= until && [...answers.values()].filter((answer) => answer === "made").length > 10;
    const node = async () => {
      const network = await Network.start(server.port);
      const disturbed = disturb(network, until);
      const url = server.url(database).replace(`:${server.port}/`, `:${network.port}/`);
      while (!isDone()) {
        const engine = await open({ deadlines: DEADLINES, graceMs: 2000 }, url).catch(() => undefined);
        for (let i = 0; i < 30 && engine && !isDone(); i++) {
          answers.set(...(await commitOnce(engine)));
          if (chance(0.1)) await engine.sweep(collectionOf()).catch(() => {});
        }
        await engine?.close();
      }
      await disturbed;
    };
    await Promise.all(Array.from({ length: NODES }, node));
    answers.delete("");

    const rows = await server.query("select commit::text, collection, generation::int from svc.svc_commit", database);
    const made = new Set(rows.map((row) => row.commit));
    const wrong = [...answers].filter(
      ([commit, answer]) => answer !== "unknown" && made.has(commit) !== (answer === "made"),
    );
    expect(wrong).toEqual([]);
    for (const collection of ["one", "two"]) {
      const generations = rows.filter((row) => row.collection === collection).map((row) => Number(row.generation));
      expect(generations.sort((a, b) => a - b)).toEqual(generations.map((_, index) => index + 1));
    }
    const missing = `select * from svc.svc_head h, jsonb_each_text(h.files) n where not exists (
      select from svc.svc_chunk c where c.collection = h.collection and c.file = n.value)`;
    expect(await server.query(missing, database)).toEqual([]);
  });
});
