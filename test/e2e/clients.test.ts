/** Published MCP clients on the executable, where they can be installed from the registry. */
import { beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ended } from "../ended.ts";
import { ROOT, SVC, signedIn } from "./home.ts";

/** Outside the project's own dependencies, kept between runs. */
const PEERS = join(ROOT, ".build/peers");
const INSPECTOR = "@modelcontextprotocol/inspector@2.12.0";
const MCPORTER = "mcporter@0.12.3";

/** Installs a client once, in a tenth of npm's time; false where the registry cannot be reached. */
function installed(spec: string): boolean {
  const name = spec.slice(0, spec.lastIndexOf("@"));
  if (existsSync(join(PEERS, "node_modules", name, "package.json"))) return true;
  mkdirSync(PEERS, { recursive: true });
  const manifest = join(PEERS, "package.json");
  if (!existsSync(manifest)) writeFileSync(manifest, "{}"); // else the checkout's would be changed
  const add = [process.execPath, "add", "--ignore-scripts", spec];
  const ok = Bun.spawnSync(add, { cwd: PEERS, stdout: "ignore", stderr: "ignore", timeout: 120_000 }).success;
  if (!ok) console.warn(`${spec} cannot be installed here: its test is skipped`);
  return ok;
}

const hasInspector = installed(INSPECTOR);
const hasMcporter = installed(MCPORTER);

let env: Record<string, string>;
beforeAll(async () => {
  env = await signedIn();
});

/** Runs an installed client under node, as `npx` would. */
async function run(bin: string, args: string[]): Promise<string> {
  const command = [join(PEERS, "node_modules/.bin", bin), ...args];
  const child = Bun.spawn(command, { env, cwd: env.HOME, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const { out, err, code } = await ended(child);
  if (code !== 0) throw new Error(`${bin} ended with ${code}\n${err}\n${out}`);
  return out;
}

test.skipIf(!hasInspector)(
  "the inspector lists exactly 19 tools",
  async () => {
    const out = await run("mcp-inspector", ["--cli", SVC, "mcp", "--method", "tools/list"]);
    const { tools } = JSON.parse(out);
    expect(tools.length).toBe(19);
    expect(tools.every((tool: { description: string }) => tool.description.length > 18)).toBe(true);
  },
  60_000,
);

test.skipIf(!hasMcporter)(
  "a call through mcporter works",
  async () => {
    await run("mcporter", [
      "call",
      "--stdio",
      `${SVC} mcp`,
      "svc_add",
      "--args",
      '{"collection":"porter","texts":["hello"],"ids":["a"]}',
    ]);
    const out = await run("mcporter", [
      "call",
      "--stdio",
      `${SVC} mcp`,
      "svc_count",
      "--args",
      '{"collection":"porter"}',
    ]);
    expect(out).toMatch(/"?count"?:\s*1/);
  },
  60_000,
);
