/** `svc mcp install --ssh`: with a program in the place of ssh always, and over a real sshd where this machine has one. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Screen } from "../cli/terminal.ts";
import { emptyHome, type Home, SVC, signedIn, svc } from "./home.ts";

const homes: string[] = [];
afterAll(() => {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

/** Fails as ssh does, by the name of the host; else runs the command here, in a home of its own. */
const STAND_IN = `#!/bin/sh
echo "$* agent=\${SSH_AUTH_SOCK:-}" >> "$HOME/asked"
while :; do case "$1" in -T) shift;; -o) shift 2;; *) break;; esac; done
host=$1; shift
case $host in
  refused) echo "me@refused: Permission denied (publickey)." >&2; exit 255;;
  agent) [ -n "\${SSH_AUTH_SOCK:-}" ] || { echo "Permission denied (publickey)." >&2; exit 255; };;
  unknown) echo "Host key verification failed." >&2; exit 255;;
  bare) PATH=/usr/bin:/bin;;
  chatty) echo "Welcome to chatty";;
  ended) exit 3;;
esac
cd "$HOME/there" && exec env -i HOME="$HOME/there" PATH="$PATH" sh -c "$*"
`;

/** A home with Cursor, the program in the place of ssh, and svc on the PATH of "the host". */
function homeWithSsh(): Home {
  const env = emptyHome();
  const home = env.HOME!;
  homes.push(home);
  for (const folder of ["bin", "there", ".cursor"]) mkdirSync(join(home, folder));
  writeFileSync(join(home, "bin/ssh"), STAND_IN, { mode: 0o755 });
  return { ...env, PATH: `${join(home, "bin")}:${dirname(SVC)}:/usr/bin:/bin` };
}

const cursorFile = (env: Home) => join(env.HOME!, ".cursor/mcp.json");
const argsIn = (env: Home) => JSON.parse(readFileSync(cursorFile(env), "utf8")).mcpServers.svc.args;
const install = (env: Home, host: string, ...flags: string[]) =>
  svc(env, ["mcp", "install", "--client", "cursor", "--ssh", host, ...flags]);

