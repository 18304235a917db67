/** `svc mcp install`, `status` and `uninstall` in homes of their own: the executable as a user has it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { Client, ClientSite } from "../../src/clients/client.ts";
import { CLIENTS, configFile } from "../../src/clients/clients.ts";
import { readEntry } from "../../src/clients/plan.ts";
import { Screen } from "../cli/terminal.ts";
import { asPlainUser, emptyHome, type Home, SVC, svc } from "./home.ts";

const homes: string[] = [];
afterAll(() => {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

/** A home without any client: PATH has none of their programs either. */
function newHome(): Home {
  const home = emptyHome();
  homes.push(home.HOME!);
  // Programs that svc itself may look for are not needed here.
  return { ...home, PATH: join(home.HOME!, "bin") };
}

const siteOf = (env: Home, project?: string): ClientSite => ({
  home: env.HOME!,
  platform: process.platform === "darwin" ? "darwin" : "linux",
  env,
  ...(project !== undefined && { project }),
});
const find = (id: string) => CLIENTS.find((client) => client.id === id)!;

/** A client's file with this content. */
function put(client: Client, env: Home, content: string): string {
  const file = configFile(client, "user", siteOf(env));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

/** What a user has in such a file: other servers, comments where the notation has them, an odd indentation. */
function content(client: Client): string {
  const key = client.path({}, "user").join(".");
  switch (configFile(client, "user", siteOf({ HOME: "/" })).replace(/.*\./, "")) {
    case "toml":
      return `# mine\nmodel = "x"\r\n\n[${key}.other]\ncommand = "other" # there\n`;
    case "yaml":
      return `# mine\n${key}:\n    other:\n        cmd: other   # there\nGOOSE: 1`;
    default:
      return `{\n   "theme": "dark",\n   "${key}": {\n      "other": { "command": "other" }\n   }\n}`;
  }
}

const ALL = CLIENTS.flatMap(({ id }) => ["--client", id]);

describe("all clients", () => {
  const env = newHome();
  const site = siteOf(env);
  const originals = new Map<Client, string>();
  beforeAll(() => {
    for (const client of CLIENTS) {
      originals.set(client, content(client));
      put(client, env, content(client));
    }
  });
  const texts = () => CLIENTS.map((client) => readFileSync(configFile(client, "user", site), "utf8"));

  test("a dry run prints the difference of each and writes nothing", async () => {
    const { code, out } = await svc(env, ["mcp", "install", "--dry-run", "--all"]);
    expect(code).toBe(0);
    expect(out.match(/^\+\+\+ ~\//gm)).toHaveLength(CLIENTS.length);
    expect(out).toContain(`+      "svc": {`);
    const [first] = JSON.parse((await svc(env, ["mcp", "install", "--dry-run", "--all", "--json"])).out).clients;
    expect(first).toMatchObject({
      action: "add",
      started: null,
      difference: expect.stringContaining("+++ ~/.claude.json"),
    });
    expect(texts()).toEqual([...originals.values()]);
    expect(existsSync(env.SVC_HOME!)).toBe(false);
  });

  test("install writes this executable's path and the home, and the command answers before any login", async () => {
    const { code, out } = await svc(env, ["mcp", "install", "--json", ...ALL]);
    const answer = JSON.parse(out);
    expect(code).toBe(0);
    expect(answer).toMatchObject({
      name: "svc",
      scope: "user",
      dry_run: false,
      login: null,
      notes: expect.arrayContaining([expect.stringMatching(/^not logged in: the first tool call signs in/)]),
    });
    expect(answer.clients.map((one: { client: string }) => one.client)).toEqual(CLIENTS.map(({ id }) => id));
    for (const one of answer.clients) {
      expect(one).toMatchObject({ action: "add", error: null, started: { ok: true, tools: 19, server: "svc" } });
      expect(readFileSync(one.backup, "utf8")).toBe(originals.get(find(one.client))!);
    }
    for (const client of CLIENTS) {
      const entry = readEntry(client, "user", "svc", site);
      const server = { command: SVC, args: ["mcp", "--with-text", "--login"], env: { SVC_HOME: env.SVC_HOME } };
      expect(entry).toMatchObject({ state: "present", isOurs: true, disabled: false, server });
    }
  });

  test("a client of the reference SDK starts what stands in a file", async () => {
    const entry = readEntry(find("goose"), "user", "svc", site);
    if (entry.state !== "present") throw new Error("there is no entry");
    const { command, args, env: own } = entry.server;
    const client = new McpClient({ name: "test", version: "1" });
    await client.connect(new StdioClientTransport({ command, args: [...args], env: { ...own }, cwd: "/" }));
    expect((await client.listTools()).tools).toHaveLength(19);
    await client.close();
  });

  test("again it changes nothing", async () => {
    const before = texts();
    const { code, out } = await svc(env, ["mcp", "install", ...ALL]);
    expect(code).toBe(0);
    expect(out.match(/: has it already, in ~\//g)).toHaveLength(CLIENTS.length);
    expect(out).toMatch(/answered with 19 tools in \d+ ms/);
    expect(texts()).toEqual(before);
  });

  test("status shows each of them, and that it is this executable which answers", async () => {
    const { code, out, err } = await svc(env, ["mcp", "status"]);
    expect(code).toBe(0);
    for (const { title } of CLIENTS) expect(out).toMatch(new RegExp(`^${title} +this svc +.*19 tools( |$)`, "m"));
    expect(err).not.toContain("not on this machine");
    const { clients } = JSON.parse((await svc(env, ["mcp", "status", "--json"])).out);
    const users = clients.filter((one: { scope: string }) => one.scope === "user");
    expect(users).toHaveLength(CLIENTS.length);
    for (const one of users)
      expect(one).toMatchObject({
        present: true,
        entry: "present",
        ours: true,
        this_executable: true,
        started: { ok: true },
      });
  });

  test("uninstall restores every byte, and leaves no copy", async () => {
    const dry = await svc(env, ["mcp", "uninstall", "--dry-run"]);
    expect(dry.code).toBe(0);
    expect(dry.out.match(/^-.*svc/gm)!.length).toBeGreaterThanOrEqual(CLIENTS.length);
    const { code, out } = await svc(env, ["mcp", "uninstall", "--all", "--json"]);
    expect(code).toBe(0);
    const answer = JSON.parse(out);
    expect(answer.clients.map((one: { action: string }) => one.action)).toEqual(CLIENTS.map(() => "remove"));
    expect(texts()).toEqual([...originals.values()]);
    for (const client of CLIENTS) {
      const folder = dirname(configFile(client, "user", site));
      expect(readdirSync(folder).filter((name) => name.includes("svc-backup"))).toEqual([]);
    }
    expect((await svc(env, ["mcp", "uninstall"])).out).toBe("no client has an entry 'svc' of svc\n");
  });

  test("an uninstall says when each client ends the server, not how to start it", async () => {
    expect((await svc(env, ["mcp", "install", "--all"])).code).toBe(0);
    const { code, err } = await svc(env, ["mcp", "uninstall", "--all"]);
    const lines = err.trimEnd().split("\n");
    const also = "Copilot CLI: ~/.copilot/mcp-config.json is also read by VS Code; the entry is gone for them too";
    expect(code).toBe(0);
    expect(lines.filter((line) => line !== also)).toEqual(CLIENTS.map(({ afterRemoval }) => afterRemoval));
    expect(lines[lines.indexOf(also) - 1]).toBe(find("copilot-cli").afterRemoval);
    expect(err).not.toMatch(/\bstart|\btrust|lists its servers/i);
  });
});

describe("which clients", () => {
  test("none here: it says how to name one, and prints the block to paste", async () => {
    const { code, out, err } = await svc(newHome(), ["mcp", "install"]);
    expect(code).toBe(1);
    expect(err).toContain("no MCP client was found on this machine: name one with --client (claude-code, ");
    expect(JSON.parse(out)).toMatchObject({
      mcpServers: { svc: { command: SVC, args: ["mcp", "--with-text", "--login"] } },
    });
  });

  test("without a terminal they have to be named, or --all", async () => {
    const env = newHome();
    mkdirSync(join(env.HOME!, ".cursor"));
    const { code, err } = await svc(env, ["mcp", "install"]);
    expect(code).toBe(2);
    expect(err).toContain("found Cursor: name those that are meant (--client cursor), or all with --all");
    expect(readdirSync(join(env.HOME!, ".cursor"))).toEqual([]);
    expect((await svc(env, ["mcp", "install", "--yes"])).code).toBe(0);
    expect((await svc(env, ["mcp", "uninstall"])).err).toContain("found in Cursor: name those that are meant");
    expect(readdirSync(join(env.HOME!, ".cursor"))).toEqual(["mcp.json"]);
  });

  test("on a terminal it asks, and only y is yes", async () => {
    const env = newHome();
    const file = join(env.HOME!, ".cursor/mcp.json");
    mkdirSync(dirname(file));
    for (const [typed, code] of [
      ["\n", 1],
      ["\x03", 130],
      ["y\n", 0],
    ] as const) {
      expect(existsSync(file)).toBe(false);
      using screen = new Screen([SVC, "mcp", "install"], env);
      await screen.until(/found Cursor[\s\S]*add svc to it\? \[y\/N\] /);
      screen.type(typed);
      if (code === 0) {
        await screen.until(/mask private keys and tokens in what is stored\? \[y\/N\] /);
        screen.type("y\n");
        await screen.until(/find its notes first\? \[y\/N\] /);
        screen.type("y\n");
      }
      expect(await screen.ended).toBe(code);
    }
    const { args } = JSON.parse(readFileSync(file, "utf8")).mcpServers.svc;
    expect(args).toEqual(["mcp", "--project", "auto", "--secrets", "mask", "--with-text", "--login"]);
  });

  test("on a terminal it asks for hooks too, where a client has some", async () => {
    const env = newHome();
    const settings = join(env.HOME!, ".claude/settings.json");
    mkdirSync(dirname(settings));
    for (const [typed, isThere] of [
      ["\n", false],
      ["y\n", true],
    ] as const) {
      using screen = new Screen([SVC, "mcp", "install"], env);
      await screen.until(/found Claude Code[\s\S]*add svc to it\? \[y\/N\] /);
      screen.type("y\n");
      await screen.until(/add hooks, which put stored notes into each session of Claude Code\? \[y\/N\] /);
      screen.type(typed);
      for (const question of [/in what is stored\? \[y\/N\] /, /find its notes first\? \[y\/N\] /]) {
        await screen.until(question);
        screen.type("\n");
      }
      expect(await screen.ended).toBe(0);
      expect(existsSync(settings)).toBe(isThere);
      expect((await svc(env, ["mcp", "uninstall", "--all"])).code).toBe(0);
    }
  });

  test("wrong usage is refused before anything is written", async () => {
    const env = newHome();
    const CASES: [string[], string][] = [
      [["--client", "cursr"], "there is no client 'cursr': did you mean 'cursor'?"],
      [["--client", "cursor", "--name", "a b"], "cannot be the name of a server"],
      [["--client", "cursor", "--workspace", "/nowhere/at/all"], "--workspace: '/nowhere/at/all' is not a folder"],
      [["--client", "cursor", "--scope", "project"], "--scope project: the working directory is not a project"],
      [["--scope", "system"], "--scope"],
      [["cursor"], "unexpected argument 'cursor'"],
    ];
    for (const [words, message] of CASES) {
      const { code, err } = await svc(env, ["mcp", "install", ...words]);
      expect({ words, code, err }).toEqual({ words, code: 2, err: expect.stringContaining(message) });
    }
    expect(readdirSync(env.HOME!)).toEqual([]);
  });
});

describe("one that fails", () => {
  test("does not stop the others, and its file stays as it was", async () => {
    const env = newHome();
    const broken = '{ "mcpServers": { "other": ';
    const foreign = '{"mcpServers": {"svc": {"command": "/opt/other", "args": []}}}';
    const files = [put(find("cursor"), env, broken), put(find("windsurf"), env, foreign)];
    const words = ["--client", "cursor", "--client", "windsurf", "--client", "codex"];
    const { code, out } = await svc(env, ["mcp", "install", "--json", ...words]);
    expect(code).toBe(1);
    const [cursor, windsurf, codex] = JSON.parse(out).clients;
    expect(cursor).toMatchObject({ action: null, backup: null, error: { type: "ValueError" }, started: null });
    expect(windsurf.error.message).toContain("has an entry 'svc' already, which starts 'other'");
    expect(codex).toMatchObject({ action: "create", error: null, started: { ok: true } });
    expect(files.map((file) => readFileSync(file, "utf8"))).toEqual([broken, foreign]);

    const status = await svc(env, ["mcp", "status"]);
    expect(status.code).toBe(1);
    expect(status.out).toMatch(/^Cursor +cannot be read/m);
    expect(status.out).toMatch(/^Windsurf +another server/m);
    const refused = await svc(env, ["mcp", "uninstall", "--client", "windsurf"]);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("not svc: it stays") });
    expect((await svc(env, ["mcp", "install", "--client", "windsurf", "--replace"])).code).toBe(0);
    expect(readEntry(find("windsurf"), "user", "svc", siteOf(env))).toMatchObject({ isOurs: true });
  });

  test.skipIf(asPlainUser === undefined)(
    "a file that may not be written is a sentence (needs setpriv as root)",
    async () => {
      const env = newHome();
      const text = '{"mcpServers": {}}';
      const file = put(find("cursor"), env, text);
      chmodSync(file, 0o444);
      const prefix = (asPlainUser ?? []).map((word) => Bun.which(word) ?? word);
      const { code, err } = await svc(env, ["mcp", "install", "--client", "cursor"], "", { prefix });
      expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("~/.cursor/mcp.json is read-only") });
      expect(readFileSync(file, "utf8")).toBe(text);
    },
  );

  test("installs at once each leave their entry, and a whole file", async () => {
    const env = newHome();
    put(find("cursor"), env, '{\n  "mcpServers": {}\n}\n');
    const names = ["a", "b", "c", "d", "e"];
    const ended = await Promise.all(
      names.map((name) => svc(env, ["mcp", "install", "--client", "cursor", "--name", name, "--json"])),
    );
    expect(ended.map(({ code }) => code)).toEqual(names.map(() => 0));
    for (const name of names) {
      const entry = readEntry(find("cursor"), "user", name, siteOf(env));
      expect(entry).toMatchObject({ state: "present", server: { command: SVC } });
    }
  });
});

describe("the entry", () => {
  test("has the flags as absolute paths, and what of the environment chooses a memory", async () => {
    const env = newHome();
    mkdirSync(join(env.HOME!, "app"));
    const words = [
      "--client",
      "zed",
      "--path",
      "memory",
      "--workspace",
      "app",
      "--name",
      "mine",
      "--tools",
      "core",
      "--json",
    ];
    const { code, out } = await svc({ ...env, SVC_MEMORY_PATH: "/x", SVC_TOKEN: "t" }, ["mcp", "install", ...words]);
    expect(code).toBe(0);
    const answer = JSON.parse(out);
    const paths = ["--path", join(env.HOME!, "memory"), "--workspace", join(env.HOME!, "app")];
    const args = ["mcp", ...paths, "--tools", "core", "--with-text", "--login"];
    expect(answer.server).toEqual({ command: SVC, args, env: { SVC_HOME: env.SVC_HOME } });
    expect(answer.clients[0].started).toMatchObject({ ok: true, tools: 8 });
    expect(answer.notes.join("\n")).toContain("SVC_TOKEN, set in this shell, did not go into the entry");
    const { SVC_HOME: _, ...plain } = env;
    const again = await svc(plain, ["mcp", "install", "--client", "zed", "--name", "mine"]);
    expect(again.err).toContain("the entry of Zed names another memory and keeps it");
    const bare = await svc({ ...plain, SVC_MEMORY_PATH: "there" }, ["mcp", "install", "--client", "zed", "--json"]);
    expect(JSON.parse(bare.out).server).toEqual({
      command: SVC,
      args: ["mcp", "--with-text", "--login"],
      env: { SVC_MEMORY_PATH: join(env.HOME!, "there") },
    });
  });

  test("keeps its flags in an install that does not give them", async () => {
    const env = newHome();
    const workspace = join(env.HOME!, "app");
    mkdirSync(workspace);
    const flags = ["--path", "/memory", "--workspace", workspace, "--tools", "read", "--project", "x"];
    const install = (...words: string[]) => svc(env, ["mcp", "install", "--client", "cursor", ...words]);
    const args = () => {
      const entry = readEntry(find("cursor"), "user", "svc", siteOf(env));
      return entry.state === "present" ? entry.server.args : undefined;
    };
    await install(...flags);
    expect(args()).toEqual(["mcp", ...flags, "--with-text", "--login"]);
    // A workspace that was removed since does not stop the install.
    rmSync(workspace, { recursive: true });
    const again = await install();
    expect([again.code, again.out]).toEqual([0, expect.stringContaining("has it already")]);
    expect(again.err).toContain("the entry of Cursor names another memory and keeps it");
    await install("--tools", "all", "--path", "/other");
    expect(args()?.slice(1, 7)).toEqual(["--path", "/other", "--workspace", workspace, "--tools", "all"]);
  });

  test("of a project names it where the client does not, and is not started when the project brought it", async () => {
    const env = newHome();
    const project = join(env.HOME!, "app");
    mkdirSync(join(project, ".git", "refs"), { recursive: true });
    mkdirSync(join(project, ".git", "objects"));
    writeFileSync(join(project, ".git", "HEAD"), "ref: refs/heads/main\n");
    mkdirSync(join(project, "src"));
    const at = { cwd: join(project, "src") };
    const scope = ["--scope", "project", "--client", "zed", "--client", "cursor"];
    const installed = await svc(env, ["mcp", "install", ...scope], "", at);
    expect(installed).toMatchObject({ code: 0, err: expect.stringContaining("keep it out of version control") });
    const argsOf = (id: string) => {
      const entry = readEntry(find(id), "project", "svc", siteOf(env, project));
      return entry.state === "present" ? entry.server.args : undefined;
    };
    expect(argsOf("zed")).toEqual(["mcp", "--workspace", project, "--with-text", "--login"]);
    expect(argsOf("cursor")).toEqual(["mcp", "--with-text", "--login"]);
    expect((await svc(env, ["mcp", "status"], "", at)).out).toMatch(/^Zed, project +this svc +\S+, 19 tools/m);

    const trap = join(project, "svc");
    writeFileSync(trap, `#!/bin/sh\n: > '${join(env.HOME!, "ran")}'\n`, { mode: 0o755 });
    const file = configFile(find("cursor"), "project", siteOf(env, project));
    const servers = [
      { command: trap, args: ["mcp"] },
      { command: SVC, args: ["mcp", "--monitor-log", join(env.HOME!, "ran")] },
      { command: SVC, args: ["mcp"], env: { LD_PRELOAD: trap } },
    ];
    for (const server of servers) {
      writeFileSync(file, JSON.stringify({ mcpServers: { svc: server } }));
      const { clients } = JSON.parse((await svc(env, ["mcp", "status", "--client", "cursor", "--json"], "", at)).out);
      expect(clients[1]).toMatchObject({ scope: "project", started: { ok: null } });
      expect(existsSync(join(env.HOME!, "ran"))).toBe(false);
    }

    // A path that leads to this executable from here, and to something else from where it is started.
    symlinkSync(SVC, join(project, "src", "svc"));
    for (const command of ["./svc", "/proc/self/cwd/svc"]) {
      writeFileSync(file, JSON.stringify({ mcpServers: { svc: { command, args: ["mcp"] } } }));
      const { clients } = JSON.parse((await svc(env, ["mcp", "status", "--client", "cursor", "--json"], "", at)).out);
      expect(clients[1]).toMatchObject({ this_executable: false, started: { ok: null, why: "project" } });
      expect(existsSync(join(env.HOME!, "ran"))).toBe(false);
    }
  });

  test("shows no arguments and variables that may be passwords", async () => {
    const env = newHome();
    const servers = {
      svc: { command: "/opt/other", args: ["--api-key", "hunter2"], env: { KEY: "hunter2" } },
      mine: { command: SVC, args: ["mcp", "--tools", "core"], env: { SVC_HOME: env.HOME, KEY: "hunter2" } },
      next: { command: "other", env: { OTHER_TOKEN: "hunter2", MAX_TOKENS: 4096 } },
    };
    put(find("cursor"), env, JSON.stringify({ mcpServers: servers }, undefined, 2));
    for (const words of [["status"], ["status", "--json"], ["install", "--replace", "--dry-run"]]) {
      const { out, err } = await svc(env, ["mcp", ...words, ...(words[0] === "install" ? ["--client", "cursor"] : [])]);
      expect(out).toContain("ursor");
      // What is replaced is shown as it was, but for what its name tells.
      expect((out + err).replace(/^-.*$/gm, "")).not.toContain("hunter2");
    }
    const { clients } = JSON.parse((await svc(env, ["mcp", "status", "--json", "--client", "cursor"])).out);
    expect(clients).toMatchObject([
      { name: "svc", server: { command: "/opt/other" } },
      { name: "mine", server: { env: { SVC_HOME: env.HOME, KEY: "(not shown)" } }, started: { ok: true, tools: 8 } },
    ]);
  });

  test("of another name is seen, one that is switched off is not started, and variables are the client's", async () => {
    const env = newHome();
    const servers = {
      svc: { command: SVC, args: ["mcp", "--secrets", "mask"], disabled: true },
      mine: { command: `\${HOME}/svc`, args: ["mcp"] },
    };
    const file = put(find("cursor"), env, JSON.stringify({ mcpServers: servers }));
    const installed = await svc(env, ["mcp", "install", "--client", "cursor", "--tools", "read"]);
    expect(installed).toMatchObject({ code: 0, err: expect.stringContaining("it is switched off in Cursor") });
    const args = ["mcp", "--tools", "read", "--secrets", "mask", "--with-text", "--login"];
    expect(readEntry(find("cursor"), "user", "svc", siteOf(env))).toMatchObject({ disabled: true, server: { args } });
    const { code, out } = await svc(env, ["mcp", "status"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^Cursor +this svc, disabled *$/m);
    expect(out).toMatch(/^Cursor \(mine\) +another svc +not started$/m);
    expect((await svc(env, ["mcp", "uninstall", "--all"])).code).toBe(0);
    const again = await svc(env, ["mcp", "uninstall", "--all"]);
    expect(again.err).toContain("svc mcp uninstall --client cursor --name mine\n");
    expect(JSON.parse(readFileSync(file, "utf8")).mcpServers).toEqual({ mine: servers.mine });
  });

  test("whose command is gone or does not answer is shown, with what it said", async () => {
    const env = newHome();
    const entry = (command: string) =>
      put(find("cursor"), env, JSON.stringify({ mcpServers: { svc: { command, args: ["mcp"] } } }));
    entry("/nowhere/svc");
    const gone = await svc(env, ["mcp", "status"]);
    expect(gone.code).toBe(1);
    expect(gone.out).toMatch(/^Cursor +another svc +no$/m);
    expect(gone.err).toContain("Cursor: it is not there, or is not a program that may be run");
    mkdirSync(join(env.HOME!, "bin"));
    const script = join(env.HOME!, "bin/svc"); // $HOME/svc is the SVC_HOME of this home
    writeFileSync(script, "#!/bin/sh\necho no disk >&2\nexit 3\n", { mode: 0o755 });
    entry(script);
    expect((await svc(env, ["mcp", "status"])).err).toContain("ended with code 3 before it answered (no disk)");
    // A command that starts entries would start itself, and so on.
    const file = configFile(find("cursor"), "user", siteOf(env));
    for (const args of [
      ["mcp", "status"],
      ["mcp", "--json", "status"],
    ]) {
      writeFileSync(file, JSON.stringify({ mcpServers: { svc: { command: SVC, args } } }));
      const { clients } = JSON.parse((await svc(env, ["mcp", "status", "--json"])).out);
      expect(clients.find((one: { client: string }) => one.client === "cursor").started.ok).not.toBe(true);
    }
  });
});
