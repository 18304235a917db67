/**
 * Spawn to the answers of both eras of the protocol: `initialize` and `tools/list`, beside the reference server-memory
 * under node; and `server/discover` and `tools/list`, without a handshake. And the CPU of the first tool call, which opens
 * the memory and reads the model of the sentence encoder.
 */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { call, connectWithPid, emptyHome, SVC, signedInHome } from "./home.ts";
import { type Line, median } from "./measure.ts";
import { cpuOf } from "./processes.ts";

const PEERS = join(import.meta.dir, "../../.build/peers");
const REFERENCE = "@modelcontextprotocol/server-memory@2026.8.31";
const RUNS = 15;

const LEGACY = [
  {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "bench", version: "1" } },
  },
  { jsonrpc: "2.0", method: "notifications/initialized" },
  { jsonrpc: "2.0", id: 2, method: "tools/list" },
];

const MODERN = ["server/discover", "tools/list"].map((method, id) => {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return { jsonrpc: "2.0", id, method, params: { _meta } };
});

/** Milliseconds from spawn to the two answers. */
async function answers(command: string[], env: Record<string, string>, messages: object[]): Promise<[number, number]> {
  const start = performance.now();
  const child = Bun.spawn(command, { env, stdin: "pipe", stdout: "pipe", stderr: "ignore" });
  child.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
  child.stdin.flush();
  let first = 0;
  let seen = "";
  for await (const bytes of child.stdout) {
    seen += new TextDecoder().decode(bytes);
    if (!first && seen.includes("\n")) first = performance.now() - start;
    if (seen.split("\n").length > 2) break;
  }
  const second = performance.now() - start;
  child.stdin.end();
  child.kill();
  await child.exited;
  return [first, second];
}

/** Installs the reference server outside the project's own dependencies. */
function reference(): string[] {
  const entry = join(PEERS, "node_modules/@modelcontextprotocol/server-memory/dist/index.js");
  if (!existsSync(entry)) {
    mkdirSync(PEERS, { recursive: true });
    const install = Bun.spawnSync(["npm", "install", "--prefix", PEERS, "--no-audit", "--no-fund", REFERENCE]);
    if (!install.success) throw new Error(`${REFERENCE} cannot be installed here: ${install.stderr}`);
  }
  return ["node", entry];
}

/** CPU milliseconds of the first search of a process in a memory of two rows: the median of as many processes. */
async function firstSearch(): Promise<number> {
  using home = signedInHome();
  Bun.spawnSync([SVC, "mem", "add", "notes", "We deploy blue-green.", "Retro is on Fridays."], {
    env: home.env,
    stdin: "ignore",
  });
  const times: number[] = [];
  for (let run = 0; run <= RUNS; run++) {
    await using connected = await connectWithPid(home);
    const before = cpuOf(connected.pid);
    await call(connected.client, "svc_search", { collection: "notes", query: "how do we deploy" });
    if (run > 0) times.push(cpuOf(connected.pid) - before); // the first warms the page cache
  }
  return median(times);
}

/** Runs the two in turn and compares medians. */
export async function benchStart(): Promise<Line[]> {
  using home = emptyHome();
  const ours: number[] = [];
  const listed: number[] = [];
  const theirs: number[] = [];
  const discovered: number[] = [];
  const listedModern: number[] = [];
  const peer = reference();
  for (let run = 0; run <= RUNS; run++) {
    const [c] = await answers(peer, home.env, LEGACY);
    // In turn, as the one right after the peer takes longer.
    const eras = run % 2 === 0 ? [LEGACY, MODERN] : [MODERN, LEGACY];
    for (const era of eras) {
      const [first, second] = await answers([SVC, "mcp"], home.env, era);
      if (run === 0) continue; // warms the page cache
      (era === LEGACY ? ours : discovered).push(first);
      (era === LEGACY ? listed : listedModern).push(second);
    }
    if (run > 0) theirs.push(c);
  }
  const searched = await firstSearch();
  const against = `server-memory under node (${median(theirs).toFixed(0)} ms)`;
  const [first, second] = [median(ours), median(listed)];
  const ratio = first / median(theirs);
  return [
    {
      what: "spawn to the answer to initialize",
      value: first,
      unit: "ms",
      against,
      ratio,
      goal: "at most 0.100",
      met: ratio <= 0.1,
    },
    {
      what: "spawn to the answer to tools/list",
      value: second,
      unit: "ms",
      goal: "right after initialize",
      met: second - first < first / 2,
    },
    {
      what: "spawn to the answer to server/discover",
      value: median(discovered),
      unit: "ms",
      goal: "at most 30 ms: the client's process that only probes",
      met: median(discovered) <= 30,
    },
    {
      what: "spawn to the answer to tools/list of 2026-07-28",
      value: median(listedModern),
      unit: "ms",
      against: `with initialize (${second.toFixed(0)} ms)`,
      ratio: median(listedModern) / second,
      goal: "at most 1.05",
      met: median(listedModern) <= second * 1.05,
    },
    {
      what: "CPU of the first search of a process",
      value: searched,
      unit: "ms",
      goal: "at most 30 ms",
      met: searched <= 30,
    },
  ];
}
