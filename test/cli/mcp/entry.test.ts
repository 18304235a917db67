/** What a client is to start, and how a change of its file is shown. */
import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { differenceOf } from "../../../src/cli/mcp/difference.ts";
import { entryOf, environmentNotes, hookArgs, memoryOf, placeWarnings, resolved } from "../../../src/cli/mcp/entry.ts";
import { mergedFlags } from "../../../src/cli/mcp/entry-flags.ts";
import { printedFile } from "../../../src/cli/mcp/targets.ts";
import { CLIENTS } from "../../../src/clients/clients.ts";
import type { ServerEntry } from "../../../src/clients/shapes.ts";
import { errorFacts, OSError } from "../../../src/errors.ts";
import { temporaryFolder } from "../support.ts";

const executable = "/opt/svc/svc";
const HOME = "/h";

describe("an entry", () => {
  test("has nothing of an environment that chooses the defaults", () => {
    const plain = { command: executable, args: ["mcp", "--with-text", "--login"] };
    for (const env of [{ HOME }, { HOME, SVC_HOME: "/h/.svc" }, { HOME, SVC_MEMORY_PATH: "/h/.svc/memory" }])
      expect(entryOf({ executable, env })).toEqual(plain);
  });

  test("has the home and the memory that are not the defaults", () => {
    const env = { HOME, SVC_HOME: "/s", SVC_MEMORY_PATH: "/m" };
    const entry = entryOf({ executable, env });
    expect(entry.env).toEqual({ SVC_HOME: "/s", SVC_MEMORY_PATH: "/m" });
    expect(environmentNotes(entry, env)).toEqual([
      "SVC_HOME and SVC_MEMORY_PATH of this shell went into the entry: clients use the same memory",
    ]);
    expect(entryOf({ executable, env, path: "/p" })).toEqual({
      command: executable,
      args: ["mcp", "--path", "/p", "--with-text", "--login"],
      env: { SVC_HOME: "/s" },
    });
  });

  test("has no address in place of a memory, and one that another program wrote there can be looked at", () => {
    const env = { HOME, SVC_MEMORY_PATH: "tcp://h:1" };
    const refused = "'tcp://h:1' is an address, not a folder";
    expect(() => entryOf({ executable, env })).toThrow(refused);
    expect(() => entryOf({ executable, env: { HOME }, path: "tcp://h:1" })).toThrow(refused);
    expect(entryOf({ executable, env, path: "/p" }).args).toEqual(["mcp", "--path", "/p", "--with-text", "--login"]);
    expect(memoryOf({ command: executable, args: ["mcp", "--path", "tcp://h:1"] }, HOME)).toBe("tcp://h:1");
    expect(memoryOf({ command: executable, args: ["mcp"], env: { SVC_MEMORY_PATH: "tcp://h:1" } }, HOME)).toBe(
      "tcp://h:1",
    );
  });

  test("names a workspace before a project, and the set of tools", () => {
    const options = { executable, env: { HOME }, folder: "/app", tools: "core" };
    const further = ["--tools", "core", "--with-text", "--login"];
    expect(entryOf(options).args).toEqual(["mcp", "--workspace", "/app", ...further]);
    expect(entryOf({ ...options, workspace: "/" }).args).toEqual(["mcp", "--workspace", "/", ...further]);
  });

  test("says what becomes of credentials in texts, and which project is meant", () => {
    const { args } = entryOf({ executable, env: { HOME }, secrets: "mask", project: "auto" });
    expect(args).toEqual(["mcp", "--project", "auto", "--secrets", "mask", "--with-text", "--login"]);
    for (const secrets of ["mask", "refuse", "store"]) {
      expect(entryOf({ executable, env: { HOME }, secrets }).args).toEqual([
        "mcp",
        "--secrets",
        secrets,
        "--with-text",
        "--login",
      ]);
    }
  });

  test("keeps the flags of an earlier one that are not given again", () => {
    const chosen = ["--tools", "core", "--project=shop", "--secrets", "mask", "--no-persistent-index"];
    const former = ["mcp", "--path", "/p", "--workspace", "/w", ...chosen];
    const kept = { tools: "core", project: "shop", secrets: "mask", "persistent-index": false };
    expect(mergedFlags({}, former, true)).toEqual({ path: "/p", workspace: "/w", ...kept });
    expect(mergedFlags({}, former, false)).toEqual(kept);
    const given = { tools: "all", project: "auto", secrets: "refuse", path: "/q", workspace: "/v" };
    expect(mergedFlags(given, former, true)).toEqual({ ...given, "persistent-index": false });
    expect(mergedFlags({}, ["mcp", "--secrets", "x", "--tools", "y", "--path=", "--login"], true)).toEqual({});
  });

  test("keeps an address with its token, and neither where another memory is named", () => {
    const former = ["mcp", "--remote", "h:1", "--token-file", "/t"];
    expect(mergedFlags({}, former, true)).toEqual({ remote: "h:1", "token-file": "/t" });
    expect(mergedFlags({ path: "/p" }, former, true)).toEqual({ path: "/p" });
    expect(mergedFlags({ remote: "h:2" }, former, true)).toEqual({ remote: "h:2" });
    expect(mergedFlags({}, former, false)).toEqual({});
  });

  test("gives its hooks the same memory, by flags alone", () => {
    const [client] = CLIENTS;
    const args = (entry: ServerEntry) => hookArgs("stop", client!, entry).slice(5);
    expect(hookArgs("stop", client!, { command: executable, args: ["mcp"] })).toEqual([
      "mcp",
      "hook",
      "stop",
      "--client",
      "claude-code",
    ]);
    const env = { SVC_HOME: "/s", SVC_MEMORY_PATH: "/m", OTHER: "x" };
    expect(args({ command: executable, args: ["mcp"], env })).toEqual(["--home", "/s", "--path", "/m"]);
    const given = ["mcp", "--path", "/p", "--project", "shop", "--tools", "core"];
    expect(args({ command: executable, args: given, env })).toEqual([
      "--home",
      "/s",
      "--path",
      "/p",
      "--project",
      "shop",
    ]);
  });

  test("never has a secret or a key of the environment, and that is said", () => {
    const env = { HOME, SVC_API_KEY: "k", SVC_LICENSE_PUBKEY: "p" };
    const entry = entryOf({ executable, env });
    expect(entry.env).toBeUndefined();
    expect(environmentNotes(entry, env)).toEqual([
      "SVC_API_KEY, SVC_LICENSE_PUBKEY, set in this shell, did not go into the entry: the client's svc runs without",
    ]);
  });
});

