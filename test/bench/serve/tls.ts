/** TLS beside plain TCP: many connections of which some search, one connection alone, and what a connection takes. */
import { loadavg } from "node:os";
import { connect } from "../../../src/remote/client/client.ts";
import { random } from "../../random.ts";
import { signedInHome } from "../home.ts";
import { type Line, median, quantile, timed } from "../measure.ts";
import { cpuOf } from "../processes.ts";
import { makeTexts } from "../texts.ts";
import { Script, Server, TOKEN } from "./processes.ts";
import { NOTES, QUERIES, type TeamFigures } from "./tls-work.ts";

const ROWS = 10_000;
const CONNECTIONS = 500;
const BUSY = 64;
/** Both servers are busy at the same time: what else the machine does meets both. The first round warms up. */
const ROUNDS_S = [3, 20];
/** Until what follows a change in the background is done. */
const SETTLE_MS = 5000;
/** Requests on one connection, over each transport in turn. */
const SINGLE = 1500;
const WARM = 100;
const P99_RATIO_MAX = 1.3;
const REQUEST_MS_MAX = 0.3;

/** The same two servers, with the same rows, for all figures. */
export async function benchTls(): Promise<Line[]> {
  using plainHome = signedInHome();
  using tlsHome = signedInHome();
  await using plain = await Server.start(plainHome, "tcp");
  await using tls = await Server.start(tlsHome, "tcp", "--tls", "self");
  for (const server of [plain, tls]) await fill(server.address);
  await Bun.sleep(SETTLE_MS);
  return [...(await single(plain, tls)), ...(await team(plain, tls))];
}

async function fill(address: string): Promise<void> {
  await using client = await connect(address, { token: TOKEN });
  const notes = await client.createCollection(NOTES, { embedder: "multigram" });
  const texts = makeTexts(ROWS, 40, 2);
  for (let at = 0; at < ROWS; at += 500) await notes.addTexts(texts.slice(at, at + 500));
  // Both servers search the same files: otherwise one may compact them in the midst of the measurement.
  await notes.compact();
}

/** One open connection, one request at a time. */
async function single(plain: Server, tls: Server): Promise<Line[]> {
  await using plainClient = await connect(plain.address, { token: TOKEN });
  await using tlsClient = await connect(tls.address, { token: TOKEN });
  const next = random(7);
  const lines: Line[] = [];
  for (const op of ["ping", "search of notes"]) {
    const times: [plain: number[], tls: number[]] = [[], []];
    for (let i = 0; i < SINGLE; i++) {
      const query = QUERIES[Math.floor(next() * QUERIES.length)]!;
      const pairs = [plainClient, tlsClient].map((client, side) => async () => {
        const notes = await client.openCollection(NOTES);
        const request = op === "ping" ? () => client.ping() : () => notes.searchText(query, { topK: 10 });
        times[side]!.push(await timed(request));
      });
      for (const ask of i % 2 === 0 ? pairs : pairs.reverse()) await ask();
    }
    const [without, over] = times.map((all) => median(all.slice(WARM))) as [number, number];
    lines.push({
      what: `${op} on an open connection over TLS, more than over TCP (medians of ${SINGLE}: ${ms(over)} and ${ms(without)})`,
      value: over - without,
      unit: "ms",
      goal: `at most ${REQUEST_MS_MAX}`,
      met: over - without <= REQUEST_MS_MAX,
    });
  }
  return lines;
}

/** Many connections to each server, of which some search at a fixed rate. */
async function team(plain: Server, tls: Server): Promise<Line[]> {
  await using plainTeam = new Script<TeamFigures>("tls-client.ts", plain.address, String(CONNECTIONS), String(BUSY));
  await using tlsTeam = new Script<TeamFigures>("tls-client.ts", tls.address, String(CONNECTIONS), String(BUSY));
  const teams = [plainTeam, tlsTeam];
  const connecting: number[] = [];
  for (const one of teams) {
    one.tell({ open: true });
    connecting.push((await one.next()).connectMs);
  }
  let figures: TeamFigures[] = [];
  let began: number[] = [];
  for (const seconds of ROUNDS_S) {
    began = [plain, tls].map(({ pid }) => cpuOf(pid));
    for (const one of teams) one.tell({ seconds });
    figures = await Promise.all(teams.map((one) => one.next()));
  }
  const cpu = [plain, tls].map(({ pid }, side) => (cpuOf(pid) - began[side]!) / figures[side]!.times.length);
  const errors = figures.flatMap((one) => one.errors);
  const times = figures.map((one) => one.times);
  const [without, over] = times.map((all) => quantile(all, 0.99)) as [number, number];
  const middles = times.map((all) => ms(median(all)));
  const who = `${BUSY} of ${CONNECTIONS} clients, two a second each, ${ROWS} notes`;
  return [
    {
      what: `p99 of searches over TLS, ${who} (${times[1]!.length}; p50 ${middles[1]}; load ${loadavg()[0]!.toFixed(1)})`,
      value: over,
      unit: "ms",
      against: `plain TCP (${ms(without)}, p50 ${middles[0]})`,
      ratio: over / without,
      goal: `at most ${P99_RATIO_MAX}, no errors${errors.length > 0 ? `; ${errors[0]}` : ""}`,
      met: over / without <= P99_RATIO_MAX && errors.length === 0,
    },
    {
      what: "CPU time of the server for each of these searches over TLS",
      value: cpu[1]!,
      unit: "ms",
      against: `plain TCP (${ms(cpu[0]!)})`,
      ratio: cpu[1]! / cpu[0]!,
    },
    {
      what: `a connection over TLS, opened and authenticated, of ${CONNECTIONS} by one process (TCP ${ms(connecting[0]! / CONNECTIONS)})`,
      value: connecting[1]! / CONNECTIONS,
      unit: "ms",
    },
  ];
}

function ms(value: number): string {
  return `${value.toFixed(value < 1 ? 3 : 2)} ms`;
}
