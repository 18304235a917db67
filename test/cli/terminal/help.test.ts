/** Every command has a help page with each of its flags and an example. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import mem from "../../../src/cli/mem/group.ts";
import type { Node } from "../../../src/cli/terminal/citty.ts";
import { reflowed, renderPage } from "../../../src/cli/terminal/help.ts";
import { ROOT } from "../../../src/commands.ts";
import { svc, temporaryFolder } from "../support.ts";

/** So wide that no line is broken. */
const WIDE = 10_000;

/** All nodes below one, by the words that lead there. */
function nodes(node: Node): [string, Node][] {
  return [[node.meta.name, node], ...Object.values(node.subCommands ?? {}).flatMap(nodes)];
}

const ALL = nodes(ROOT);

describe("help", () => {
  test("there is a page for every command of this release", () => {
    const names = ALL.filter(([, node]) => node.run).map(([name]) => name);
    expect(names.sort()).toEqual(
      [
        "svc mcp",
        ...["install", "uninstall", "status", "hook"].map((name) => `svc mcp ${name}`),
        "svc doctor",
        "svc upgrade",
        "svc ui",
        "svc serve",
        "svc serve invite",
        "svc join",
        "svc serve status",
        "svc serve unit",
        ...["add", "list", "revoke"].map((name) => `svc serve token ${name}`),
        "svc login",
        "svc logout",
        "svc help",
        "svc completions",
        "svc version",
        ...[
          "admin add",
          "admin list",
          "admin remove",
          "audit",
          "backup",
          "devices",
          "enroll",
          "keys",
          "license",
          "serve",
        ].map((name) => `svc authority ${name}`),
        ...["install", "verify", "status", "env"].map((name) => `svc runtime ${name}`),
        ...["add", "upsert", "update", "get", "search", "list", "create", "delete", "ids", "count", "stats"].map(
          (name) => `svc mem ${name}`,
        ),
        ...["describe", "alter", "rename", "drop", "restore", "show", "recent", "edit"].map(
          (name) => `svc mem ${name}`,
        ),
        ...[
          "compact",
          "build-ivf",
          "build-lexical",
          "build-meaning",
          "tune",
          "index",
          "repo-search",
          "repos",
          "export",
          "import",
          "backup",
          "copy",
          "check",
          "history",
          "undo",
          "brief",
          "pin",
        ].map((name) => `svc mem ${name}`),
      ].sort(),
    );
  });

  test.each(ALL)("%s documents its flags and gives an example", async (name, node) => {
    const page = await renderPage(node, WIDE);
    const { details = "", examples } = await node.about();
    expect(page).toContain("-h, --help ");
    expect(page.replace(/\s+/g, " ")).toContain(details.replace(/\s+/g, " "));
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      expect(page).toContain(`\n  ${example}`);
      expect(example).toContain(node.subCommands ? "svc" : name);
    }
    for (const [word, { meta }] of Object.entries(node.subCommands ?? {}))
      expect(page).toMatch(new RegExp(`^ +${word}( |$).*${RegExp.escape(meta.description)}$`, "m"));
    for (const [flag, definition] of Object.entries(await node.args())) {
      const isOn = definition.type === "boolean" && definition.default === true;
      const description = isOn ? definition.negativeDescription : definition.description;
      expect(description).toBeTruthy();
      const line = page.split("\n").find((each) => each.includes(description!))!;
      expect(line).toContain(definition.type === "positional" ? flag.toUpperCase() : `--${isOn ? "no-" : ""}${flag}`);
      if (definition.repeatable) expect(line).toMatch(definition.type === "positional" ? /\.\.\./ : /may be repeated$/);
    }
    expect(page).not.toMatch(/[^\S\n]$/m);
  });

  test.each([60, 80, 120, 200])("every page fits into %p columns", async (columns) => {
    const wider: string[] = [];
    for (const [name, node] of ALL) {
      const { examples, details = "" } = await node.about();
      for (const line of (await renderPage(node, columns)).split("\n")) {
        // Lines to copy stay whole.
        const isToCopy =
          examples.some((each) => line === `  ${each}`) || (/^ {4}/.test(line) && details.split("\n").includes(line));
        if (Bun.stringWidth(line) > columns && !isToCopy) wider.push(`${name}: ${line}`);
      }
    }
    expect(wider).toEqual([]);
  });

  test("a page is as wide as COLUMNS says, at most 120, and 80 without a terminal", async () => {
    const widest = async (env: Record<string, string>) => {
      const { stdout } = await svc(["serve", "--help"], { env });
      const text = stdout.slice(0, stdout.indexOf("EXAMPLES"));
      return Math.max(...text.split("\n").map((line) => Bun.stringWidth(line)));
    };
    for (const [env, from, to] of [
      [{}, 70, 80],
      [{ COLUMNS: "60" }, 50, 60],
      [{ COLUMNS: "500" }, 100, 120],
      [{ COLUMNS: "wide" }, 70, 80],
    ] as const) {
      const found = await widest(env);
      expect(found).toBeGreaterThan(from);
      expect(found).toBeLessThanOrEqual(to);
    }
  });

  test("paragraphs are arranged again, lists and lines to copy keep theirs", () => {
    const text = "one two\nthree\n\n- four five six\n  seven\n- eight\n    svc   login\nnine";
    expect(reflowed(text, 12)).toBe(
      ["one two", "three", "", "- four five", "  six", "  seven", "- eight", "    svc   login", "nine"].join("\n"),
    );
    expect(reflowed(text, 80).split("\n")[0]).toBe("one two three");
  });

  test("every svc mem verb takes --path", async () => {
    for (const node of Object.values(mem.subCommands!)) expect(Object.keys(await node.args())).toContain("path");
  });

  test("goes to stdout with exit code 0 and touches nothing", async () => {
    using folder = temporaryFolder();
    const home = join(folder.path, "home");
    for (const words of [
      ["--help"],
      ["mem", "--help"],
      ["mem", "search", "-h"],
      ["runtime", "install", "--nonsense", "--help"],
      ["help"],
      ["help", "mem", "search"],
      ["mem", "help", "search"],
      ["--help", "mem", "--json", "search"],
    ]) {
      const { code, stdout, stderr } = await svc(words, { env: { SVC_HOME: home } });
      expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: "" });
      expect(stdout).toContain("USAGE svc");
      expect(stdout).not.toContain("\x1b");
    }
    expect(existsSync(home)).toBe(false);
  });

  test("help of a command is its page", async () => {
    const { stdout } = await svc(["mem", "search", "--help"]);
    expect((await svc(["help", "mem", "search"])).stdout).toBe(stdout);
    expect((await svc(["help"])).stdout).toBe((await svc(["--help"])).stdout);
    const { code, stderr } = await svc(["help", "mem", "serach"]);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("did you mean 'search'?") });
  });

  test("without a command it goes to stderr with exit code 2", async () => {
    for (const words of [[], ["mem"], ["runtime"]]) {
      const { code, stdout, stderr } = await svc(words);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain("COMMANDS");
    }
    const { stderr } = await svc([]);
    for (const first of ["svc login", "svc mem add ", "svc mem search ", "svc --help"]) expect(stderr).toContain(first);
  });
});
