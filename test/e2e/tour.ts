/**
 * `npm start`: svc from sign-in to search. Signs in, installs and verifies the runtime into a scratch home, then a real
 * MCP client adds, searches and reads through the compiled executable. Prints each step and how long it took.
 */

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ended } from "../ended.ts";

const ROOT = join(import.meta.dir, "../..");
const SVC = join(ROOT, "dist/svc");
const home = mkdtempSync(join(tmpdir(), "svc-tour-"));
const env = { ...(process.env as Record<string, string>), SVC_HOME: home, SVC_MEMORY_PATH: join(home, "memory") };

/** Does one step and prints its result and how long it took. */
async function step<T>(title: string, work: () => Promise<T>, say: (result: T) => string = () => ""): Promise<T> {
  const start = performance.now();
  const result = await work();
  const ms = (performance.now() - start).toFixed(1).padStart(8);
  console.log(`${ms} ms  ${title}`);
  for (const line of say(result).split("\n").filter(Boolean)) console.log(`             ${line}`);
  return result;
}

/** Runs the executable to its end; a failure shows its stderr. */
async function run(...args: string[]): Promise<string> {
  const child = Bun.spawn([SVC, ...args], { env, stdout: "pipe", stderr: "pipe", stdin: "ignore" });
  const { out, err, code } = await ended(child);
  if (code !== 0) throw new Error(`svc ${args.join(" ")} ended with ${code}\n${err}`);
  return out;
}

type Payload = Record<string, unknown> & { hits?: { id: string; metadata?: Record<string, unknown> }[] };

async function call(client: Client, name: string, args: Record<string, unknown>): Promise<Payload> {
  const answer = await client.callTool({ name, arguments: args }, undefined, { timeout: 120_000 });
  const text = (answer.content as { text: string }[])[0]!.text;
  if (answer.isError) throw new Error(`${name}: ${text}`);
  return JSON.parse(text) as Payload;
}

const best = (payload: Payload) =>
  payload
    .hits!.map(
      (hit, i) =>
        `${i + 1}. ${hit.metadata?.path ?? hit.id}${hit.metadata?.start_line ? `:${hit.metadata.start_line}` : ""}`,
    )
    .join("\n");

async function tour(): Promise<void> {
  await step("signed in on this machine, installed and verified the runtime", () => run("login", "--yes"));
  await step("checked every signature and hash again", () => run("runtime", "verify"));
  const client = new Client({ name: "tour", version: "1" });
  const transport = new StdioClientTransport({
    command: SVC,
    args: ["mcp", "--workspace", ROOT],
    env,
    stderr: "inherit",
  });
  await step("spawned `svc mcp` and shook hands", () => client.connect(transport));
  await step(
    "listed the tools",
    () => client.listTools(),
    ({ tools }) => `${tools.length} tools`,
  );

  const notes = readFileSync(join(ROOT, "test/data/notes.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const rows = { ids: notes.map((n) => n.id), texts: notes.map((n) => n.text), metadata: notes.map((n) => n.metadata) };
  await step(
    "added notes",
    () => call(client, "svc_add", { collection: "notes", ...rows }),
    (p) => `${p.added} texts, durable`,
  );
  const query = "how do we switch to a new version without downtime?";
  const found = await step(
    `searched them: "${query}"`,
    () => call(client, "svc_search", { collection: "notes", query, top_k: 3 }),
    best,
  );
  const filtered = { collection: "notes", query: "how hot does the bread bake?", top_k: 2, where: { scope: "home" } };
  await step("searched within one scope: home", () => call(client, "svc_search", filtered), best);
  const id = found.hits![0]!.id;
  await step(
    `read a row back: ${id}`,
    () => call(client, "svc_get", { collection: "notes", ids: [id] }),
    (p) => (p.rows as { text: string }[])[0]!.text.slice(0, 90) + "...",
  );
  await step(
    "indexed this repository",
    () => call(client, "svc_index_repo", { path: ROOT }),
    (p) => `${p.files_tracked} files, ${p.chunks_added} chunks`,
  );
  const code = "where is the writer's lock taken?";
  await step(`searched it: "${code}"`, () => call(client, "svc_repo_search", { query: code, top_k: 3 }), best);
  await step("closed the client; the server ended by itself", () => client.close());
}

function closing(): string {
  const block = { mcpServers: { svc: { command: SVC, args: ["mcp"] } } };
  return `
Everything above ran in a scratch home that is gone now. To use svc yourself, sign in once:

  ${SVC} login

and paste this into your client's MCP configuration:

${JSON.stringify(block, null, 2)}`;
}

if (!existsSync(SVC)) throw new Error("dist/svc is missing: run npm run build");
try {
  await tour();
  console.log(closing());
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  rmSync(home, { recursive: true, force: true });
}
