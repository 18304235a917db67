/** `ping` beside a bare echo of the same frames: the cost of the protocol beyond the sockets. */
import { join } from "node:path";
import { type Home, signedInHome } from "../home.ts";
import { type Line, median } from "../measure.ts";
import { Script, Server } from "./processes.ts";
import { RawClient } from "./raw-client.ts";

const RUNS = 9;
const RUN_MS = 150;
const WARM_MS = 600;
const SETTINGS = [
  { depth: 1, mode: "sliding" },
  { depth: 8, mode: "sliding" },
  { depth: 64, mode: "sliding" },
  { depth: 8, mode: "lockstep" },
  { depth: 64, mode: "lockstep" },
] as const;

/** Both transports, in a home of their own. */
export async function benchPing(): Promise<Line[]> {
  using home = signedInHome();
  return [...(await over(home, "unix")), ...(await over(home, "tcp"))];
}

async function over(home: Home, transport: "unix" | "tcp"): Promise<Line[]> {
  await using server = await Server.start(home, transport);
  await using echo = new Script<string>("echo.ts", ...(transport === "unix" ? [join(home.dir, "echo.sock")] : []));
  const ours = await RawClient.open(server.address);
  const theirs = await RawClient.open(await echo.next(), { auth: false });
  for (const client of [ours, theirs]) await client.pipeline({ op: "ping" }, 8, "sliding", WARM_MS);
  const lines: Line[] = [];
  for (const setting of SETTINGS) lines.push(await compare(ours, theirs, transport, setting));
  return lines;
}

async function compare(
  ours: RawClient,
  theirs: RawClient,
  transport: string,
  { depth, mode }: (typeof SETTINGS)[number],
): Promise<Line> {
  const [a, b]: [number[], number[]] = [[], []];
  for (let run = 0; run < RUNS; run++) {
    a.push(await ours.pipeline({ op: "ping" }, depth, mode, RUN_MS));
    b.push(await theirs.pipeline({ op: "ping" }, depth, mode, RUN_MS));
  }
  const ratio = median(a) / median(b);
  const how =
    depth === 1 ? "one at a time" : mode === "sliding" ? `${depth} outstanding, sliding` : `batches of ${depth}`;
  return {
    what: `ping over ${transport}, ${how}`,
    value: median(a),
    unit: "pings/s",
    against: `a bare echo of the same frames (${median(b).toFixed(0)} a second)`,
    ratio,
    goal: "at least 0.8",
    met: ratio >= 0.8,
  };
}
