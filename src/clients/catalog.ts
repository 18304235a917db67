/**
 * The clients: where each keeps its servers, what an entry looks like, and when it reads them. Each was taken from the
 * page of its own documentation that is named, and is compared with npm's `add-mcp` in the tests. Where versions of a
 * client differ, the place and shape are those that all current ones read.
 */
import { join } from "node:path";
import type { Client, ClientSite, Scope } from "./client.ts";
import type { PlainObject } from "./edit/edit.ts";
import { JSON_NOTATION } from "./edit/json.ts";
import { TOML_NOTATION } from "./edit/toml.ts";
import { isObject, valueAt } from "./edit/values.ts";
import { YAML_NOTATION } from "./edit/yaml.ts";
import { GOOSE_SHAPE, OPENCODE_SHAPE, standard } from "./shapes.ts";

/** `$XDG_CONFIG_HOME`, where it is absolute: others are invalid, as the XDG specification says. */
const xdgConfig = ({ env }: ClientSite) => (env.XDG_CONFIG_HOME?.startsWith("/") ? env.XDG_CONFIG_HOME : undefined);

/** That, or `~/.config`. */
const config = (site: ClientSite) => xdgConfig(site) ?? join(site.home, ".config");

/** Where applications keep their settings: `~/Library/Application Support` on macOS, `~/.config` on Linux. */
const support = (site: ClientSite) =>
  site.platform === "darwin" ? join(site.home, "Library", "Application Support") : config(site);

/** A file of the project for scope `project`, else the files of the user. */
function byScope(project: readonly string[], user: (site: ClientSite) => readonly string[]) {
  return (scope: Scope, site: ClientSite): readonly string[] =>
    scope === "user" ? user(site) : project.map((file) => join(site.project ?? ".", file));
}

/** A client whose entries lie in `mcpServers` of a JSON file, unless it says otherwise. */
function jsonClient(
  client: Omit<Client, "notation" | "shape" | "path"> & Partial<Pick<Client, "shape" | "path">>,
  key = "mcpServers",
): Client {
  return { notation: JSON_NOTATION, shape: standard(), path: () => [key], ...client };
}

/** Files of instructions: of a project in its folder, of the user in the client's. */
function instructionFiles(user: (site: ClientSite) => string, names: readonly string[], project = names) {
  return (scope: Scope, site: ClientSite): readonly string[] =>
    scope === "user"
      ? names.map((name) => join(user(site), name))
      : project.map((name) => join(site.project ?? ".", name));
}

const BOTH: readonly Scope[] = ["user", "project"];
const USER: readonly Scope[] = ["user"];

const claudeFolder = ({ home, env }: ClientSite) => env.CLAUDE_CONFIG_DIR || join(home, ".claude");

/**
 * Claude Code documentation, "Connect Claude Code to tools via MCP" and "Settings". Early versions had `.config.json`
 * in their folder. Hooks: "Hooks reference"; those of a project go into the file that is for this machine only, because
 * they have paths of it. Instructions: "How Claude remembers your project".
 */
const CLAUDE_CODE = jsonClient({
  id: "claude-code",
  namesProject: true,
  title: "Claude Code",
  scopes: BOTH,
  afterwards: "Start a new session of Claude Code; /mcp lists its servers.",
  afterRemoval: "Sessions of Claude Code that are open keep svc until they end.",
  program: "claude",
  files: byScope([".mcp.json"], (site) => [
    join(site.env.CLAUDE_CONFIG_DIR || site.home, ".claude.json"),
    join(claudeFolder(site), ".config.json"),
  ]),
  traces: (site) => [claudeFolder(site), join(site.home, ".claude.json")],
  hooks: {
    file: (scope, site) =>
      scope === "user"
        ? join(claudeFolder(site), "settings.json")
        : join(site.project ?? ".", ".claude", "settings.local.json"),
    events: { "session-start": "SessionStart", prompt: "UserPromptSubmit", stop: "Stop" },
    second: 1,
    afterwards: "Claude Code runs the hooks from the next session on; /hooks lists them.",
  },
  instructions: instructionFiles(claudeFolder, ["CLAUDE.md"], [".claude/CLAUDE.md", "CLAUDE.md"]),
});

