/**
 * Spawn to the answers of both eras of the protocol: `initialize` and `tools/list`, beside the reference server-memory
 * under node; and `server/discover` and `tools/list`, without a handshake.
 */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { emptyHome, SVC } from "./home.ts";
import { type Line, median } from "./measure.ts";

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
    const [a, b] = await answers([SVC, "mcp"], home.env, LEGACY);
    const [c] = await answers(peer, home.env, LEGACY);
    const [d, e] = await answers([SVC, "mcp"], home.env, MODERN);
    if (run === 0) continue; // warms the page cache
    ours.push(a);
    listed.push(b);
    theirs.push(c);
    discovered.push(d);
    listedModern.push(e);
  }
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
  ];
}
