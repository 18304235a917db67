/** What a note costs beside many, and what each session costs a client before its first call. */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { call, connectWithPid, type Home } from "../home.ts";
import { timed } from "../measure.ts";
import { dayNotes } from "./data.ts";

const BATCH = 100;
const ROUNDS = 200;

/** The sets that `svc mcp --tools` takes. */
const TOOL_SETS = ["all", "core", "read"] as const;

/** What a client receives at the start of a session. */
export interface Greeting {
  set: string;
  tools: number;
  /** Of `tools/list`. */
  listed: Size;
  instructions: Size;
}

interface Size {
  bytes: number;
  tokens: number;
}

/** Texts of a note's length, no two alike: the first half of one note and the second half of another. */
export function manyNotes(count: number): string[] {
  const halves = dayNotes().map(({ text }) => {
    const words = text.split(" ");
    const middle = words.length >> 1;
    return [words.slice(0, middle).join(" "), words.slice(middle).join(" ")] as const;
  });
  const most = halves.length * (halves.length - 1);
  if (count > most) throw new Error(`there are ${most} such texts, not ${count}`);
  return Array.from({ length: count }, (_, i) => {
    const first = i % halves.length;
    const second = (first + 1 + Math.floor(i / halves.length)) % halves.length;
    return `${halves[first]![0]} ${halves[second]![1]}`;
  });
}

/** Milliseconds of adding a note beside so many, over MCP; a list a home. The homes take turns. */
export async function timeAdds(homes: readonly Home[], count: number): Promise<number[][]> {
  const texts = manyNotes(count + ROUNDS);
  const clients = await Promise.all(homes.map(async (home) => (await connectWithPid(home)).client));
  try {
    for (const client of clients) await fill(client, texts.slice(0, count));
    const times = homes.map((): number[] => []);
    for (const [round, text] of texts.slice(count).entries()) {
      const order = clients.map((_, i) => i);
      // What runs second finds the machine as the first left it.
      for (const i of round % 2 === 0 ? order : order.toReversed()) {
        times[i]!.push(await timed(() => call(clients[i]!, "svc_add", { collection: "many", texts: [text] })));
      }
    }
    return times;
  } finally {
    for (const client of clients) await client.close();
  }
}

async function fill(client: Client, texts: readonly string[]): Promise<void> {
  for (let at = 0; at < texts.length; at += BATCH) {
    await call(client, "svc_add", { collection: "many", texts: texts.slice(at, at + BATCH) });
  }
}

/** What each set of tools costs a client. */
export async function greetings(home: Home, countTokens: (text: string) => number): Promise<Greeting[]> {
  const sizeOf = (text: string): Size => ({ bytes: Buffer.byteLength(text), tokens: countTokens(text) });
  const sizes: Greeting[] = [];
  for (const set of TOOL_SETS) {
    await using server = await connectWithPid(home, "--tools", set);
    const { tools } = await server.client.listTools();
    const instructions = server.client.getInstructions() ?? "";
    sizes.push({ set, tools: tools.length, listed: sizeOf(JSON.stringify(tools)), instructions: sizeOf(instructions) });
  }
  return sizes;
}
