/** What `svc mcp` says of a client beside its entry: lists that block svc, shared files, new names; and which are chosen. */
import { afterAll, describe, expect, test } from "bun:test";
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
import { CLIENTS, configFile } from "../../src/clients/clients.ts";
import { Screen } from "../cli/terminal.ts";
import { asPlainUser, emptyHome, type Home, SVC, svc } from "./home.ts";

const homes: string[] = [];
afterAll(() => {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

/** A home with these files, and a PATH without programs of clients. */
function homeWith(files: Record<string, string> = {}): Home {
  const home = emptyHome();
  homes.push(home.HOME!);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(home.HOME!, name)), { recursive: true });
    writeFileSync(join(home.HOME!, name), content);
  }
  return { ...home, PATH: join(home.HOME!, "bin") };
}

describe("a list that blocks svc", () => {
  const EXCLUDED = '{"mcp": {"excluded": ["svc"]}}';
  const SENTENCE = "Gemini CLI does not start svc: 'mcp.excluded' in ~/.gemini/settings.json lists it";

  test("is said by install, status and doctor, with its file and key", async () => {
    const env = homeWith({ ".gemini/settings.json": EXCLUDED });
    const dry = await svc(env, ["mcp", "install", "--all", "--dry-run"]);
    expect(dry.err).toContain(SENTENCE);
    const installed = await svc(env, ["mcp", "install", "--all"]);
    expect(installed.code).toBe(1);
    expect(installed.err).toContain(SENTENCE);
    expect(installed.out).not.toContain("answered");
    expect(installed.err).not.toContain("Start a new session of Gemini CLI");
    const status = await svc(env, ["mcp", "status"]);
    expect(status.code).toBe(1);
    expect(status.err).toContain(SENTENCE);
    expect(status.out).toMatch(/^Gemini CLI +this svc +blocked/m);
    const block = { file: join(env.HOME!, ".gemini/settings.json"), key: "mcp.excluded", why: "lists it" };
    for (const verb of ["install", "status"]) {
      const { out } = await svc(env, ["mcp", verb, "--client", "gemini-cli", "--json"]);
      expect(JSON.parse(out).clients[0]).toMatchObject({ blocked: block, successor: "antigravity" });
    }
    const doctor = JSON.parse((await svc(env, ["doctor", "--json"])).out);
    expect(doctor.findings).toContainEqual({
      area: "clients",
      check: "clients.blocked",
      level: "problem",
      message: SENTENCE,
      remedy: "change 'mcp.excluded' in ~/.gemini/settings.json",
    });
    expect((await svc(env, ["mcp", "uninstall", "--all"])).code).toBe(0);
    expect(readFileSync(join(env.HOME!, ".gemini/settings.json"), "utf8")).toBe(EXCLUDED);
  });

  test("of an administrator, where a variable moves his file", async () => {
    const env = homeWith({ ".gemini/settings.json": "{}", "admin.json": '{"mcp": {"allowed": []}}' });
    const moved = { ...env, GEMINI_CLI_SYSTEM_SETTINGS_PATH: join(env.HOME!, "admin.json") };
    const { err } = await svc(moved, ["mcp", "install", "--client", "gemini-cli"]);
    expect(err).toContain("Gemini CLI does not start svc: 'mcp.allowed' in ~/admin.json does not list it");
  });

  test("of tools, and of a part of a client, which does not fail", async () => {
    const env = homeWith({
      ".claude/settings.json": '{"permissions": {"deny": ["mcp__svc"]}}',
      ".cursor/cli-config.json": '{"permissions": {"deny": ["Mcp(svc:*)"]}}',
    });
    const claude = await svc(env, ["mcp", "install", "--client", "claude-code"]);
    expect(claude.code).toBe(1);
    expect(claude.err).toContain(
      "Claude Code offers no tool of svc: 'permissions.deny' in ~/.claude/settings.json has 'mcp__svc'",
    );
    const cursor = await svc(env, ["mcp", "install", "--client", "cursor"]);
    expect(cursor.code).toBe(0);
    expect(cursor.out).toContain("answered with 19 tools");
    expect(cursor.err).toContain(
      "Cursor offers no tool of svc in its program of the terminal: 'permissions.deny' in ~/.cursor/cli-config.json has 'Mcp(svc:*)'",
    );
    const { clients } = JSON.parse((await svc(env, ["mcp", "status", "--client", "cursor", "--json"])).out);
    expect(clients[0]).toMatchObject({
      blocked: null,
      partly_blocked: { key: "permissions.deny" },
      started: { ok: true },
    });
  });

  test("of other servers, a broken one, and a list of tools", async () => {
    const entry = { command: SVC, args: ["mcp"], disabledTools: ["svc_delete", "svc_add"] };
    const env = homeWith({
      ".claude/settings.json": "{ broken",
      ".kiro/settings/mcp.json": JSON.stringify({ mcpServers: { svc: entry } }),
    });
    const installed = await svc(env, ["mcp", "install", "--all"]);
    expect(installed).toMatchObject({ code: 0 });
    expect(installed.err).toContain("Kiro hides the tools in 'disabledTools' of the entry: svc_delete, svc_add");
    const { clients } = JSON.parse((await svc(env, ["mcp", "status", "--client", "kiro", "--json"])).out);
    expect(clients[0].tool_filter).toEqual({ key: "disabledTools", tools: ["svc_delete", "svc_add"], only: false });
  });
});

