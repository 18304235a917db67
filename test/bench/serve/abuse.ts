/** Honest clients beside connections that send nothing, a byte now and then, or the header of the largest frame. */

import { connect } from "../../../src/remote/client/client.ts";
import { random, unitVectors } from "../../random.ts";
import { signedInHome } from "../home.ts";
import { first, type Line, noneOf, quantile } from "../measure.ts";
import type { AbuseFigures, Abusers } from "./abuse-client.ts";
import { type CrowdFigures, DIM, NOTES, ROWS, VECTORS } from "./crowd-work.ts";
import { Script, Server, TOKEN } from "./processes.ts";

/** Short, so that the benchmark does not take minutes; the default of both timeouts is 30 seconds. */
const TIMEOUT_S = 3;
/** The server checks once a second, and a frame's time begins at such a check. */
const SLACK_S = 2.5;
const ABUSERS: Abusers = { halfOpen: 1000, slowUnauthenticated: 50, slowClients: 50, announcers: 100 };
const ROUNDS = 3;
const ROUND_S = TIMEOUT_S + SLACK_S + 0.5;
const GROWTH_MIB_MAX = 64;

/** Quiet and abuse in turn: three processes, of honest clients, of abusers, and the server. */
export async function benchAbuse(): Promise<Line[]> {
  using home = signedInHome();
  const flags = ["--auth-timeout", String(TIMEOUT_S), "--frame-timeout", String(TIMEOUT_S)];
  await using server = await Server.start(home, "tcp", ...flags);
  await using honest = new Script<CrowdFigures>("abuse-honest.ts", server.address);
  await using abusers = new Script<AbuseFigures>("abuse-client.ts", server.address);
  await using client = await connect(server.address, { token: TOKEN });
  const vectors = await client.createCollection(VECTORS, { dim: DIM });
  await vectors.add(unitVectors(ROWS, DIM, random(1)));
  await (await client.createCollection(NOTES, { dim: 8 })).save();
  await ask(honest, 2); // warms both up
  const before = server.rssKiB();
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, server.rssKiB());
  }, 100);
  const quiet: CrowdFigures[] = [];
  const beside: CrowdFigures[] = [];
  const abused: AbuseFigures[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    quiet.push(await ask(honest, ROUND_S));
    abusers.tell({ ...ABUSERS, seconds: ROUND_S });
    beside.push(await ask(honest, ROUND_S));
    abused.push(await abusers.next());
  }
  clearInterval(watch);
  const growth = (peak - before) / 1024;
  const total = Object.values(ABUSERS).reduce((sum, count) => sum + count, 0);
  const errors = [...quiet, ...beside].flatMap((figures) => figures.errors);
  const slow = ABUSERS.slowUnauthenticated + ABUSERS.slowClients;
  const kinds = `${ABUSERS.halfOpen} silent, ${slow} slow, ${ABUSERS.announcers} that announce 256 MiB`;
  return [
    {
      what: `growth of the server's memory, ${ROUNDS} times ${total} abusers (${kinds}; timeouts of ${TIMEOUT_S} s)`,
      value: growth,
      unit: "MiB",
      goal: `below ${GROWTH_MIB_MAX}`,
      met: growth < GROWTH_MIB_MAX,
    },
    ...["ping", "search", "connect"].map((op) => p99Line(op, quiet, beside)),
    droppedLine(abused),
    noneOf("errors", `errors of honest clients, new connections among them${first(errors)}`, errors.length),
  ];
}

async function ask(honest: Script<CrowdFigures>, seconds: number): Promise<CrowdFigures> {
  honest.tell({ seconds });
  return honest.next();
}

function p99Line(op: string, quiet: CrowdFigures[], beside: CrowdFigures[]): Line {
  const all = (rounds: CrowdFigures[]) => rounds.flatMap((figures) => figures.times[op] ?? []);
  const [p99, yardstick] = [quantile(all(beside), 0.99), quantile(all(quiet), 0.99)];
  return {
    what: `p99 of an honest client's ${op} beside them`,
    value: p99,
    unit: "ms",
    against: `the same without them (${yardstick.toFixed(2)} ms)`,
    ratio: p99 / yardstick,
    goal: "at most 2",
    met: p99 / yardstick <= 2,
  };
}

function droppedLine(abused: AbuseFigures[]): Line {
  const left = abused.reduce((sum, { open }) => sum + open, 0);
  const slowest = Math.max(...abused.map(({ lastDropS }) => lastDropS));
  const limit = TIMEOUT_S + SLACK_S;
  return {
    what: `until the last abuser was dropped (${left} were not)`,
    value: slowest,
    unit: "s",
    goal: `all, within ${limit} with timeouts of ${TIMEOUT_S}`,
    met: left === 0 && slowest <= limit,
  };
}
