/** Every command explains itself: each of its flags, and a line to copy. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import authority from "../../src/cli/authority.ts";
import { type Command, flagName, type Group, isGroup } from "../../src/cli/command.ts";
import { renderHelp } from "../../src/cli/help.ts";
import login from "../../src/cli/login.ts";
import logout from "../../src/cli/logout.ts";
import mcp from "../../src/cli/mcp.ts";
import mem from "../../src/cli/mem.ts";
import runtime from "../../src/cli/runtime.ts";
import version from "../../src/cli/version.ts";
import { svc, temporaryFolder } from "./support.ts";

const ROOT = { mcp, mem, login, logout, runtime, authority, version };

/** All pages below a node, by the words that lead there. */
async function pages(path: string[], node: Command | Group): Promise<[string, Command | Group, string][]> {
  const own: [string, Command | Group, string] = [path.join(" "), node, renderHelp(path, node)];
  if (!isGroup(node)) return [own];
  const members = Object.entries(node.commands).map(async ([name, member]) =>
    pages([...path, name], await member.load()),
  );
  return [own, ...(await Promise.all(members)).flat()];
}

const ALL = (await Promise.all(Object.entries(ROOT).map(([name, node]) => pages(["svc", name], node)))).flat();

describe("help", () => {
  test("there is a page for every command of this release", () => {
    const names = ALL.filter(([, node]) => !isGroup(node)).map(([name]) => name);
    expect(names.sort()).toEqual(
      [
        "svc mcp",
        "svc login",
        "svc logout",
        "svc version",
        "svc authority serve",
        ...["install", "verify", "status", "env"].map((name) => `svc runtime ${name}`),
        ...["add", "upsert", "update", "get", "search", "list", "create", "delete", "ids", "count", "stats"].map(
          (name) => `svc mem ${name}`,
        ),
        ...["compact", "build-ivf", "build-lexical", "tune", "index", "repo-search", "export", "import"].map(
          (name) => `svc mem ${name}`,
        ),
      ].sort(),
    );
  });

  test.each(ALL)("%s documents its flags and gives an example", (name, node, page) => {
    expect(page).toContain("--help");
    expect(node.examples.length).toBeGreaterThan(0);
    for (const example of node.examples) {
      expect(page).toContain(example);
      expect(example).toContain(isGroup(node) ? "svc" : name);
    }
    if (isGroup(node)) {
      for (const command of Object.keys(node.commands)) expect(page).toContain(`  ${command}`);
      return;
    }
    for (const [flag, definition] of Object.entries(node.args)) {
      expect(definition.description).toBeTruthy();
      expect(page).toContain(definition.type === "positional" ? flag : flagName(flag, definition));
    }
  });

  test("a member's summary is the command's own", async () => {
    for (const group of [mem, runtime, authority]) {
      for (const member of Object.values(group.commands)) expect((await member.load()).summary).toBe(member.summary);
    }
  });

  test("every svc mem verb takes --path", () => {
    for (const [name, node] of ALL)
      if (name.startsWith("svc mem ")) expect(Object.keys((node as Command).args)).toContain("path");
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
      expect(stdout).toContain("Usage:");
      expect(stdout).not.toContain("\x1b");
    }
    expect(existsSync(home)).toBe(false);
  });

  test("without a command it goes to stderr with exit code 2", async () => {
    for (const words of [[], ["mem"], ["runtime"]]) {
      const { code, stdout, stderr } = await svc(words);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain("Commands:");
    }
  });
});