/** Model Context Protocol documentation, "Connect to local MCP servers". */
const CLAUDE_DESKTOP = jsonClient({
  id: "claude-desktop",
  title: "Claude Desktop",
  scopes: USER,
  afterwards: "Quit Claude Desktop and start it again.",
  afterRemoval: "Claude Desktop keeps svc until you quit it.",
  files: (_, site) => [join(support(site), "Claude", "claude_desktop_config.json")],
  traces: (site) => [join(support(site), "Claude")],
});

/** Cursor documentation, "Model Context Protocol (MCP)". */
const CURSOR = jsonClient({
  id: "cursor",
  namesProject: true,
  title: "Cursor",
  scopes: BOTH,
  afterwards: "Cursor takes it up by itself; its settings, under MCP, show whether it is on.",
  afterRemoval: "Cursor takes the change up by itself; its settings, under MCP, no longer show svc.",
  program: "cursor",
  files: byScope([".cursor/mcp.json"], ({ home }) => [join(home, ".cursor", "mcp.json")]),
  traces: ({ home }) => [join(home, ".cursor")],
});

/** Visual Studio Code documentation, "MCP configuration reference". */
const VSCODE = jsonClient(
  {
    id: "vscode",
    namesProject: true,
    title: "VS Code",
    scopes: BOTH,
    afterwards: "In VS Code, run the command 'MCP: List Servers' and start it; VS Code asks once whether you trust it.",
    afterRemoval: "In VS Code, the command 'MCP: List Servers' no longer shows svc.",
    program: "code",
    shape: standard({ type: "stdio" }),
    files: byScope([".vscode/mcp.json"], (site) => [join(support(site), "Code", "User", "mcp.json")]),
    traces: (site) => [join(support(site), "Code", "User")],
  },
  "servers",
);

/** Windsurf documentation, "Cascade MCP Integration". */
const WINDSURF = jsonClient({
  id: "windsurf",
  title: "Windsurf",
  scopes: USER,
  afterwards: "Press the refresh button of Windsurf's MCP servers, or start it again.",
  afterRemoval: "Windsurf keeps svc until you press the refresh button of its MCP servers, or quit it.",
  program: "windsurf",
  files: (_, { home }) => [join(home, ".codeium", "windsurf", "mcp_config.json")],
  traces: ({ home }) => [join(home, ".codeium", "windsurf")],
});

/** Zed documentation, "Model Context Protocol" and "Configuring Zed": `~/.config/zed` on macOS too. */
const ZED = jsonClient(
  {
    id: "zed",
    title: "Zed",
    scopes: BOTH,
    afterwards: "Zed takes it up by itself; its settings, under AI, MCP Servers, show whether it runs.",
    afterRemoval: "Zed takes the change up by itself; its settings, under AI, MCP Servers, no longer show svc.",
    program: "zed",
    files: byScope([".zed/settings.json"], (site) => [join(zedFolder(site), "settings.json")]),
    traces: (site) => [zedFolder(site)],
  },
  "context_servers",
);

function zedFolder(site: ClientSite): string {
  return join(site.platform === "darwin" ? join(site.home, ".config") : config(site), "zed");
}

const codexFolder = ({ home, env }: ClientSite) => env.CODEX_HOME || join(home, ".codex");

/**
 * Codex documentation, "Model Context Protocol" and "Configuration Reference". Hooks: "Hooks", and the schemas in
 * `codex-rs/hooks/schema/generated`. Instructions: "Custom instructions with AGENTS.md".
 */
