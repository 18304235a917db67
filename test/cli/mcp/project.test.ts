/** The flag `svc mcp --project`: what it takes, and that it follows the workspace. */
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { temporary } from "../../repo/helpers.ts";
import { svc } from "../support.ts";

const PARAMS = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
const stdin = `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: PARAMS })}\n`;

async function instructions(words: string[], env: Record<string, string> = {}): Promise<string> {
  const { code, stdout } = await svc(["mcp", ...words], { stdin, env });
  expect(code).toBe(0);
  return JSON.parse(stdout).result.instructions;
}

function folder(name: string): string {
  const path = join(temporary(), name);
  mkdirSync(path);
  return path;
}

test("auto follows --workspace, SVC_MCP_WORKSPACE and CLAUDE_PROJECT_DIR; a name is taken as it is", async () => {
  const [one, two, three] = [folder("one"), folder("two"), folder("three")];
  const env = { SVC_MCP_WORKSPACE: two, CLAUDE_PROJECT_DIR: three };
  expect(await instructions(["--project", "auto", "--workspace", one], env)).toContain("rows get 'one',");
  expect(await instructions(["--project", "auto"], env)).toContain("rows get 'two',");
  expect(await instructions(["--project", "auto"], { CLAUDE_PROJECT_DIR: three })).toContain("rows get 'three',");
  expect(await instructions(["--project", "shop"], env)).toContain("rows get 'shop',");
  expect(await instructions([], env)).not.toContain("rows get");
});

test("what no scope can be is wrong usage", async () => {
  const { code, stdout, stderr } = await svc(["mcp", "--project", "a\nb"], { stdin });
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain("--project 'a\\nb' is not a scope: give a name without control characters");
});