describe("an entry over ssh", () => {
  test("is written, tried without a question, shown, and removed to the byte", async () => {
    const env = homeWithSsh();
    writeFileSync(cursorFile(env), "{ }");
    const flags = ["--path", "/team memory", "--workspace", "/not/here", "--tools", "core", "--secrets", "mask"];
    const { code, out, err } = await install(env, "me@team", ...flags);
    expect(code).toBe(0);
    expect(out).toMatch(/started as Cursor will: svc \S+ answered with 8 tools/);
    expect(err).toContain(
      "note: svc runs on me@team: the memory and the login are those of me@team, and svc_repo_search reads the files of me@team, " +
        "not of this machine. Log in there once with 'ssh me@team svc login --yes'",
    );
    expect(err).not.toContain("not logged in");
    const there = ["--path", "'/team memory'", "--workspace", "/not/here", "--tools", "core", "--secrets", "mask"];
    const args = ["-T", "me@team", "svc", "mcp", ...there, "--with-text"];
    expect(JSON.parse(readFileSync(cursorFile(env), "utf8"))).toEqual({
      mcpServers: { svc: { command: "ssh", args } },
    });
    const asked = readFileSync(join(env.HOME!, "asked"), "utf8");
    expect(asked).toBe(`-o BatchMode=yes -o ConnectTimeout=10 ${args.join(" ")} agent=\n`);

    const status = await svc(env, ["mcp", "status", "--client", "cursor"]);
    expect(status.out).toMatch(/^Cursor +svc on me@team +\S+, 8 tools$/m);
    const { clients } = JSON.parse((await svc(env, ["mcp", "status", "--client", "cursor", "--json"])).out);
    expect(clients[0]).toMatchObject({ host: "me@team", ours: true, this_executable: null, started: { ok: true } });
    expect((await svc(env, ["mcp", "uninstall", "--all"])).code).toBe(0);
    expect(readFileSync(cursorFile(env), "utf8")).toBe("{ }");
  });

  test("stays one when an install names no host, with its options of ssh and its folders", async () => {
    const env = homeWithSsh();
    const args = [
      "-o",
      "Port=22",
      "-T",
      "team",
      "svc",
      "mcp",
      "--path",
      "'/a b'",
      "--project",
      "x",
      "--secrets",
      "refuse",
    ];
    writeFileSync(cursorFile(env), JSON.stringify({ mcpServers: { svc: { command: "ssh", args } } }));
    const again = await svc(env, ["mcp", "install", "--all"]);
    expect(again.code).toBe(0);
    expect(again.err).toContain("note: the entry of Cursor starts svc on team and goes on to do so");
    const kept = ["--path", "'/a b'", "--project", "x", "--secrets", "refuse", "--with-text"];
    expect(argsIn(env)).toEqual([...args.slice(0, 6), ...kept]);
    // Another host is another entry.
    expect((await install(env, "other")).code).toBe(0);
    expect(argsIn(env)).toEqual(["-T", "other", "svc", "mcp", "--project", "x", "--secrets", "refuse", "--with-text"]);
  });

  test("takes the place of one of this machine", async () => {
    const env = homeWithSsh();
    expect((await svc(env, ["mcp", "install", "--all", "--secrets", "mask"])).code).toBe(0);
    expect((await install(env, "team")).code).toBe(0);
    expect(argsIn(env)).toEqual(["-T", "team", "svc", "mcp", "--secrets", "mask", "--with-text"]);
  });

  test("is not written again by an install that changes nothing", async () => {
    const env = homeWithSsh();
    await install(env, "team", "--secrets", "mask", "--tools", "read", "--path", "~/mem", "--project", "x");
    const before = readFileSync(cursorFile(env), "utf8");
    for (const flags of [[], ["--ssh", "team"]]) {
      const { code, out } = await svc(env, ["mcp", "install", "--client", "cursor", ...flags]);
      expect([code, out]).toEqual([0, expect.stringContaining("Cursor: has it already")]);
      expect(readFileSync(cursorFile(env), "utf8")).toBe(before);
    }
  });

  test("has neither the folders nor the served memory of this machine, and goes where one is named", async () => {
    const env = homeWithSsh();
    for (const here of [
      ["--path", "/here", "--workspace", "/"],
      ["--remote", "127.0.0.1:1"],
    ]) {
      await svc(env, ["mcp", "install", "--client", "cursor", "--tools", "core", ...here]);
      await install(env, "team");
      expect(argsIn(env)).toEqual(["-T", "team", "svc", "mcp", "--tools", "core", "--with-text"]);
    }
    await svc(env, ["mcp", "install", "--client", "cursor", "--remote", "127.0.0.1:1"]);
    expect(argsIn(env)).toEqual(["mcp", "--remote", "127.0.0.1:1", "--tools", "core", "--with-text", "--login"]);
  });

  test("has no hooks, which use the memory of this machine", async () => {
    const env = homeWithSsh();
    mkdirSync(join(env.HOME!, ".claude"));
    const refused = await svc(env, ["mcp", "install", "--client", "claude-code", "--ssh", "team", "--hooks"]);
    expect(refused).toMatchObject({
      code: 2,
      err: expect.stringContaining("--hooks: hooks use the memory of this machine"),
    });
    expect((await svc(env, ["mcp", "install", "--client", "claude-code", "--ssh", "team"])).code).toBe(0);
    const asked = await svc(env, ["mcp", "install", "--client", "claude-code", "--hooks"]);
    expect(asked.code).toBe(0);
    expect(asked.err).toContain(
      "note: Claude Code got no hooks: hooks use the memory of this machine, and its entry uses the memory of team",
    );
    expect(existsSync(join(env.HOME!, ".claude/settings.json"))).toBe(false);
  });

  test.each([
    ["--ssh", "team"],
    ["--remote", "127.0.0.1:1"],
  ])("says with %s that earlier hooks use another memory, and how to remove them", async (flag, value) => {
    const env = homeWithSsh();
    const settings = join(env.HOME!, ".claude/settings.json");
    mkdirSync(dirname(settings));
    const words = ["mcp", "install", "--client", "claude-code"];
    await svc(env, [...words, "--hooks"]);
    const before = readFileSync(settings, "utf8");
    const NOTE = "the hooks of Claude Code still put notes of this machine into its sessions";
    const { notes } = JSON.parse((await svc(env, [...words, flag, value, "--json"])).out);
    expect(notes).toContainEqual(expect.stringContaining(NOTE));
    expect(readFileSync(settings, "utf8")).toBe(before);
    expect((await svc(env, words)).err).toContain(`note: ${NOTE}`);
    expect((await svc(env, ["mcp", "status"])).err).toContain(`Claude Code: ${NOTE}`);
    const command = /'svc (mcp install [^']*--no-hooks)' removes them/.exec(notes.join("\n"))![1]!;
    const { err } = await svc(env, command.split(" "));
    expect(err).not.toContain(NOTE);
    expect(existsSync(settings)).toBe(false);
  });

  test("says nothing of hooks that another entry of the client uses", async () => {
    const env = homeWithSsh();
    mkdirSync(join(env.HOME!, ".claude"));
    const words = ["mcp", "install", "--client", "claude-code"];
    await svc(env, [...words, "--hooks"]);
    const { code, err } = await svc(env, [...words, "--ssh", "team", "--name", "team"]);
    expect([code, err.includes("the hooks of")]).toEqual([0, false]);
  });

  test("on a terminal is not asked about hooks where its entry stays on its host", async () => {
    const env = homeWithSsh();
    mkdirSync(join(env.HOME!, ".claude"));
    rmdirSync(join(env.HOME!, ".cursor"));
    await svc(env, ["mcp", "install", "--client", "claude-code", "--ssh", "team"]);
    using screen = new Screen([SVC, "mcp", "install", "--tools", "core"], env);
    await screen.until(/add svc to it\? \[y\/N\] /);
    screen.type("y\n");
    await screen.until(/mask private keys and tokens in what is stored\? \[y\/N\] /);
    screen.type("n\n");
    expect(await screen.ended).toBe(0);
    expect(screen.text).not.toContain("add hooks");
  });

  test("that passes --login does not sign in on this machine", async () => {
    const env = homeWithSsh();
    const servers = [
      { command: "ssh", args: ["-T", "team", "svc", "mcp", "--login"] },
      { command: SVC, args: ["mcp", "--remote", "127.0.0.1:1", "--login"] },
    ];
    for (const server of servers) {
      writeFileSync(cursorFile(env), JSON.stringify({ mcpServers: { svc: server } }));
      const { findings } = JSON.parse((await svc(env, ["doctor", "--json"])).out);
      expect(findings).toContainEqual(expect.objectContaining({ check: "login.not_logged_in", level: "problem" }));
    }
  });

  test("is planned only in a dry run, and not started by the doctor", async () => {
    const env = homeWithSsh();
    const dry = await install(env, "team", "--dry-run");
    expect(dry.out).toContain('+        "team",');
    expect(existsSync(cursorFile(env))).toBe(false);
    expect((await install(env, "team")).code).toBe(0);
    rmSync(join(env.HOME!, "asked"));
    const { findings } = JSON.parse((await svc(env, ["doctor", "--json"])).out);
    expect(findings).toContainEqual(
      expect.objectContaining({
        check: "clients.not_started",
        level: "ok",
        message: expect.stringContaining("it would connect to team; 'svc mcp status' starts it"),
      }),
    );
    expect(existsSync(join(env.HOME!, "asked"))).toBe(false);
  });

  test("of a project's file is connected to by the install that wrote it, and by no status", async () => {
    const env = homeWithSsh();
    const at = { cwd: join(env.HOME!, "app") };
    for (const folder of ["refs", "objects"]) mkdirSync(join(at.cwd, ".git", folder), { recursive: true });
    writeFileSync(join(at.cwd, ".git/HEAD"), "ref: refs/heads/main\n");
    const words = ["mcp", "install", "--client", "cursor", "--scope", "project"];
    const installed = await svc(env, [...words, "--ssh", "team"], "", at);
    expect(installed.code).toBe(0);
    expect(installed.out).toContain("answered with 19 tools");
    expect(installed.err).toContain("all who work in it and may log in to that host share its memory");
    expect(installed.err).not.toContain("keep it out of version control");
    rmSync(join(env.HOME!, "asked"));
    const status = await svc(env, ["mcp", "status"], "", at);
    expect(status.out).toMatch(/^Cursor, project +svc on team +not started$/m);
    await svc(env, words, "", at);
    expect(existsSync(join(env.HOME!, "asked"))).toBe(false);
  });

  test("of a project's file starts no program of the project's choice", async () => {
    const env = homeWithSsh();
    const project = join(env.HOME!, "app");
    const [file, ran] = [join(project, ".cursor/mcp.json"), join(env.HOME!, "ran")];
    mkdirSync(dirname(file), { recursive: true });
    const trap = join(project, "ssh");
    writeFileSync(trap, `#!/bin/sh\n: > '${ran}'\n`, { mode: 0o755 });
    const plain = ["-T", "team", "svc", "mcp"];
    const words = ["mcp", "install", "--client", "cursor", "--scope", "project"];
    const entries = [
      { command: "ssh", args: ["-o", `ProxyCommand=touch ${ran}`, ...plain] },
      { command: "ssh", args: plain, env: { PATH: project } },
      { command: trap, args: plain },
    ];
    for (const entry of entries) {
      for (const flags of [["--ssh", "team"], []]) {
        writeFileSync(file, JSON.stringify({ mcpServers: { svc: entry } }));
        rmSync(join(env.HOME!, "asked"), { force: true });
        const { code, err } = await svc(env, [...words, ...flags], "", { cwd: project });
        expect([code, existsSync(ran)]).toEqual([0, false]);
        const { args } = JSON.parse(readFileSync(file, "utf8")).mcpServers.svc;
        // ssh gets the host that this command names, and no option of the project.
        if (flags.length > 0) expect(args).toEqual([...plain, "--with-text"]);
        else expect(err).toContain("not started: this file may have come with the project");
        const asked = existsSync(join(env.HOME!, "asked")) && readFileSync(join(env.HOME!, "asked"), "utf8");
        if (asked) expect(asked).not.toContain("ProxyCommand");
      }
    }
  });

  test("on a terminal is asked about neither hooks nor the project", async () => {
    const env = homeWithSsh();
    using screen = new Screen([SVC, "mcp", "install", "--ssh", "team"], env);
    await screen.until(/add svc to it\? \[y\/N\] /);
    screen.type("y\n");
    await screen.until(/mask private keys and tokens in what is stored\? \[y\/N\] /);
    screen.type("y\n");
    expect(await screen.ended).toBe(0);
    expect(screen.text).not.toContain("find its notes first");
    expect(argsIn(env)).toEqual(["-T", "team", "svc", "mcp", "--secrets", "mask", "--with-text"]);
  });
});

