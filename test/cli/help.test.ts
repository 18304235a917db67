/** Every command has a help page with each of its flags and an example. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import authority from "../../src/cli/authority.ts";
import { group, type Node, renderPage } from "../../src/cli/citty.ts";
import mem from "../../src/cli/mem/group.ts";
import runtime from "../../src/cli/runtime.ts";
import { svc, temporaryFolder } from "./support.ts";

const ROOT = group("svc", {
  summary: "all of it",
  examples: ["svc login"],
  commands: {
    mcp: ["", async () => (await import("../../src/cli/mcp.ts")).default],
    serve: ["", async () => (await import("../../src/cli/serve.ts")).default],
    mem,
    login: ["", async () => (await import("../../src/cli/login.ts")).default],
    logout: ["", async () => (await import("../../src/cli/logout.ts")).default],
    runtime,
    authority,
    version: ["", async () => (await import("../../src/cli/version.ts")).default],
  },
});

/** All pages below a node, by the words that lead there. */
async function pages(node: Node): Promise<[string, Node, string][]> {
  const below = await Promise.all(Object.values(node.subCommands ?? {}).map(pages));
  return [[node.meta.name, node, await renderPage(node)], ...below.flat()];
}

const ALL = await pages(ROOT);

describe("help", () => {
  test("there is a page for every command of this release", () => {
    const names = ALL.filter(([, node]) => !node.subCommands).map(([name]) => name);
    expect(names.sort()).toEqual(
      [
        "svc mcp",
        "svc serve",
        "svc login",
        "svc logout",
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
        ...[
          "compact",
          "build-ivf",
          "build-lexical",
          "tune",
          "index",
          "repo-search",
          "repos",
          "export",
          "import",
          "backup",
          "check",
          "undo",
        ].map((name) => `svc mem ${name}`),
      ].sort(),
    );
  });

  test.each(ALL)("%s documents its flags and gives an example", async (name, node, page) => {
    const { details, examples } = await node.about();
    expect(page).toContain("-h, --help ");
    expect(page).toContain(details ?? "");
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      expect(page).toContain(`\n  ${example}`);
      expect(example).toContain(node.subCommands ? "svc" : name);
    }
    for (const [word, { meta }] of Object.entries(node.subCommands ?? {}))
      expect(page).toMatch(new RegExp(`^ +${word}( |$).*${RegExp.escape(meta.description)}$`, "m"));
    for (const [flag, definition] of Object.entries(await node.args())) {
      expect(definition.description).toBeTruthy();
      const line = page.split("\n").find((each) => each.includes(definition.description!))!;
      expect(line).toContain(definition.type === "positional" ? flag.toUpperCase() : `--${flag}`);
      if (definition.repeatable) expect(line).toMatch(definition.type === "positional" ? /\.\.\./ : /may be repeated$/);
      if (definition.type === "boolean" && definition.default) expect(page).toMatch(new RegExp(` --no-${flag} +\\w`));
    }
    expect(page).not.toMatch(/[^\S\n]$/m);
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
    ]) {
      const { code, stdout, stderr } = await svc(words, { env: { SVC_HOME: home } });
      expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: "" });
      expect(stdout).toContain("USAGE svc");
      expect(stdout).not.toContain("\x1b");
    }
    expect(existsSync(home)).toBe(false);
  });

  test("without a command it goes to stderr with exit code 2", async () => {
    for (const words of [[], ["mem"], ["runtime"]]) {
      const { code, stdout, stderr } = await svc(words);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain("COMMANDS");
    }
  });
});
