/**
 * Four processes of three nodes change one collection, while connections are cut, processes are killed and the database
 * fails over twice. A model knows what was acknowledged. `SVC_MODEL_CHANGES` is how many changes are made (20000: 25
 * minutes on two busy cores), `SVC_MODEL_SEED` repeats a run as far as the times allow.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { scratchDir } from "../fixture.ts";
import { random } from "../random.ts";
import { client } from "./client.ts";
import { hasServers, NEEDS } from "./installed.ts";
import { type Fate, Model } from "./model.ts";
import { NodeProcess, type Outcome } from "./node-client.ts";
import { type Listed, NAME, type Request } from "./node-process.ts";
import { PostgresServer } from "./postgres.ts";
import { TcpProxy, type Trigger } from "./proxy.ts";
import { committedOf } from "./replicas.ts";
import { textOf } from "./rows.ts";
import { Standby } from "./standby.ts";

const SEED = Number(process.env.SVC_MODEL_SEED ?? Date.now() % 1e6);
const CHANGES = Number(process.env.SVC_MODEL_CHANGES ?? 400);
/** In a full run; a short one has more faults for its size. */
const [CUT_EVERY, KILL_EVERY] = CHANGES >= 5000 ? [50, 500] : [15, 60];
const DEADLINES = { connect: 2000, statement: 2000, lock: 4000, idle: 3000 };
const SILENCE_MS = 3500;
const TIMEOUT_MS = Math.max(240_000, CHANGES * 1000);

const COMMIT = /commit\0/;
/** What happens to a connection at its next commit. */
const CUTS: Trigger[] = [
  { sends: COMMIT, passes: false, action: "cut" },
  { sends: COMMIT, passes: true, action: "cut" },
  { sends: COMMIT, passes: true, action: "cut client" },
  { from: "server", sends: /COMMIT\0/, passes: false, action: "cut" },
  { sends: COMMIT, passes: true, action: "silence" },
  { sends: /insert into svc.svc_chunk/, passes: true, action: "cut" },
  { sends: /for update/, passes: true, action: "cut client" },
];

const next = random(SEED);
const below = (n: number) => Math.floor(next() * n);
/** Codes of errors that a change may have. */
const KNOWN = ["TimeoutError.locked", "OSError.disconnected", "OSError.outcome_unknown"];

interface Writer {
  node: NodeProcess;
  proxy: TcpProxy;
  /** Its own rows that are there for certain, with their versions. */
  live: Map<string, number>;
  made: number;
}

const model = new Model();
const codes = new Map<string, number>();
/** The answers of each generation: those of the first process that was asked. */
const answered = new Map<number, string>();
let changes = 0;

function fateOf(outcome: Outcome): Fate {
  if (outcome === "killed") return "unknown";
  if ("value" in outcome) return outcome.value === "staged" ? "unknown" : "made";
  codes.set(outcome.code, (codes.get(outcome.code) ?? 0) + 1);
  if (!KNOWN.includes(outcome.code)) throw new Error(`${outcome.code}: ${outcome.message}`);
  return outcome.code === "OSError.outcome_unknown" ? "unknown" : "refused";
}

async function ask(writer: Writer): Promise<void> {
  const outcome = await writer.node.call({ call: "ask" });
  if (outcome === "killed") return;
  if ("code" in outcome) throw new Error(JSON.stringify(outcome));
  const { generation, answers } = outcome.value as { generation: number; answers: string };
  const known = answered.get(generation);
  if (known !== undefined && known !== answers) throw new Error(`answers of generation ${generation} differ`);
  answered.set(generation, answers);
}

/** A change of a row that belongs to one process. */
interface Change {
  id: string;
  /** Its version before; undefined: it is added. */
  before: number | undefined;
  /** Undefined: it is deleted. */
  after: number | undefined;
}

/** A change of a row that no other change under way has. @param id of the row if it is a new one */
function chosen({ live }: Writer, id: string): Change {
  const kind = below(84);
  const known = [...live.keys()];
  const old = known[below(known.length)];
  if (kind < 34 || old === undefined) return { id, before: undefined, after: 0 };
  const before = live.get(old)!;
  live.delete(old); // until it is known what became of the change
  return { id: old, before, after: kind < 64 ? before + 1 : undefined };
}

function requestOf({ id, before, after }: Change): Request {
  if (after === undefined) return { call: "delete", ids: [id] };
  return { call: before === undefined ? "add" : "upsert", rows: [{ id, version: after }] };
}

/** Notes what became of a change. @returns whether it was made */
function note({ live }: Writer, change: Change, outcome: Outcome): boolean {
  const { id, before, after } = change;
  const fate = fateOf(outcome);
  if (fate === "made") {
    const isReplaced = before !== undefined && after !== undefined;
    const { value } = outcome as { value: unknown };
    expect([id, value]).toEqual([id, isReplaced ? { inserted: 0, replaced: 1 } : 1]);
  }
  model.note(id, after, fate);
  const version = fate === "made" ? after : before;
  if (fate !== "unknown" && version !== undefined) live.set(id, version);
  return fate === "made";
}

/** A process sees the changes that it has made. */
async function expectSeen({ node }: Writer, made: readonly Change[]): Promise<void> {
  const seen = await node.call({ call: "texts", ids: made.map(({ id }) => id) });
  const texts = made.map(({ id, after }) => (after === undefined ? null : textOf({ id, version: after })));
  if (seen !== "killed") expect(seen).toEqual({ value: texts });
}