const CODEX: Client = {
  id: "codex",
  title: "Codex",
  scopes: BOTH,
  afterwards:
    "Start a new session of Codex; /mcp lists its servers. It reads a project's file where the project is trusted.",
  afterRemoval: "Sessions of Codex that are open keep svc until they end.",
  program: "codex",
  notation: TOML_NOTATION,
  shape: standard(),
  files: byScope([".codex/config.toml"], (site) => [join(codexFolder(site), "config.toml")]),
  path: () => ["mcp_servers"],
  traces: (site) => [codexFolder(site)],
  hooks: {
    file: (scope, site) =>
      join(scope === "user" ? codexFolder(site) : join(site.project ?? ".", ".codex"), "hooks.json"),
    events: { "session-start": "SessionStart", prompt: "UserPromptSubmit", stop: "Stop" },
    second: 1,
    afterwards: "Codex runs no hook before you trust it: start a session and open /hooks.",
  },
  instructions: instructionFiles(codexFolder, ["AGENTS.override.md", "AGENTS.md"]),
};

const geminiFolder = ({ home, env }: ClientSite) => join(env.GEMINI_CLI_HOME || home, ".gemini");
const geminiFiles = byScope([".gemini/settings.json"], (site) => [join(geminiFolder(site), "settings.json")]);

/**
 * Gemini CLI documentation, "MCP servers with the Gemini CLI" and "Gemini CLI configuration". Hooks: "Gemini CLI hooks"
 * and "Hooks reference"; they are on by themselves since version 0.26. Instructions: "Provide context with GEMINI.md
 * files".
 */
const GEMINI_CLI = jsonClient({
  id: "gemini-cli",
  namesProject: true,
  title: "Gemini CLI",
  scopes: BOTH,
  afterwards: "Start a new session of Gemini CLI; /mcp lists its servers.",
  afterRemoval: "Sessions of Gemini CLI that are open keep svc until they end.",
  program: "gemini",
  files: geminiFiles,
  // Other programs have folders below ~/.gemini.
  traces: (site) => [join(geminiFolder(site), "settings.json")],
  hooks: {
    file: (scope, site) => geminiFiles(scope, site)[0]!,
    events: { "session-start": "SessionStart", prompt: "BeforeAgent", stop: "AfterAgent" },
    second: 1000,
    fields: { name: "svc" },
    afterwards: "Gemini CLI runs the hooks from the next session on; /hooks panel lists them.",
  },
  instructions: instructionFiles(geminiFolder, ["GEMINI.md"]),
});

/** Goose documentation, "Configuration Overview" and "Using Extensions". */
const GOOSE: Client = {
  id: "goose",
  title: "Goose",
  scopes: USER,
  afterwards: "Start a new session of Goose.",
  afterRemoval: "Sessions of Goose that are open keep svc until they end.",
  program: "goose",
  notation: YAML_NOTATION,
  shape: GOOSE_SHAPE,
  files: (_, site) => [join(gooseFolder(site), "config.yaml")],
  path: () => ["extensions"],
  traces: (site) => [gooseFolder(site)],
};

function gooseFolder(site: ClientSite): string {
  return site.env.GOOSE_PATH_ROOT ? join(site.env.GOOSE_PATH_ROOT, "config") : join(config(site), "goose");
}

/**
 * Cline documentation, "MCP Overview": one file for its terminal program and its extensions. Earlier versions kept it in
 * VS Code's folder; Cline takes that one over when it is started.
 */
const CLINE = jsonClient({
  id: "cline",
  title: "Cline",
  scopes: USER,
  afterwards: "Cline takes it up by itself; its MCP servers show whether it runs.",
  afterRemoval: "Cline takes the change up by itself; its MCP servers no longer show svc.",
  program: "cline",
  shape: standard({ disabled: false }),
  files: (_, site) =>
    site.env.CLINE_MCP_SETTINGS_PATH
      ? [site.env.CLINE_MCP_SETTINGS_PATH]
      : [clineFolder(site), clineStorage(site)].map((folder) => join(folder, "settings", "cline_mcp_settings.json")),
  traces: (site) => [clineFolder(site), clineStorage(site)],
});

function clineFolder({ home, env }: ClientSite): string {
  return env.CLINE_DATA_DIR || join(env.CLINE_DIR || join(home, ".cline"), "data");
}

function clineStorage(site: ClientSite): string {
  return join(support(site), "Code", "User", "globalStorage", "saoudrizwan.claude-dev");
}