describe("the place of the executable", () => {
  test("is warned of where it will be gone, or the shell finds another one", () => {
    using folder = temporaryFolder();
    const env = { PATH: join(folder.path, "bin") };
    expect(placeWarnings("/opt/svc", env)).toEqual([]);
    expect(placeWarnings(join(folder.path, "svc"), env)).toEqual([expect.stringContaining("in a temporary folder")]);
    expect(placeWarnings(join(folder.path, "svc"), { ...env, HOME: folder.path })).toEqual([]);
    expect(placeWarnings("/src/svc/dist/svc", env)).toEqual([expect.stringContaining("in a build folder")]);
    mkdirSync(join(folder.path, "bin"));
    writeFileSync(join(folder.path, "other"), "");
    chmodSync(join(folder.path, "other"), 0o755);
    symlinkSync(join(folder.path, "other"), join(folder.path, "bin", "svc"));
    expect(placeWarnings("/opt/svc", env)).toEqual([expect.stringContaining("another svc comes first on PATH")]);
  });

  test("of Homebrew is named by a link that the next version keeps", () => {
    using folder = temporaryFolder();
    const prefix = resolved(folder.path);
    const cellar = join(prefix, "Cellar/svc/0.2.0/bin/svc");
    const command = () => entryOf({ executable: cellar, env: { HOME } }).command;
    for (const path of ["Cellar/svc/0.2.0/bin", "Cellar/svc/0.1.0/bin", "opt", "bin"])
      mkdirSync(join(prefix, path), { recursive: true });
    writeFileSync(cellar, "");
    writeFileSync(join(prefix, "Cellar/svc/0.1.0/bin/svc"), "");
    symlinkSync("../Cellar/svc/0.1.0", join(prefix, "opt/svc"));
    expect(command()).toBe(cellar);
    symlinkSync("../Cellar/svc/0.2.0/bin/svc", join(prefix, "bin/svc"));
    expect(command()).toBe(join(prefix, "bin/svc"));
    unlinkSync(join(prefix, "opt/svc"));
    symlinkSync("../Cellar/svc/0.2.0", join(prefix, "opt/svc"));
    expect(command()).toBe(join(prefix, "opt/svc/bin/svc"));
  });

  test("of npm is one that stays, whose launcher is the same program, or one of a project or of npx", () => {
    using folder = temporaryFolder();
    const env = { HOME: folder.path, PATH: join(folder.path, "bin") };
    const place = join(folder.path, "lib/node_modules/@svc-memory");
    mkdirSync(join(place, "svc/bin"), { recursive: true });
    mkdirSync(env.PATH);
    writeFileSync(join(place, "svc/bin/svc"), "", { mode: 0o755 });
    symlinkSync("../lib/node_modules/@svc-memory/svc/bin/svc", join(env.PATH, "svc"));
    for (const installed of ["svc/node_modules/@svc-memory/svc-linux-x64/svc", "svc-linux-x64/svc"])
      expect(placeWarnings(join(place, installed), env)).toEqual([]);
    const warning = expect.stringContaining("another svc comes first on PATH");
    expect(placeWarnings(join(place, "other/svc-linux-x64/svc"), env)).toEqual([warning]);
    for (const node of [
      "/h/.nvm/versions/node/v22.1.0",
      "/h/fnm/node-versions/v22.1.0/installation",
      "/h/installs/node/22.1.0",
    ])
      expect(placeWarnings(`${node}/lib/node_modules/@svc-memory/svc-linux-x64/svc`, { PATH: "" })).toEqual([
        expect.stringContaining("belongs to one version of Node"),
      ]);
    const local = "/project/node_modules/@svc-memory/svc-linux-x64/svc";
    expect(placeWarnings(local, { PATH: "" })).toEqual([expect.stringContaining("is in node_modules")]);
  });
});

