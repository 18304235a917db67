/** What `svc __complete` proposes, of the tree of commands; `test/e2e/completions.test.ts` has the shells. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import mem from "../../../src/cli/mem/group.ts";
import { flagNames, type Node } from "../../../src/cli/terminal/citty.ts";
import { answerShell, complete } from "../../../src/cli/terminal/complete.ts";
import { bashLine } from "../../../src/cli/terminal/shell-words.ts";
import { ROOT } from "../../../src/commands.ts";
import { svc, temporaryFolder } from "../support.ts";

/** Of bash, as it comes. */
const BREAKS = " \t\n\"'@><=;|&(:";

async function proposed(words: string[], memory = "/nowhere") {
  const { kind, candidates } = await complete(ROOT, words.slice(0, -1), words.at(-1)!, { SVC_MEMORY_PATH: memory });
  return kind === "words" ? candidates.map(({ word }) => word) : kind;
}

/** A memory with these collections. */
function memoryOf(names: string[]) {
  const folder = temporaryFolder();
  for (const name of names) {
    mkdirSync(join(folder.path, name));
    writeFileSync(join(folder.path, name, "collection.json"), "{}");
  }
  return folder;
}

describe("what may stand at the cursor", () => {
  test("commands, then verbs", async () => {
    expect(await proposed([""])).toEqual(Object.keys(ROOT.subCommands!));
    expect(await proposed(["mem", ""])).toEqual(Object.keys(mem.subCommands!));
    expect(await proposed(["--json", "mem", "--path", "D", ""])).toEqual(Object.keys(mem.subCommands!));
    expect(await proposed(["help", "mem", ""])).toEqual(Object.keys(mem.subCommands!));
    expect(await proposed(["mem", "-"])).toEqual(["--json", "--path", "--help"]);
  });

  /** All nodes that run. */
  const leaves = (node: Node): Node[] => [
    ...(node.run ? [node] : []),
    ...Object.values(node.subCommands ?? {}).flatMap(leaves),
  ];
  // After `help` stand the names of other commands.
  const all = leaves(ROOT).filter(({ meta }) => meta.name !== "svc help");
  test.each(all.map((node) => [node.meta.name, node] as const))("every flag of %s", async (name, node) => {
    const words = name.split(" ").slice(1);
    const args = await node.args();
    const flags = [...flagNames(args)].filter(([flag, of]) => args[of]!.default !== true || flag.startsWith("--no-"));
    expect(await proposed([...words, "--"])).toEqual([...flags.map(([flag]) => flag), "--help"]);
    for (const [flag, of] of flags) {
      const { type, valueHint, completes } = args[of]!;
      if (type === "boolean") continue;
      const found = await proposed([...words, flag, ""]);
      if (type === "enum") expect(found).toEqual([...(args[of] as { options: string[] }).options]);
      else if (typeof completes === "object") expect(found).toEqual([...completes]);
      else if (valueHint === "FILE") expect(found).toBe("files");
      else if (valueHint === "DIR") expect(found).toBe("folders");
      else expect(found).toEqual([]);
    }
  });

  test("a flag that was given is not proposed again, unless it may be", async () => {
    const found = await proposed(["mem", "add", "--json", "--id", "a", "--metadata={}", "--"]);
    expect(found).not.toContain("--json");
    expect(found).toContain("--id");
    expect(found).toContain("--metadata");
  });

  test("values behind =, collections, files, nothing for texts", async () => {
    using memory = memoryOf(["notes", "my notes"]);
    expect(await proposed(["mem", "repo-search", "--form=l"])).toEqual(
      ["lines", "files", "grep", "windows"].map((form) => `--form=${form}`),
    );
    for (const words of [
      ["get"],
      ["search", "--top-k", "3"],
      ["export"],
      ["check"],
      ["backup", "D"],
      ["drop"],
      ["count", "--"],
    ])
      expect(await proposed(["mem", ...words, ""], memory.path)).toEqual(["my notes", "notes"]);
    expect(await proposed(["mem", "--path", memory.path, "count", ""])).toEqual(["my notes", "notes"]);
    expect(await proposed(["mem", "count", `--path=${memory.path}`, ""])).toEqual(["my notes", "notes"]);
    expect(await proposed(["mem", "repo-search", "--collection", ""], memory.path)).toEqual(["my notes", "notes"]);
    expect(await proposed(["mem", "import", "notes", ""])).toBe("files");
    expect(await proposed(["mcp", "install", "--client", ""])).toContain("claude-code");
    expect(await proposed(["mcp", ""])).toEqual(["install", "uninstall", "status", "hook"]);
    expect(await proposed(["authority", "devices", ""])).toEqual(["list", "rename", "revoke", "allow"]);
    expect(await proposed(["mem", "backup", ""])).toBe("folders");
    expect(await proposed(["mem", "search", "notes", ""], memory.path)).toEqual([]);
    expect(await proposed(["mem", "count", "notes", ""], memory.path)).toEqual([]);
    expect(await proposed(["mem", "add", "notes", "--", "--"], memory.path)).toEqual([]);
  });

  test("names that a terminal would obey are left out", async () => {
    using memory = memoryOf(["notes", "a\nb", "a\tb", "a\x1b[1A", "a\u202eb"]);
    expect(await proposed(["mem", "count", ""], memory.path)).toEqual(["notes"]);
  });

  test("a collection's name is written so that the shell takes it for one word", async () => {
    using memory = memoryOf(["my notes", "$(touch x)", "a:b"]);
    const env = { SVC_MEMORY_PATH: memory.path };
    const bash = async (line: string) => (await answerShell(ROOT, ["bash", line, BREAKS], env)).split("\n");
    expect(await bash("svc mem count ")).toEqual(["words", "\\$\\(touch\\ x\\)", "a:b", "my\\ notes"]);
    expect(await bash('svc mem count "$')).toEqual(["words", "\\$(touch x)"]);
    expect(await bash("svc mem count a:")).toEqual(["words", "b"]);
    expect(await bash("svc mem export notes > ")).toEqual(["files"]);
    expect(await answerShell(ROOT, ["zsh", "mem", "count", "a"], env)).toContain("\na\\:b:collection\n");
  });
});

describe("a bash line", () => {
  const CASES: [string, string[], string][] = [
    ["svc mem se", ["svc", "mem"], "se"],
    ["svc mem ", ["svc", "mem"], ""],
    ["svc 'a b' \"c d\" e\\ f g", ["svc", "a b", "c d", "e f"], "g"],
    ["svc `y` ${z", ["svc", "`y`"], "${z"],
    ['svc "a \\" b', ["svc"], 'a " b'],
    ["svc ''", ["svc"], ""],
    ["a; b | svc x", ["svc"], "x"],
    ["svc x > f y", ["svc", "x"], "y"],
    ["svc a\\", ["svc"], "a"],
  ];
  test.each(CASES)("%s", (line, words, current) => {
    expect(bashLine(line, BREAKS)).toMatchObject({ words, current });
  });
});

test("nothing but a list of names is printed, whatever the request is", async () => {
  for (const request of [[], ["bash"], ["bash", "svc \u0000"], ["zsh"], ["fish", "--", ""], ["tcsh", "mem", ""]]) {
    const { code, stderr } = await svc(["__complete", ...request.filter((word) => !word.includes("\u0000"))]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  }
});