test("a file that clients share is said in install, status and uninstall", async () => {
  const env = homeWith({ "app/.git/HEAD": "ref: refs/heads/main\n", "app/.git/refs/x": "", "app/.git/objects/x": "" });
  const at = { cwd: join(env.HOME!, "app") };
  const flags = ["--scope", "project", "--client", "claude-code"];
  const shared = ".mcp.json is also read by VS Code, Copilot CLI, Qwen Code";
  expect((await svc(env, ["mcp", "install", ...flags], "", at)).err).toContain(`Claude Code: ${shared}\n`);
  const status = await svc(env, ["mcp", "status"], "", at);
  expect(status.err).toContain(`Claude Code, project: ${shared}\n`);
  expect(status.err).toContain("Copilot CLI, project: .mcp.json is also read by Claude Code, VS Code, Qwen Code\n");
  const { clients } = JSON.parse((await svc(env, ["mcp", "status", ...flags, "--json"], "", at)).out);
  expect(clients[0].also_read_by).toEqual(["vscode", "copilot-cli", "qwen-code"]);
  const removed = await svc(env, ["mcp", "uninstall", ...flags], "", at);
  expect(removed.err).toContain(`Claude Code: ${shared}; the entry is gone for them too\n`);
  expect(existsSync(join(at.cwd, ".mcp.json"))).toBe(false);
});

test("an entry of the project, or a local one, that wins over the user's is said", async () => {
  const project = { "app/.git/HEAD": "ref: refs/heads/main\n", "app/.git/refs/x": "", "app/.git/objects/x": "" };
  const entry = { command: SVC, args: ["mcp", "--with-text"] };
  const servers = JSON.stringify({ mcpServers: { svc: entry } });
  const env = homeWith({
    ...project,
    ".claude.json": servers,
    "app/.mcp.json": servers,
    ".cursor/mcp.json": servers,
    "app/.cursor/mcp.json": servers,
    ".kiro/settings/mcp.json": servers,
    "app/.kiro/settings/mcp.json": JSON.stringify({ mcpServers: { svc: { command: "another", args: [] } } }),
  });
  const at = { cwd: join(env.HOME!, "app") };
  const rule = "a local entry wins over one of the project, and that over one of the user";
  const status = async (...words: string[]) => svc(env, ["mcp", "status", ...words], "", at);
  const before = await status();
  expect(before.code).toBe(0);
  expect(before.err).toContain(
    `Claude Code: in this project the client uses the entry 'svc' in .mcp.json instead: ${rule}\n`,
  );
  expect(before.err).toContain(
    "Kiro: in this project the client uses the entry 'svc' in .kiro/settings/mcp.json instead: an entry of the project wins over one of the user\n",
  );
  expect(before.err).not.toMatch(/Cursor.* instead|project: in this project/);
  expect((await svc(env, ["mcp", "status"])).err).not.toContain("instead");
  expect((await svc(env, ["mcp", "install", "--client", "claude-code"], "", at)).err).toContain(`instead: ${rule}`);
  writeFileSync(
    join(env.HOME!, ".claude.json"),
    JSON.stringify({ mcpServers: { svc: entry }, projects: { [at.cwd]: { mcpServers: { svc: entry } } } }),
  );
  const local = `uses the local entry 'svc' in ~/.claude.json instead: ${rule}\n`;
  const { err } = await status();
  expect(err).toContain(`Claude Code: in this project the client ${local}`);
  expect(err).toContain(`Claude Code, project: in this project the client ${local}`);
  const { clients } = JSON.parse((await status("--client", "claude-code", "--scope", "user", "--json")).out);
  expect(clients[0].overridden_by).toEqual({ file: join(env.HOME!, ".claude.json"), scope: "local" });
});

