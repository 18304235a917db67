/** The end of `svc login`: on a terminal it offers to add svc to the clients that are there, elsewhere it says how. */
import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Screen } from "../cli/terminal.ts";
import { emptyHome, SVC, svc } from "./home.ts";

const home = emptyHome();
const env = { ...home, HOME: home.HOME!, SVC_HOME: home.SVC_HOME!, PATH: "/nowhere" };
afterAll(() => rmSync(env.HOME, { recursive: true, force: true }));
const LOGIN = [SVC, "login", "--yes"];
const cursor = join(env.HOME, ".cursor");
const QUESTION = /add svc to it now\? \[y\/N\] /;

test("without a terminal it prints absolute paths, and asks nothing", async () => {
  mkdirSync(cursor);
  const { code, err } = await svc(env, ["login", "--yes"]);
  expect(code).toBe(0);
  expect(err).toContain(`next: ${SVC} mem add notes`);
  expect(err).toContain(`and ${SVC} mcp install adds svc to MCP clients`);
  expect(err).toContain(
    JSON.stringify({ command: SVC, args: ["mcp", "--with-text", "--login"], env: { SVC_HOME: env.SVC_HOME } }),
  );
  expect(err).not.toContain("[y/N]");
  expect(readdirSync(cursor)).toEqual([]);
});

test("in CI, and where no runtime is installed, a terminal is not asked either", async () => {
  using runner = new Screen(LOGIN, { ...env, CI: "true" });
  expect(await runner.ended).toBe(0);
  using bare = new Screen([...LOGIN, "--no-install"], env);
  expect(await bare.ended).toBe(0);
  for (const { text } of [runner, bare]) expect(text).not.toContain("[y/N]");
  using json = new Screen([...LOGIN, "--json"], env);
  expect(await json.ended).toBe(0);
  expect(json.text).not.toContain("[y/N]");
});

test("Enter is no: nothing is written, and the next step is said", async () => {
  using screen = new Screen(LOGIN, env);
  await screen.until(QUESTION);
  expect(screen.text).toContain("found Cursor on this machine");
  screen.type("\n");
  expect(await screen.ended).toBe(0);
  expect(screen.text).toContain("mcp install adds svc to MCP clients");
  expect(readdirSync(cursor)).toEqual([]);
});

test("Ctrl-D and Ctrl-C are no, and the login is done", async () => {
  for (const key of ["\x04", "\x03"]) {
    using screen = new Screen(LOGIN, env);
    await screen.until(QUESTION);
    screen.type(key);
    expect(await screen.ended).toBe(0);
    expect(screen.text).toContain("next: ");
    expect(readdirSync(cursor)).toEqual([]);
  }
});

test("y adds it, and a client that has it is not asked about again", async () => {
  using screen = new Screen(LOGIN, env);
  await screen.until(QUESTION);
  screen.type("y\n");
  expect(await screen.ended).toBe(0);
  expect(screen.text).toContain("Cursor: added in a new file, ~/.cursor/mcp.json");
  expect(screen.text).toMatch(/answered with 19 tools/);
  expect(existsSync(join(cursor, "mcp.json"))).toBe(true);
  expect(JSON.parse(readFileSync(join(cursor, "mcp.json"), "utf8")).mcpServers.svc.command).toBe(SVC);
  using again = new Screen(LOGIN, env);
  expect(await again.ended).toBe(0);
  expect(again.text).not.toContain("[y/N]");
  expect(again.text).not.toContain("mcp install");
});

test("a client that has it under another name is not asked about either, and a logout names that", async () => {
  const file = join(cursor, "mcp.json");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace('"svc":', '"mine":'));
  using again = new Screen(LOGIN, env);
  expect(await again.ended).toBe(0);
  expect(again.text).not.toContain("[y/N]");
  expect((await svc(env, ["logout"])).err).toContain("'svc mcp uninstall --client cursor --name mine' takes it out");
  writeFileSync(file, text);
});

test("a logout names the clients that still start svc", async () => {
  const { code, err } = await svc(env, ["logout"]);
  expect(code).toBe(0);
  expect(err).toContain("MCP clients still start svc (Cursor): 'svc mcp uninstall' takes it out of them");
});
