/** A scratch home with a signed-in, installed runtime, and MCP clients on the compiled executable. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

/** The executable under test. */
export const SVC = join(import.meta.dir, "../../dist/svc");

/** A home that is removed at the end of the block that uses it. */
export interface Home extends Disposable {
  dir: string;
  env: Record<string, string>;
  /** The executable that runs in it. */
  svc: string;
  /** Where its servers start; undefined: in the working directory. */
  cwd?: string;
}

/** A folder that is removed at the end of the block that uses it. */
export function scratchFolder(): { path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), "svc-bench-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** An empty home. */
export function emptyHome(svc = SVC): Home {
  const { path: dir, [Symbol.dispose]: dispose } = scratchFolder();
  const env = { ...(process.env as Record<string, string>), SVC_HOME: dir, SVC_MEMORY_PATH: join(dir, "memory") };
  return { dir, env, svc, [Symbol.dispose]: dispose };
}

/** A home that `svc login --yes` has set up. */
export function signedInHome(svc = SVC): Home {
  const home = emptyHome(svc);
  const login = Bun.spawnSync([svc, "login", "--yes"], { env: home.env, stdin: "ignore" });
  if (!login.success) throw new Error(`svc login failed: ${login.stderr}`);
  return home;
}

/** A client that talks to `svc mcp` in that home. */
export async function connect(home: Home, ...args: string[]): Promise<Client> {
  return (await connectWithPid(home, ...args)).client;
}

interface Connected extends AsyncDisposable {
  client: Client;
  pid: number;
}

/** The same, with the id of the server's process; the client is closed at the end of the block that uses this. */
export async function connectWithPid(home: Home, ...args: string[]): Promise<Connected> {
  const client = new Client({ name: "bench", version: "1" });
  const { svc: command, env, cwd } = home;
  const transport = new StdioClientTransport({ command, args: ["mcp", ...args], env, ...(cwd ? { cwd } : {}) });
  await client.connect(transport);
  return { client, pid: transport.pid!, [Symbol.asyncDispose]: () => client.close() };
}

/** Calls a tool and reads its payload; an error answer throws. */
export async function call(client: Client, name: string, args: object): Promise<Record<string, unknown>> {
  return JSON.parse(await textOf(client, name, args));
}

/** Calls a tool; returns its text block as the agent reads it. An error answer throws. */
export async function textOf(client: Client, name: string, args: object): Promise<string> {
  const answer = await client.callTool({ name, arguments: args as Record<string, unknown> }, undefined, {
    timeout: 600_000,
  });
  const [block] = answer.content as { text: string }[];
  if (answer.isError) throw new Error(block?.text);
  return block!.text;
}