test("a new name is said until the new client has svc, and a file of earlier versions is said", async () => {
  const old = { mcpServers: { svc: { command: SVC, args: ["mcp", "--with-text"] } } };
  const env = homeWith({
    ".codeium/windsurf/mcp_config.json": "{}",
    ".gemini/antigravity/mcp_config.json": JSON.stringify(old),
  });
  const said = "Windsurf has been Devin Desktop since June 2026";
  expect((await svc(env, ["mcp", "install", "--client", "windsurf"])).err).toContain(`note: ${said}`);
  expect((await svc(env, ["mcp", "status"])).err).toContain(said);
  const status = await svc(env, ["mcp", "status", "--client", "antigravity"]);
  expect(status.err).toContain(
    "Antigravity: earlier versions read ~/.gemini/antigravity/mcp_config.json, and current ones " +
      "~/.gemini/config/mcp_config.json: to move the entry, run 'svc mcp uninstall --client antigravity' and " +
      "'svc mcp install --client antigravity'",
  );
  expect((await svc(env, ["mcp", "install", "--client", "devin"])).code).toBe(0);
  expect((await svc(env, ["mcp", "status"])).err).not.toContain(said);
  expect((await svc(env, ["mcp", "uninstall", "--client", "antigravity"])).code).toBe(0);
  expect((await svc(env, ["mcp", "install", "--client", "antigravity"])).out).toContain(
    "~/.gemini/config/mcp_config.json",
  );
});

describe("on a terminal", () => {
  const FILES = { ".cursor/x": "", ".kiro/x": "", ".junie/x": "" };
  const has = (env: Home) =>
    ["cursor/mcp.json", "kiro/settings/mcp.json", "junie/mcp/mcp.json"].map((name) =>
      existsSync(join(env.HOME!, `.${name}`)),
    );
  const questions = async (screen: Screen) => {
    for (const question of [/in what is stored\? \[y\/N\] /, /find its notes first\? \[y\/N\] /]) {
      await screen.until(question);
      screen.type("\n");
    }
  };

  test("clients are chosen by their numbers, asked again after a wrong one", async () => {
    const env = homeWith(FILES);
    using screen = new Screen([SVC, "mcp", "install"], env);
    await screen.until(/found:\s+1 {2}Cursor\s+2 {2}Kiro\s+3 {2}Junie\s[\s\S]*add svc to which\? [^\n]*: $/);
    screen.type("7\n");
    await screen.until(/'7' is not one of the numbers from 1 to 3[\s\S]*which\? [^\n]*: $/);
    screen.type("1 3\n");
    await questions(screen);
    expect(await screen.ended).toBe(0);
    expect(has(env)).toEqual([true, false, true]);

    using again = new Screen([SVC, "mcp", "install"], env);
    await again.until(/1 {2}Cursor \(has it\)\s+2 {2}Kiro\s+3 {2}Junie \(has it\)/);
    await again.until(/which\? [^\n]*: $/);
    again.type("2\n");
    await questions(again);
    expect(await again.ended).toBe(0);
    expect(has(env)).toEqual([true, true, true]);

    using removal = new Screen([SVC, "mcp", "uninstall"], env);
    await removal.until(/found in:[\s\S]*remove svc from which\? [^\n]*: $/);
    removal.type("2 3\n");
    expect(await removal.ended).toBe(0);
    expect(has(env)).toEqual([true, false, false]);
  });

  test.each([
    ["Enter chooses all", "\n", 0, [true, true, true]],
    ["n chooses no client", "n\n", 1, [false, false, false]],
    ["an interruption chooses no client", "\x03", 130, [false, false, false]],
    ["three wrong answers choose no client", "x\n", 1, [false, false, false]],
  ] as const)("%s", async (_, typed, code, installed) => {
    const env = homeWith(FILES);
    using screen = new Screen([SVC, "mcp", "install"], env);
    for (let i = 0; i < (typed === "x\n" ? 3 : 1); i++) {
      await screen.until(new RegExp(`(which\\? [^\\n]*: [^]*){${i + 1}}$`));
      screen.type(typed);
    }
    if (code === 0) await questions(screen);
    expect(await screen.ended).toBe(code);
    expect(has(env)).toEqual([...installed]);
  });
});

