/** Questions to `svc mcp` over stdio. */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { call, connectWithPid, type Home } from "../home.ts";
import { median, quantile, timed } from "../measure.ts";
import { cpuOf, memoryOf } from "../processes.ts";
import { type Answered, type Kinds, type ServerMemory, TOOLS, type Tool } from "./figures.ts";
import { COLLECTION, PARTITION } from "./ours.ts";

const ROUNDS = 3;
/** Questions of one way before the next has its turn: its CPU time is that of them all. */
const BATCH = 10;
const PINGS = 200;
const MEMORY_QUESTIONS = 200;

const REQUESTS: Readonly<Record<Tool, { name: string; args: object }>> = {
  fused: { name: "svc_search", args: {} },
  lexical: { name: "svc_search_lexical", args: {} },
  fusedTenth: { name: "svc_search", args: { where: { scope: PARTITION } } },
  lexicalTenth: { name: "svc_search_lexical", args: { where: { scope: PARTITION } } },
};

type Questions = Readonly<Record<string, readonly string[]>>;

function ask(client: Client, tool: Tool, query: string) {
  const { name, args } = REQUESTS[tool];
  return call(client, name, { collection: COLLECTION, query, ...args });
}

/** Asks every question in every way, which take turns, and measures the client's time and the server's CPU. */
export async function askTools(home: Home, questions: Questions) {
  await using server = await connectWithPid(home);
  const { client, pid } = server;
  const answered = Object.fromEntries(TOOLS.map((tool) => [tool, {}])) as Record<Tool, Kinds<Answered>>;
  for (const [kind, list] of Object.entries(questions)) {
    const times = Object.fromEntries(TOOLS.map((tool) => [tool, [] as number[]])) as Record<Tool, number[]>;
    const cpu = Object.fromEntries(TOOLS.map((tool) => [tool, [] as number[]])) as Record<Tool, number[]>;
    for (const tool of TOOLS) for (const query of list.slice(0, BATCH)) await ask(client, tool, query);
    for (let round = 0; round < ROUNDS; round++) {
      for (let at = 0; at < list.length; at += BATCH) {
        const batch = list.slice(at, at + BATCH);
        for (const tool of TOOLS) {
          const before = cpuOf(pid);
          for (const query of batch) times[tool].push(await timed(() => ask(client, tool, query)));
          cpu[tool].push((cpuOf(pid) - before) / batch.length);
        }
      }
    }
    for (const tool of TOOLS) {
      const [p50, p95] = [median(times[tool]), quantile(times[tool], 0.95)];
      answered[tool][kind] = { p50, p95, cpu: median(cpu[tool]) };
    }
  }
  const pings: number[] = [];
  for (let i = 0; i < PINGS; i++) pings.push(await timed(() => client.ping()));
  return { mcp: answered, ping: median(pings) };
}

/** Memory of a new server before and after fused questions of up to 20 words. */
export async function memoryOfServer(
  home: Home,
  questions: Questions,
  kinds: readonly string[],
): Promise<ServerMemory> {
  await using server = await connectWithPid(home);
  const { client, pid } = server;
  await call(client, "svc_list_collections", {});
  const before = memoryOf(pid);
  for (let i = 0; i < MEMORY_QUESTIONS; i++) {
    const list = questions[kinds[i % kinds.length]!]!;
    await ask(client, "fused", list[Math.floor(i / kinds.length) % list.length]!);
  }
  return { questions: MEMORY_QUESTIONS, before, after: memoryOf(pid) };
}
