/**
 * Makes the samples of other memories with their real packages: `bun test/data/imports/make.ts [FOLDER]`. FOLDER has the
 * packages installed; without it they are installed into a temporary one with npm. Nothing of it is a test.
 */

import { Database } from "bun:sqlite";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const VERSIONS = [
  "@modelcontextprotocol/server-memory@2026.8.31",
  "chromadb@3.5.0",
  "mem0ai@3.3.1",
  "better-sqlite3@12",
];
const HERE = import.meta.dir;
const work = mkdtempSync(join(tmpdir(), "svc-samples-"));
const packages = process.argv[2] ?? install();
const env = { ...process.env, HOME: work, MEM0_TELEMETRY: "false", ANONYMIZED_TELEMETRY: "False" } as Record<
  string,
  string
>;

function install(): string {
  const ended = Bun.spawnSync(["npm", "install", "--prefix", work, "--no-audit", "--no-fund", ...VERSIONS], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (!ended.success) throw new Error("npm could not install the packages");
  return work;
}

/** Runs a module with node, where the packages' native parts load. */
async function node(name: string, source: string, more: Record<string, string> = {}): Promise<void> {
  const file = join(packages, `svc-sample-${name}.mjs`);
  await Bun.write(file, source);
  const child = Bun.spawn(["node", file], {
    cwd: work,
    env: { ...env, ...more },
    stdout: "inherit",
    stderr: "inherit",
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), 60_000);
  const code = await child.exited;
  clearTimeout(timer);
  rmSync(file);
  if (code !== 0) throw new Error(`${name} ended with ${code}`);
}

/** The reference memory server, as a client uses it. */
async function memoryServer(): Promise<void> {
  const file = join(work, "memory.jsonl");
  const program = join(packages, "node_modules/@modelcontextprotocol/server-memory/dist/index.js");
  const client = new Client({ name: "samples", version: "1" });
  await client.connect(
    new StdioClientTransport({ command: "node", args: [program], env: { ...env, MEMORY_FILE_PATH: file } }),
  );
  await client.callTool({
    name: "create_entities",
    arguments: {
      entities: [
        { name: "Ada", entityType: "person", observations: ["prefers short answers", "reviews the billing service"] },
        {
          name: "billing service",
          entityType: "service",
          observations: ["is deployed blue-green", "keeps its ledger in PostgreSQL 16"],
        },
        { name: "Grüße", entityType: "channel", observations: [] },
      ],
    },
  });
  await client.callTool({
    name: "create_relations",
    arguments: {
      relations: [
        { from: "Ada", to: "billing service", relationType: "maintains" },
        { from: "billing service", to: "Grüße", relationType: "reports_to" },
      ],
    },
  });
  await client.callTool({
    name: "add_observations",
    arguments: {
      observations: [
        { entityName: "Ada", contents: ['works from Lisbon, "mostly" in the mornings\nand on call on Tuesdays'] },
      ],
    },
  });
  await client.close();
  copyFileSync(file, join(HERE, "memory.jsonl"));
}

/** A Chroma server with two collections; what get() returns of one, and the folder that is left. */
async function chroma(): Promise<void> {
  const data = join(work, "chroma");
  mkdirSync(data);
  const cli = join(packages, "node_modules/chromadb/dist/cli.mjs");
  const port = String(20_000 + Math.floor(Math.random() * 20_000));
  const server = Bun.spawn(["node", cli, "run", "--path", data, "--host", "127.0.0.1", "--port", port], {
    cwd: work,
    env,
    stdout: "ignore",
    stderr: "inherit",
  });
  try {
    await node(
      "chroma",
      `import { ChromaClient } from "chromadb";
       import { writeFileSync } from "node:fs";
       const client = new ChromaClient({ host: "127.0.0.1", port: ${port} });
       for (let i = 0; i < 100; i++) try { await client.heartbeat(); break; } catch { await new Promise((r) => setTimeout(r, 100)); }
       const notes = await client.createCollection({ name: "notes", embeddingFunction: null, metadata: { team: "platform" } });
       await notes.add({
         ids: ["rollback", "pager", "cache", "old"],
         embeddings: [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]],
         documents: ["The engineer on call rolls back first and looks for the cause afterwards.", "The pager rotates on Tuesdays at ten.", "Expiry of the cache has a jitter of ten percent.", "This one was deleted."],
         metadatas: [{ scope: "operations", priority: 1, urgent: true }, { scope: "operations", weight: 0.5 }, { scope: "engineering", tags: ["cache", "performance"] }, { scope: "operations" }],
       });
       await notes.delete({ ids: ["old"] });
       await notes.update({ ids: ["pager"], embeddings: [[0, 1, 1]], documents: ["The pager rotates on Wednesdays at ten."], metadatas: [{ scope: "operations" }] });
       const vectors = await client.createCollection({ name: "vectors", embeddingFunction: null });
       await vectors.add({ ids: ["v1", "v2"], embeddings: [[1, 0], [0, 1]], metadatas: [{ kind: "picture" }, { kind: "picture" }] });
       await vectors.add({ ids: ["v3"], embeddings: [[1, 1]], documents: ["A picture with a caption."] });
       await vectors.count();
       writeFileSync("chroma-get.json", JSON.stringify(await notes.get({ include: ["documents", "metadatas", "embeddings", "uris"] }), null, 1) + "\\n");
       process.exit(0);`,
    );
  } finally {
    server.kill("SIGKILL");
    await server.exited;
  }
  copyFileSync(join(work, "chroma-get.json"), join(HERE, "chroma-get.json"));
  const file = join(data, "chroma.sqlite3");
  // Its 47 tables and indexes have a page each; smaller pages hold the same in a quarter of the room.
  const db = new Database(file);
  db.run("PRAGMA page_size=512");
  db.run("VACUUM");
  db.close();
  mkdirSync(join(HERE, "chroma"), { recursive: true });
  copyFileSync(file, join(HERE, "chroma/chroma.sqlite3"));
}

/** mem0's Memory, with a stand-in for the endpoint that makes embeddings; nothing is inferred by a model. */
async function mem0(): Promise<void> {
  const endpoint = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { input, encoding_format } = (await request.json()) as {
        input: string | string[];
        encoding_format?: string;
      };
      const data = [input].flat().map((text, index) => {
        const vector = Float32Array.from({ length: 8 }, (_, i) => (text.charCodeAt(i % text.length) % 16) / 16);
        const embedding = encoding_format === "base64" ? Buffer.from(vector.buffer).toString("base64") : [...vector];
        return { object: "embedding", index, embedding };
      });
      return Response.json({ object: "list", data, model: "samples", usage: { prompt_tokens: 1, total_tokens: 1 } });
    },
  });
  try {
    await node(
      "mem0",
      `import { Memory } from "mem0ai/oss";
       import { writeFileSync } from "node:fs";
       const baseURL = "http://127.0.0.1:${endpoint.port}/v1";
       const memory = new Memory({
         embedder: { provider: "openai", config: { apiKey: "none", baseURL, url: baseURL, model: "samples", embeddingDims: 8 } },
         llm: { provider: "openai", config: { apiKey: "none", baseURL, model: "none" } },
         vectorStore: { provider: "memory", config: { collectionName: "memories", dimension: 8 } },
       });
       const add = (text, more) => memory.add(text, { infer: false, ...more });
       await add("Likes window seats and vegetarian meals", { userId: "ada", metadata: { category: "travel" } });
       await add("Works in UTC+1 and answers mails before ten", { userId: "ada", metadata: { category: "work", priority: 2 } });
       const { results } = await add("Has a meeting with Grace on Friday", { userId: "ada", agentId: "planner" });
       await memory.update(results[0].id, "Has a meeting with Grace on Monday");
       writeFileSync("mem0.json", JSON.stringify(await memory.getAll({ filters: { user_id: "ada" } }), null, 1) + "\\n");
       process.exit(0);`,
    );
  } finally {
    await endpoint.stop(true);
  }
  copyFileSync(join(work, "mem0.json"), join(HERE, "mem0.json"));
  mkdirSync(join(HERE, "mem0"), { recursive: true });
  copyFileSync(join(work, ".mem0/vector_store.db"), join(HERE, "mem0/vector_store.db"));
}

await memoryServer();
await chroma();
await mem0();
rmSync(work, { recursive: true });