describe("a difference", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);

  test("is unified, of a file that is made or removed too", () => {
    expect(differenceOf("~/a", bytes("one\ntwo\n"), bytes("one\n2\ntwo\n"))).toBe(
      "--- ~/a\n+++ ~/a\n@@ -1,2 +1,3 @@\n one\n+2\n two",
    );
    expect(differenceOf("~/a", undefined, bytes("x\n"))).toBe("--- /dev/null\n+++ ~/a\n@@ -0,0 +1,1 @@\n+x");
    expect(differenceOf("~/a", bytes("x\n"), undefined)).toBe("--- ~/a\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x");
  });

  test("shows no credential of another server, and no carriage returns", () => {
    const token = `ghp_${"aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"}`;
    const shown = differenceOf("~/a", bytes(`"TOKEN": "${token}"\r\nx\r\n`), bytes(`"TOKEN": "${token}"\r\ny\r\n`));
    expect(shown).not.toContain(token);
    expect(shown.split("\n").slice(3)).toEqual([" (not shown: this line holds a credential)", "-x", "+y"]);
    const lines = [
      `"A_TOKEN": "hunter2", "b": "seen"`,
      `PASSWORD = 'hunter2'`,
      `"--api-key",`,
      `  "hunter2"`,
      `"max_tokens": 4096`,
    ];
    const named = differenceOf("~/a", bytes(`${lines.join("\n")}\n`), undefined).split("\n");
    expect(named.slice(3)).toEqual([
      `-"A_TOKEN": "(not shown)", "b": "seen"`,
      `-PASSWORD = '(not shown)'`,
      `-"--api-key",`,
      `-  "(not shown)"`,
      `-"max_tokens": 4096`,
    ]);
  });
});

test("a client's file is shown from the home folder or the project", () => {
  const site = { home: "/h", platform: "linux", env: {}, project: "/h/app" } as const;
  expect(printedFile("/h/.cursor/mcp.json", site)).toBe("~/.cursor/mcp.json");
  expect(printedFile("/h/app/.mcp.json", site)).toBe(".mcp.json");
  expect(printedFile("/etc/x", site)).toBe("/etc/x");
  expect(printedFile("/h/a\nb\u001b[31m", site)).toBe("~/a b\\x1b[31m");
});

test("a failure has its type, its code and its sentence", () => {
  expect(errorFacts(new OSError("the disk is full: free some", "disk_full"))).toEqual({
    type: "OSError",
    code: "OSError.disk_full",
    message: "the disk is full: free some",
  });
  expect(errorFacts(new Error("x: y"))).toEqual({
    type: "RuntimeError",
    code: "RuntimeError.internal",
    message: "internal error: x: y",
  });
});
