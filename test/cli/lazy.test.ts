/** Which modules a start loads: on a shared machine a list says more than a time. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { FAKE_BUILD, MODULE_LOG, requests, svc, temporaryFolder } from "./support.ts";

const ROOT = join(import.meta.dir, "../..");
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};
const LIST = { jsonrpc: "2.0", id: 2, method: "tools/list" };

async function loadedBy(words: string[], stdin?: string) {
  using folder = temporaryFolder();
  const log = join(folder.path, "modules");
  const home = join(folder.path, "home");
  const finished = await svc(words, {
    stdin,
    preload: [FAKE_BUILD, MODULE_LOG],
    env: { MODULES_LOG: log, SVC_HOME: home },
  });
  const modules = readFileSync(log, "utf8").trimEnd().split("\n");
  return { ...finished, modules: modules.map((path) => path.replace(`${ROOT}/`, "")), touchedHome: existsSync(home) };
}

describe("a start loads what it needs", () => {
  test.each(["--version", "-v", "version"])("svc %s: not even the tree of commands", async (word) => {
    const { code, stdout, modules, touchedHome } = await loadedBy([word]);
    expect(code).toBe(0);
    expect(stdout).toStartWith("svc ");
    expect(touchedHome).toBe(false);
    const needed = ["environment.ts", "version-line.ts"].map((file) => `src/cli/terminal/${file}`);
    expect(modules.sort()).toEqual([...needed, "src/main.ts"]);
    for (const path of [...needed, "src/build-info.ts", "src/errors.ts"]) {
      expect(readFileSync(join(ROOT, path), "utf8")).not.toMatch(/^import (?!type )[^;]*"node:/m);
    }
  });

  test("--help of a command loads that command and not its siblings", async () => {
    const { modules } = await loadedBy(["mem", "--help"]);
    expect(modules.filter((path) => !path.startsWith("src/cli/")).sort()).toEqual([
      "src/checks/nearest.ts",
      "src/commands.ts",
      "src/errors.ts",
      "src/main.ts",
    ]);
    expect(modules).not.toContain("src/cli/mem/verb.ts");
  });

  test("only svc ui loads its pages, and not for its help", async () => {
    const { code, modules } = await loadedBy(["ui", "--help"]);
    expect(code).toBe(0);
    expect(modules).toContain("src/cli/ui/ui.ts");
    expect(modules.filter((path) => /^src\/(ui|pages|memory|store)\//.test(path))).toEqual([]);
    const importing = new Bun.Glob("src/**/*.ts").scanSync(ROOT);
    const others = [...importing].filter((path) => !path.startsWith("src/ui/") && !path.startsWith("src/cli/ui/"));
    const loads = /^import (?!type )[^;]*"[./]+\/ui\/|import\("[./]+\/ui\/(?!ui\.ts)/m;
    expect(others.filter((path) => loads.test(readFileSync(join(ROOT, path), "utf8")))).toEqual([]);
  });

  test("what a shell asks at Tab loads the command on the line, and neither gate nor native code", async () => {
    const { code, modules, touchedHome } = await loadedBy(["__complete", "zsh", "mem", "count", ""]);
    expect({ code, touchedHome }).toEqual({ code: 0, touchedHome: false });
    expect(modules).toContain("src/cli/mem/read.ts");
    // ffi/system/calls.ts opens nothing when it is imported.
    const heavy =
      /^src\/(cli\/(access\/gate|login|serve\/(?!group))|memory\/(memory|open)|store|trust\/(runtime|account)|repo\/(?!show\/(forms|line)\.ts)|tune)|^ffi\/(?!system\/calls)/;
    expect(modules.filter((path) => heavy.test(path))).toEqual([]);
  });

  test.each([[["mcp"]], [["mcp", "--login"]]])(
    "svc %p answers initialize and tools/list without gate, store, schemas or a file under SVC_HOME",
    async (words) => {
      const stdin = [INITIALIZE, LIST].map((message) => `${JSON.stringify(message)}\n`).join("");
      const { code, stdout, modules, touchedHome } = await loadedBy(words, stdin);
      expect(code).toBe(0);
      const answers = stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(answers[0].result.serverInfo.name).toBe("svc");
      expect(answers[1].result.tools).toHaveLength(19);
      expect(touchedHome).toBe(false);
      const heavy =
        /^src\/(cli\/access\/(gate|first|automatic)|memory\/(memory|open|arguments)|store|embed|trust|repo|tune)|^ffi\//;
      expect(modules.filter((path) => heavy.test(path))).toEqual([]);
    },
  );

  test("a call about memory loads nothing about repositories, programs and their backups, or indexes", async () => {
    const { stderr, modules } = await loadedBy(["mem", "list"]);
    expect(stderr).toContain("not logged in");
    expect(modules).toContain("src/memory/memory.ts");
    // The request schema names the forms of an answer.
    const heavy =
      /^src\/(repo\/(?!show\/(forms|line)\.ts)|memory\/(repos|terminal|transfer)|texts\/undo|tune\/|engine\/)/;
    expect(modules.filter((path) => heavy.test(path))).toEqual([]);
    // WebCrypto is there already; node:crypto is a tenth of what such a call takes, and node:net costs 1 ms.
    const source = (path: string) => readFileSync(join(ROOT, path), "utf8");
    const ours = modules.filter((path) => path.startsWith("src/") || path.startsWith("ffi/"));
    expect(ours.filter((path) => /^import (?!type )[^;]*"node:(crypto|net|url)";/m.test(source(path)))).toEqual([]);
  });

  test("svc doctor loads what reads a database only where one is named", async () => {
    const replication = (modules: string[]) => modules.filter((path) => path.startsWith("src/replication/"));
    expect(replication((await loadedBy(["doctor"])).modules)).toEqual([]);
    const named = await loadedBy(["doctor", "--engine-file", "/nowhere/engine"]);
    expect(replication(named.modules)).toContain("src/replication/postgres/url.ts");
  });

  test("svc login at this machine's local authority loads nothing that only an organisation's has", async () => {
    const { code, modules } = await loadedBy(["login", "--yes", "--no-install"]);
    expect(code).toBe(0);
    expect(modules).toContain("src/trust/authority/server/routes.ts");
    const only = /^src\/trust\/authority\/(organisation\/|bundle-folder|pages\/(audit|device|keys|new-key|sign-in))/;
    expect(modules.filter((path) => only.test(path))).toEqual([]);
  });

  test("svc mcp without a login answers a tool call with an error and ends with stdin", async () => {
    const call = {
      jsonrpc: "2.0",
      id: 3,
      method: "tools/call",
      params: { name: "svc_list_collections", arguments: {} },
    };
    const { code, stdout, stderr } = await requests([INITIALIZE, call], { preload: [FAKE_BUILD] });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const answer = JSON.parse(stdout.trimEnd().split("\n")[1]!);
    expect(answer.result).toEqual({
      content: [{ type: "text", text: "PermissionError: not logged in: run 'svc login' once" }],
      isError: true,
    });
  });
});
