/** SVC_HOME is a file: every command of the executable says so, and none asks for a login that could not be kept. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isGroup, type Node } from "../../src/cli/terminal/citty.ts";
import { ROOT } from "../../src/commands.ts";
import { emptyHome, type Home, svc } from "./home.ts";

/** Commands that need nothing in SVC_HOME, or report its state themselves. */
const WORK = [
  "svc completions",
  "svc doctor",
  "svc help",
  "svc mcp",
  "svc mcp hook",
  "svc runtime verify",
  "svc version",
];

let env: Home;
beforeAll(() => {
  env = emptyHome();
  writeFileSync(env.SVC_HOME!, "notes of mine");
});
afterAll(() => rmSync(env.HOME!, { recursive: true, force: true }));

/** The commands below a node that run by themselves. */
function commandsOf(node: Node): Node[] {
  const members = Object.values(node.subCommands ?? {}).flatMap(commandsOf);
  return isGroup(node) ? members : [node, ...members];
}

/** A command line with a value for each argument that it needs. */
async function lineOf(node: Node): Promise<string[]> {
  const values = Object.values(await node.args()).flatMap(({ type, required, choices }) =>
    type === "positional" && required !== false ? [choices?.[0] ?? "x"] : [],
  );
  return [...node.meta.name.split(" ").slice(1), ...values];
}

const COMMANDS = commandsOf(ROOT).filter(({ meta }) => !WORK.includes(meta.name));

test.each(COMMANDS.map((node) => [node.meta.name, node] as const))("%s says it", async (_, node) => {
  const { code, out, err } = await svc(env, await lineOf(node));
  expect([code, out, err]).toEqual([
    1,
    "",
    `svc: SVC_HOME, '${env.SVC_HOME}', is a file and not a folder: set SVC_HOME to a folder of your own, or unset it to use ~/.svc\n`,
  ]);
  expect(readFileSync(env.SVC_HOME!, "utf8")).toBe("notes of mine");
});

test("a folder above it, and the folder of svc without SVC_HOME", async () => {
  const below = { ...env, SVC_HOME: join(env.SVC_HOME!, "svc") };
  expect((await svc(below, ["mem", "list"])).err).toContain(`'${below.SVC_HOME}', would be in a file and not a folder`);
  writeFileSync(join(env.HOME!, ".svc"), "");
  const { SVC_HOME: _, ...unset } = env;
  expect((await svc(unset, ["mem", "list"])).err).toBe(
    "svc: the folder of svc, '~/.svc', is a file and not a folder: move that file away, or set SVC_HOME to a folder of your own\n",
  );
});

test("help and the version are printed all the same, and the doctor names it", async () => {
  for (const words of [["version"], ["mem", "list", "--help"], ["completions", "bash"]])
    expect((await svc(env, words)).code).toBe(0);
  expect((await svc(env, ["doctor"])).out).toContain("SVC_HOME is not a folder");
});