/**
 * GitHub documentation, "Adding MCP servers for GitHub Copilot CLI" and "GitHub Copilot CLI configuration directory". A
 * project's file is that of other clients too, and has no `tools`. Instructions: "Adding custom instructions for GitHub
 * Copilot CLI".
 */
const COPILOT_CLI = jsonClient({
  id: "copilot-cli",
  title: "Copilot CLI",
  scopes: BOTH,
  afterwards: "Start a new session of Copilot CLI; /mcp show lists its servers.",
  afterRemoval: "Sessions of Copilot CLI that are open keep svc until they end.",
  program: "copilot",
  shape: standard({ type: "stdio", tools: ["*"] }),
  projectShape: standard({ type: "stdio" }),
  files: byScope([".mcp.json", ".github/mcp.json"], (site) => {
    const { COPILOT_HOME } = site.env;
    // Where versions of 2025 looked with this variable.
    const former = COPILOT_HOME ? undefined : xdgConfig(site);
    return [COPILOT_HOME || join(site.home, ".copilot"), ...(former === undefined ? [] : [former])].map((folder) =>
      join(folder, "mcp-config.json"),
    );
  }),
  traces: (site) => [copilotFolder(site)],
  instructions: instructionFiles(
    copilotFolder,
    ["copilot-instructions.md"],
    [join(".github", "copilot-instructions.md")],
  ),
});

function copilotFolder({ home, env }: ClientSite): string {
  return env.COPILOT_HOME || join(home, ".copilot");
}

const OPENCODE_FILES = ["opencode.jsonc", "opencode.json"];

/**
 * OpenCode documentation, "MCP servers" of versions 1 and 2, "Migrate from V1" and "Config". Entries lie in `mcp`, which
 * both versions read, unless the file has `mcp.servers` already, which only version 2 does. Instructions: "Rules".
 */
const OPENCODE = jsonClient({
  id: "opencode",
  title: "OpenCode",
  scopes: BOTH,
  afterwards: "Start OpenCode again.",
  afterRemoval: "OpenCode keeps svc until you quit it.",
  program: "opencode",
  shape: OPENCODE_SHAPE,
  files: byScope([...OPENCODE_FILES, ...OPENCODE_FILES.map((file) => `.opencode/${file}`)], (site) =>
    OPENCODE_FILES.map((file) => join(config(site), "opencode", file)),
  ),
  path(document, name) {
    if (!isObject(document)) return ["mcp"];
    const servers = valueAt(document as PlainObject, ["mcp", "servers"]);
    const isNative = isObject(servers) && !("type" in servers) && !("command" in servers);
    const isThere = valueAt(document as PlainObject, ["mcp", name]) !== undefined && name !== "servers";
    return isNative && !isThere ? ["mcp", "servers"] : ["mcp"];
  },
  traces: (site) => [join(config(site), "opencode")],
  instructions: instructionFiles((site) => join(config(site), "opencode"), ["AGENTS.md"]),
});

/**
 * Qwen Code documentation, "Connect Qwen Code to tools via MCP" and "MCP servers". Versions from 1.0 write `.mcp.json` in
 * a project, and still read the file that earlier ones know only.
 */
const QWEN_CODE = jsonClient({
  id: "qwen-code",
  namesProject: true,
  title: "Qwen Code",
  scopes: BOTH,
  afterwards: "Start a new session of Qwen Code; /mcp lists its servers.",
  afterRemoval: "Sessions of Qwen Code that are open keep svc until they end.",
  program: "qwen",
  files: byScope([".qwen/settings.json"], (site) => [join(qwenFolder(site), "settings.json")]),
  traces: (site) => [qwenFolder(site)],
});

const qwenFolder = ({ home, env }: ClientSite) => env.QWEN_HOME || join(home, ".qwen");

/** In the order in which they are offered. */
export const CLIENTS: readonly Client[] = [
  CLAUDE_CODE,
  CLAUDE_DESKTOP,
  CURSOR,
  VSCODE,
  WINDSURF,
  ZED,
  CODEX,
  GEMINI_CLI,
  GOOSE,
  CLINE,
  COPILOT_CLI,
  OPENCODE,
  QWEN_CODE,
];