describe("what is wrong is said, and what to do", () => {
  test.each([
    ["-oProxyCommand=touch x", "'-oProxyCommand=touch x'"],
    ["-T", "'-T'"],
    ["a b", "'a b'"],
    ["team\n", "'team\\n'"],
    ["\tteam", "'\\tteam'"],
    ["a\u007fb", "'a\\x7fb'"],
  ])("host %j", async (host, named) => {
    const env = homeWithSsh();
    const { code, err } = await svc(env, ["mcp", "install", "--client", "cursor", `--ssh=${host}`]);
    expect(code).toBe(2);
    expect(err).toContain(`--ssh: ${named} cannot be a host: no '-' at its beginning and no white space`);
    expect([existsSync(cursorFile(env)), existsSync(join(env.HOME!, "asked"))]).toEqual([false, false]);
  });

  test.each([
    [
      "refused",
      "could not connect to refused: 'ssh refused' has to connect without a question: use a key that needs no passphrase",
    ],
    ["unknown", "could not connect to unknown: run 'ssh unknown' once in a terminal, to accept the key of the host"],
    [
      "bare",
      "found no svc on bare: put it there into a folder on the PATH of commands that ssh runs, such as /usr/local/bin",
    ],
    ["chatty", "is not a message of MCP: a start-up file of the shell on chatty may print something"],
    ["ended", "ended with code 3 before it answered"],
  ])("%s", async (host, sentence) => {
    const env = homeWithSsh();
    const installed = await install(env, host);
    expect(installed.code).toBe(1);
    expect(installed.err).toContain(`Cursor: the command `);
    expect(installed.err).toContain(sentence);
    expect(argsIn(env)).toEqual(["-T", host, "svc", "mcp", "--with-text"]);
    const status = await svc(env, ["mcp", "status"]);
    expect(status.code).toBe(1);
    expect(status.err).toContain(sentence);
    expect((await svc(env, ["mcp", "uninstall", "--all"])).code).toBe(0);
  });

  test("an agent that not every client passes on", async () => {
    const env: Home = { ...homeWithSsh(), SSH_AUTH_SOCK: "/run/agent" };
    const { code, err } = await install(env, "agent");
    expect(code).toBe(0);
    expect(err).toContain("note: ssh reached agent with the agent of this shell, which not every client passes on");
    expect(readFileSync(join(env.HOME!, "asked"), "utf8").match(/agent=.*$/gm)).toEqual(["agent=", "agent=/run/agent"]);
    expect((await svc(env, ["mcp", "status"])).err).toContain("Cursor: ssh reached agent with the agent of this shell");
  });

  test("no ssh at all", async () => {
    const env = homeWithSsh();
    const { code, err } = await install({ ...env, PATH: "/nowhere" }, "team");
    expect(code).toBe(1);
    expect(err).toMatch(/Cursor: the command is not there, or is not a program that may be run/);
  });
});