describe("bad input, for each client", () => {
  const siteOf = (env: Home) => ({ home: env.HOME!, platform: process.platform as "linux" | "darwin", env });
  const put = (env: Home, content: string) =>
    CLIENTS.map((client) => {
      const file = configFile(client, "user", siteOf(env));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
      return file;
    });
  const all = CLIENTS.flatMap(({ id }) => ["--client", id]);

  test("broken files are each a sentence, and stay", async () => {
    const env = homeWith();
    const files = put(env, '{"a": "\n[b');
    const { code, out } = await svc(env, ["mcp", "install", "--json", ...all]);
    expect(code).toBe(1);
    for (const one of JSON.parse(out).clients)
      expect(one).toMatchObject({
        action: null,
        error: { type: "ValueError" },
        started: null,
        blocked: null,
        host: null,
      });
    for (const file of files) expect(readFileSync(file, "utf8")).toBe('{"a": "\n[b');
  });

  test("empty files get the entry, and are empty again", async () => {
    const env = homeWith();
    const files = put(env, "");
    expect((await svc(env, ["mcp", "install", ...all])).code).toBe(0);
    for (const file of files) expect(readFileSync(file, "utf8")).toContain(SVC);
    expect((await svc(env, ["mcp", "uninstall", "--all"])).code).toBe(0);
    for (const file of files) expect(readFileSync(file, "utf8")).toBe("");
  });

  test("links are followed and stay; one that leads nowhere is a sentence", async () => {
    const env = homeWith();
    const files = put(env, "");
    const dotfiles = join(env.HOME!, "dotfiles");
    mkdirSync(dotfiles);
    for (const [i, file] of files.entries()) {
      rmSync(file);
      writeFileSync(join(dotfiles, String(i)), "");
      symlinkSync(join(dotfiles, String(i)), file);
    }
    expect((await svc(env, ["mcp", "install", ...all])).code).toBe(0);
    for (const i of files.keys()) expect(readFileSync(join(dotfiles, String(i)), "utf8")).toContain(SVC);
    expect((await svc(env, ["mcp", "uninstall", "--all"])).code).toBe(0);
    for (const i of files.keys()) expect(readFileSync(join(dotfiles, String(i)), "utf8")).toBe("");
    rmSync(dotfiles, { recursive: true });
    const { code, out } = await svc(env, ["mcp", "install", "--json", ...all]);
    expect(code).toBe(1);
    for (const one of JSON.parse(out).clients) expect(one.error.message).toContain("is a link that leads to no file");
  });

  test.skipIf(asPlainUser === undefined)("a home that is read-only is a sentence (needs setpriv as root)", async () => {
    const env = homeWith();
    const prefix = (asPlainUser ?? []).map((word) => Bun.which(word) ?? word);
    chmodSync(env.HOME!, 0o555);
    const { code, out, err } = await svc(env, ["mcp", "install", "--json", ...all], "", { prefix });
    chmodSync(env.HOME!, 0o755);
    expect(code).toBe(1);
    if (out !== "") for (const one of JSON.parse(out).clients) expect(one.error.message).toMatch(/EACCES|permission/i);
    else expect(err).toMatch(/EACCES|permission/i);
    expect(readdirSync(env.HOME!)).toEqual([]);
  });
});
