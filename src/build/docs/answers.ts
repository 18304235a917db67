/**
 * One call of each tool, made on the executable in a home and a repository of their own: the examples of `docs/tools.md`.
 * What differs from machine to machine and from run to run (paths, times, measurements) is replaced by fixed values.
 */
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { VerbName } from "../../memory/requests.ts";

const SVC = join(import.meta.dir, "../../../dist/svc");

/** A call and its answer. */
export interface Example {
  readonly verb: VerbName;
  readonly args: object;
  readonly answer: unknown;
}

const NOTES = {
  texts: [
    "We deploy blue-green and switch after five green minutes.",
    "If errors double within ten minutes of a release, roll back first and look for the cause afterwards.",
    "Green tea is brewed at seventy to eighty degrees for two minutes.",
  ],
  ids: ["deploy", "rollback", "tea"],
  metadata: [{ scope: "work" }, { scope: "work" }, { scope: "home" }],
};

const FILES = {
  "src/lock.ts":
    "/** Takes the writer's lock, and waits for it at most `seconds`. */\n" +
    "export function takeLock(seconds: number): Lock {\n  return waitFor(() => tryLock(), seconds);\n}\n",
  "src/parse.ts": 'export function parseHeader(line: string): string[] {\n  return line.split(":");\n}\n',
  ".env": "KEY=1\n",
};

/** In the order in which they are called: later ones see what earlier ones have stored. */
const CALLS: readonly (readonly [VerbName, object])[] = [
  ["create_collection", { name: "notes", filter_columns: ["kind"], lexical: true }],
  ["add", { collection: "notes", ...NOTES }],
  ["search", { collection: "notes", query: "how do we deploy", top_k: 2, with_text: true, where: { scope: "work" } }],
  ["list_collections", {}],
  ["upsert", { collection: "notes", texts: ["We deploy blue-green, on Tuesdays only."], ids: ["deploy"] }],
  ["update", { collection: "notes", texts: ["Green tea: 75 degrees, two minutes."], ids: ["tea"] }],
  ["ids", { collection: "notes", limit: 2 }],
  ["count", { collection: "notes", where: { scope: "home" } }],
  ["get", { collection: "notes", ids: ["tea", "coffee"] }],
  ["build_lexical", { collection: "notes" }],
  ["search_lexical", { collection: "notes", query: "green tea" }],
  ["delete", { collection: "notes", ids: ["rollback", "coffee"] }],
  ["compact", { collection: "notes" }],
  ["stats", { collection: "notes" }],
  ["build_ivf", { collection: "notes" }],
  ["tune", { collection: "notes", dry_run: true }],
  ["index_repo", {}],
  ["repo_search", { query: "where is the lock taken", top_k: 1 }],
  ["workspace_info", {}],
];

/** What a clock, a measurement or the name of the build decides, by the name of its field. */
const VARIES: Readonly<Record<string, unknown>> = {
  created: 1_795_500_000_000,
  updated: 1_795_500_000_000,
  last_write: "2026-11-24 06:00Z",
  p50_ms: 0.05,
  p95_ms: 0.08,
  exact_crossover_rows: 50,
  disk_bytes: 57_710,
  plan_id: "5a77b9170016c6a7",
};

/** Makes every call. @throws where the executable is missing, or one fails */
export async function makeExamples(): Promise<Example[]> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "svc-examples-")));
  try {
    const env = { PATH: process.env.PATH ?? "", HOME: home, SVC_HOME: join(home, ".svc") };
    const login = Bun.spawnSync([SVC, "login", "--yes"], { env, stdout: "ignore", stderr: "pipe" });
    if (!login.success) throw new Error(`svc login failed: ${login.stderr}`);
    const root = join(home, "project");
    for (const [path, text] of Object.entries(FILES)) {
      mkdirSync(join(root, path, ".."), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    // Enough of a repository for svc, which reads git's files by itself.
    cpSync(emptyGit(home), join(root, ".git"), { recursive: true });
    const client = new Client({ name: "documents", version: "1" });
    await client.connect(
      new StdioClientTransport({ command: SVC, args: ["mcp", "--workspace", root], env, cwd: home, stderr: "inherit" }),
    );
    const examples: Example[] = [];
    try {
      for (const [verb, args] of CALLS) examples.push({ verb, args, answer: await call(client, verb, args, root) });
    } finally {
      await client.close();
    }
    return examples;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** A `.git` folder without commits. */
function emptyGit(home: string): string {
  const git = join(home, "git");
  for (const folder of ["objects", "refs/heads"]) mkdirSync(join(git, folder), { recursive: true });
  writeFileSync(join(git, "HEAD"), "ref: refs/heads/main\n");
  writeFileSync(join(git, "config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n");
  return git;
}

async function call(client: Client, verb: VerbName, args: object, root: string): Promise<unknown> {
  const answer = await client.callTool({ name: `svc_${verb}`, arguments: { ...args } });
  const text = (answer.content as { text: string }[])[0]!.text;
  if (answer.isError) throw new Error(`svc_${verb}: ${text}`);
  const repoId = new Bun.CryptoHasher("sha1").update(root).digest("hex").slice(0, 16);
  return fixed(JSON.parse(text.replaceAll(root, "/path/to/project").replaceAll(repoId, "0123456789abcdef")));
}

function fixed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fixed);
  if (typeof value === "string") return value.replaceAll(/\d+\.\d+ ms/g, "0.05 ms");
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, isVarying(key, each) ? VARIES[key] : fixed(each)]),
  );
}

/** `updated` is also how many rows were updated, and `created` the name of a collection. */
function isVarying(key: string, value: unknown): boolean {
  const isCount = (key === "created" || key === "updated") && !(typeof value === "number" && value > 1e12);
  return key in VARIES && !isCount;
}
