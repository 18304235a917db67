/** Every command that takes a folder refuses an address as wrong usage, and makes nothing of that name. */
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { isGroup, type Node, positionalsOf, reach, refuseMisread } from "../../src/cli/terminal/citty.ts";
import { type Args, isUsage, MEMORY_PATH } from "../../src/cli/terminal/command.ts";
import { ROOT } from "../../src/commands.ts";
import { errorLine } from "../../src/errors.ts";
import { svc, temporaryFolder } from "./support.ts";

/** The words of every command, below a node. */
function commandsOf(node: Node, words: string[] = []): string[][] {
  const members = Object.entries(node.subCommands ?? {}).flatMap(([word, one]) =>
    commandsOf(one as Node, [...words, word]),
  );
  return isGroup(node) ? members : [words, ...members];
}

/** What a command line is refused with; undefined where it is not. */
async function refusal(words: string[]): Promise<string | undefined> {
  try {
    await refuseMisread(reach(ROOT, words));
    return undefined;
  } catch (error) {
    return isUsage(error) ? errorLine(error) : `not as wrong usage: ${error}`;
  }
}

const isFolder = ({ valueHint, completes }: Args[string]) => valueHint === "DIR" || completes === "folder";

/** Values for the positionals of a command, `given` for those that are folders. */
const positionals = (args: Args, given: string) =>
  positionalsOf(args).map(([, arg]) => (isFolder(arg) ? given : (arg.choices?.[0] ?? "x")));

test("each flag and each positional that is a folder", async () => {
  const seen: string[] = [];
  for (const words of commandsOf(ROOT)) {
    const args = await reach(ROOT, words).node.args();
    for (const [name, arg] of Object.entries(args).filter(([, one]) => isFolder(one))) {
      const isPositional = arg.type === "positional";
      const line = isPositional
        ? [...words, ...positionals(args, "tcp://h:1")]
        : [...words, ...positionals(args, "folder"), `--${name}`, "tcp://h:1"];
      const called = isPositional ? name.toUpperCase() : `--${name}`;
      expect(await refusal(line)).toStartWith(`ValueError: ${called}: 'tcp://h:1' is an address, not a folder: `);
      seen.push([...words, called].join(" "));
    }
    // A new command that takes a memory takes it as the others do.
    if (args.path !== undefined && args.path.type !== "positional") expect(args.path).toBe(MEMORY_PATH);
  }
  expect(seen).toContain("mem add --path");
  expect(seen).toContain("mem backup DIR");
  expect(seen).toContain("mcp --path");
  expect(seen).toContain("mcp install --path");
  expect(seen).toContain("serve --path");
  expect(seen).toContain("doctor --path");
});

test("nothing is made of an address", async () => {
  using folder = temporaryFolder();
  const LINES: [string[], string][] = [
    [["mem", "list", "--path", "https://h/x"], "--path: 'https://h/x' is an address, not a folder: give a folder of"],
    [
      ["mem", "add", "notes", "x", "--path", "localhost:1"],
      "--path: 'localhost:1' is an address, not a folder: give a",
    ],
    [["mem", "restore", "file:///srv/b"], "DIR: 'file:///srv/b' is an address, not a folder: write '/srv/b'"],
    [["mcp", "--path", "tcp://h:1"], "--path: 'tcp://h:1' is an address, not a folder: give a folder of this machine"],
    [
      ["serve", "--path", "tls://h:1", "--socket", "s"],
      "--path: 'tls://h:1' is an address, not a folder: give a folder",
    ],
    [
      ["serve", "--socket", "unix:///run/s.sock"],
      "--socket: 'unix:///run/s.sock' is an address, not a path: write '/run/",
    ],
    [["serve", "--socket", "tcp://h:1"], "--socket: 'tcp://h:1' is an address, not a path: give a path"],
  ];
  for (const [words, sentence] of LINES) {
    const { code, stdout, stderr } = await svc(words, { cwd: folder.path });
    expect(stderr).toContain(`svc: ${sentence}`);
    expect({ words, code, stdout }).toEqual({ words, code: 2, stdout: "" });
  }
  const exported = await svc(["mem", "export", "notes", "https://h/x"], { cwd: folder.path });
  expect(exported.stderr).toBe("svc: 'https://h/x' is an address, not a file: name a file of this machine\n");
  expect(readdirSync(folder.path)).toEqual([]);
});

test("the doctor names the variable that has an address, and looks at all else", async () => {
  using folder = temporaryFolder();
  const env = { SVC_MEMORY_PATH: "tcp://h:1" };
  const { code, stdout } = await svc(["doctor", "--json"], { cwd: folder.path, env });
  expect(code).toBe(1);
  const { findings } = JSON.parse(stdout) as { findings: { check: string; area: string; message: string }[] };
  const found = findings.find(({ check }) => check === "memory.address");
  expect(found?.message).toStartWith("SVC_MEMORY_PATH: 'tcp://h:1' is an address, not a folder: ");
  expect(findings.map(({ area }) => area)).toContain("clients");
  expect(readdirSync(folder.path)).toEqual([]);
});