const SSHD = Bun.which("sshd") ?? "/usr/sbin/sshd";
const REAL = ["ssh", "ssh-keygen"].map((name) => Bun.which(name));
const hasSshd = existsSync(SSHD) && REAL.every((path) => path !== null);
if (!hasSshd)
  console.warn("sshd, ssh or ssh-keygen is not on this machine (Debian: openssh-server): its test is skipped");

test.skipIf(!hasSshd)(
  "over a real sshd on the loopback an agent stores, searches, and reads the host's files",
  async () => {
    const there = await signedIn();
    const env = emptyHome();
    homes.push(env.HOME!, there.HOME!);
    const at = (name: string) => join(env.HOME!, name);
    const keygen = (name: string) => Bun.spawnSync([REAL[1]!, "-q", "-t", "ed25519", "-N", "", "-f", at(name)]).success;
    expect([keygen("host"), keygen("mine")]).toEqual([true, true]);
    writeFileSync(at("authorized"), readFileSync(at("mine.pub")));
    const free = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const { port } = free;
    free.stop();
    const [type, key] = readFileSync(at("host.pub"), "utf8").split(" ");
    writeFileSync(at("known"), `[127.0.0.1]:${port} ${type} ${key}\n`);
    const lines = [
      `ListenAddress 127.0.0.1:${port}`,
      `HostKey ${at("host")}`,
      `AuthorizedKeysFile ${at("authorized")}`,
      "PidFile none",
      "StrictModes no",
      "PermitRootLogin yes",
      "PasswordAuthentication no",
      "KbdInteractiveAuthentication no",
      `SetEnv HOME=${there.HOME} SVC_HOME=${there.SVC_HOME} PATH=${dirname(SVC)}:/usr/bin:/bin`,
    ];
    writeFileSync(at("sshd_config"), `${lines.join("\n")}\n`);
    const client = [
      "Host team",
      `HostName 127.0.0.1`,
      `Port ${port}`,
      `User ${Bun.spawnSync(["id", "-un"]).stdout.toString().trim()}`,
      `IdentityFile ${at("mine")}`,
      "IdentitiesOnly yes",
      `UserKnownHostsFile ${at("known")}`,
    ];
    writeFileSync(at("ssh_config"), `${client.join("\n")}\n`);
    for (const folder of ["bin", ".cursor"]) mkdirSync(at(folder));
    // ssh takes the home of the user from the system, not from HOME: so its settings are named.
    writeFileSync(at("bin/ssh"), `#!/bin/sh\nexec '${REAL[0]}' -F '${at("ssh_config")}' "$@"\n`, { mode: 0o755 });
    // Debian's service makes this folder for the server of root.
    const made = process.getuid?.() === 0 && mkdirSync("/run/sshd", { recursive: true }) !== undefined;
    const log = Bun.file(at("log"));
    const server = Bun.spawn([SSHD, "-D", "-e", "-f", at("sshd_config")], { stdout: "ignore", stderr: log });
    try {
      const isOpen = async () => {
        try {
          (await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } })).end();
          return true;
        } catch {
          return false;
        }
      };
      while (!(await isOpen())) {
        if (server.exitCode !== null) throw new Error(`sshd ended with ${server.exitCode}: ${await log.text()}`);
        await Bun.sleep(20);
      }
      const repository = join(there.HOME!, "app");
      mkdirSync(join(repository, ".git/refs"), { recursive: true });
      mkdirSync(join(repository, ".git/objects"));
      writeFileSync(join(repository, ".git/HEAD"), "ref: refs/heads/main\n");
      writeFileSync(join(repository, "ferry.ts"), "export function crossTheFjord() {}\n");
      const here = { ...env, PATH: `${at("bin")}:/usr/bin:/bin` };
      const flags = ["--path", join(there.HOME!, "team memory"), "--workspace", repository];
      const installed = await install(here, "team", ...flags);
      expect([installed.code, installed.err, installed.out]).toEqual([
        0,
        expect.stringContaining("svc runs on team"),
        expect.stringContaining("answered with 19 tools"),
      ]);
      const { command, args } = JSON.parse(readFileSync(cursorFile(here), "utf8")).mcpServers.svc;
      const agent = new Client({ name: "test", version: "1" });
      await agent.connect(new StdioClientTransport({ command, args, env: here, cwd: "/", stderr: "ignore" }));
      const call = async (name: string, words: Record<string, unknown>) => {
        const { content } = await agent.callTool({ name, arguments: words });
        return (content as { text: string }[])[0]!.text;
      };
      await call("svc_add", { collection: "notes", texts: ["The ferry leaves at noon."], ids: ["ferry"] });
      expect(await call("svc_search", { collection: "notes", query: "when does the ferry leave" })).toContain("ferry");
      expect(await call("svc_repo_search", { query: "crossTheFjord" })).toContain("ferry.ts");
      await agent.close();
      expect(existsSync(join(there.HOME!, "team memory"))).toBe(true);
      // The key of this host is another one.
      writeFileSync(at("known"), "");
      const unknown = await svc(here, ["mcp", "status", "--client", "cursor"]);
      expect(unknown.err).toContain("run 'ssh team' once in a terminal, to accept the key of the host");
    } finally {
      server.kill();
      await server.exited;
      if (made) rmdirSync("/run/sshd");
    }
  },
);