/** Makes one change or a few, and notes what became of them. */
async function change(writer: Writer, of: number): Promise<void> {
  const kind = below(100);
  const id = `w${of} ${++writer.made}`;
  if (kind < 8) {
    const contested = `all ${Math.floor(changes / 12)}`;
    const outcome = await writer.node.call({ call: "add", rows: [{ id: contested, version: of }] });
    const isTaken = outcome !== "killed" && "code" in outcome && outcome.code === "KeyError.id_exists";
    return model.noteContested(contested, of, isTaken ? "refused" : fateOf(outcome));
  }
  if (kind < 16) {
    const rows = [1, 2].map((n) => ({ id: `${id} ${n}`, version: 0 }));
    const fate = fateOf(await writer.node.call({ call: "batch", rows }));
    for (const row of rows) model.note(row.id, 0, fate);
    return;
  }
  const made = Array.from({ length: kind < 26 ? 4 : 1 }, (_, n) => chosen(writer, `${id} ${n}`));
  const outcome = await writer.node.call({ call: "together", requests: made.map(requestOf) });
  const outcomes = outcome === "killed" ? made.map(() => outcome) : (outcome as { value: Outcome[] }).value;
  await expectSeen(
    writer,
    made.filter((one, i) => note(writer, one, outcomes[i]!)),
  );
}

async function write(writer: Writer, of: number): Promise<void> {
  while (changes < CHANGES) {
    const at = ++changes;
    if (at % 1000 === 0) console.log(`${at} changes`);
    if (at % CUT_EVERY === 0) {
      const trigger = CUTS[below(CUTS.length)]!;
      const fired = writer.proxy.once(trigger);
      if (trigger.action === "silence") void fired.then(() => Bun.sleep(SILENCE_MS)).then(() => writer.proxy.pass());
      if (trigger.action === "cut client") void fired.then(() => Bun.sleep(SILENCE_MS)).then(() => writer.proxy.cut());
    }
    if (at % KILL_EVERY === 0) {
      const killing = Bun.sleep(below(40)).then(() => writer.node.killed());
      await change(writer, of);
      await killing;
      await writer.node.restart();
    } else if (at % 25 === 7) {
      const request: Request = below(2) ? { call: "beside" } : { call: "compact", keepHistory: below(2) > 0 };
      fateOf(await writer.node.call(request));
    } else {
      await change(writer, of);
    }
    if (at % 10 === 3) await ask(writer);
  }
}

test.skipIf(!hasServers())(
  `nothing that was acknowledged is lost, and all nodes answer alike ${NEEDS}`,
  async () => {
    console.log(`seed ${SEED}, ${CHANGES} changes`);
    let primary = await PostgresServer.start({ dir: join(scratchDir(), "primary") });
    let standby = await Standby.of(primary, { dir: join(scratchDir(), "standby") });
    const dirs = [scratchDir(), scratchDir(), scratchDir()];
    const writers = await Promise.all(
      [0, 0, 1, 2].map(async (place): Promise<Writer> => {
        const proxy = await TcpProxy.start(primary.port);
        const [address, node] = [primary.urlAt(proxy.port), crypto.randomUUID()];
        const site = { address, dir: dirs[place]!, node, deadlines: DEADLINES };
        return { node: await NodeProcess.start(site), proxy, live: new Map(), made: 0 };
      }),
    );
    await writers[0]!.node.value({ call: "create" });
    for (const { node } of writers) await node.reach(1);

    /** Twice, the primary is lost and its standby takes its place; in between, it gets a standby of its own. */
    const failovers = async () => {
      for (const at of [1 / 3, 2 / 3]) {
        while (changes < CHANGES * at) await Bun.sleep(10);
        await primary.kill();
        await standby.promote();
        primary = standby;
        for (const { proxy } of writers) {
          proxy.to = primary.port;
          proxy.cut();
        }
        standby = await Standby.of(primary, { dir: join(scratchDir(), "standby") });
      }
    };
    await Promise.all([failovers(), ...writers.map(write)]);

    for (const { node, proxy } of writers) {
      proxy.pass();
      proxy.cut();
      await node.killed();
      await node.restart();
    }
    const sql = client(primary.url);
    const [row] = await sql`select generation from svc.svc_head where collection = ${NAME}`;
    const fresh = await NodeProcess.start({ ...writers[0]!.node.site, dir: scratchDir(), node: crypto.randomUUID() });
    const all = [...writers.map(({ node }) => node), fresh];
    for (const node of all) await node.reach(Number(row.generation));
    console.log(`${JSON.stringify(model.counts)}, generation ${row.generation}, ${JSON.stringify([...codes])}`);

    const [first, ...others] = await Promise.all(all.map((node) => node.value({ call: "ask" })));
    for (const other of others) expect(other).toEqual(first!);
    expect(model.faultsOf(await all[0]!.value<Listed[]>({ call: "list" }))).toEqual([]);
    for (const node of all) await node.value({ call: "verify" });
    const [files, ...copies] = all.map(({ site }) => committedOf(join(site.dir, NAME)));
    for (const copy of copies) expect(copy).toEqual(files!);
  },
  TIMEOUT_MS,
);
