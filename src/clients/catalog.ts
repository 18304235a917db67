/**
 * The clients: where each keeps its servers, what an entry looks like, and when it reads them. Each was taken from the
 * page of its own documentation that is named, and is compared with npm's `add-mcp` in the tests.
 */
import { join } from "node:path";
import type { Client, ClientSite, Scope } from "./client.ts";
import { JSON_NOTATION } from "./edit/json.ts";
import { TOML_NOTATION } from "./edit/toml.ts";
import { isObject, valueAt } from "./edit/values.ts";
import { YAML_NOTATION } from "./edit/yaml.ts";
import { GOOSE_SHAPE, OPENCODE_SHAPE, standard } from "./shapes.ts";

/** `$XDG_CONFIG_HOME`, or `~/.config`. */
const config = ({ home, env }: ClientSite) => env.XDG_CONFIG_HOME || join(home, ".config");

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

const BOTH: readonly Scope[] = ["user", "project"];
const USER: readonly Scope[] = ["user"];

/** Claude Code documentation, "Connect Claude Code to tools via MCP" and "Settings". */
const CLAUDE_CODE = jsonClient({
  id: "claude-code",
  title: "Claude Code",
  scopes: BOTH,
  afterwards: "Start a new session of Claude Code; /mcp lists its servers.",
  program: "claude",
  files: byScope([".mcp.json"], ({ home, env }) => [
    // A file of earlier versions, which goes first where it is still there.
    ...(env.CLAUDE_CONFIG_DIR ? [] : []),
    join(env.CLAUDE_CONFIG_DIR || home, ".claude.json"),
  ]),
  traces: ({ home, env }) => [env.CLAUDE_CONFIG_DIR || join(home, ".claude"), join(home, ".claude.json")],
});

/** Model Context Protocol documentation, "Connect to local MCP servers". */
const CLAUDE_DESKTOP = jsonClient({
  id: "claude-desktop",
  title: "Claude Desktop",
  scopes: USER,
  afterwards: "Quit Claude Desktop and start it again.",
  files: (_, site) => [join(support(site), "Claude", "claude_desktop_config.json")],
  traces: (site) => [join(support(site), "Claude")],
});

/** Cursor documentation, "Model Context Protocol (MCP)". */
const CURSOR = jsonClient({
  id: "cursor",
  title: "Cursor",
  scopes: BOTH,
  afterwards: "Cursor takes it up by itself; Settings, MCP shows whether it is on.",
  program: "cursor",
  files: byScope([".cursor/mcp.json"], ({ home }) => [join(home, ".cursor", "mcp.json")]),
  traces: ({ home }) => [join(home, ".cursor")],
});

/** Visual Studio Code documentation, "MCP configuration reference". */
const VSCODE = jsonClient(
  {
    id: "vscode",
    title: "VS Code",
    scopes: BOTH,
    afterwards:
      "VS Code takes it up by itself; the command MCP: List Servers starts it and asks once whether it is trusted.",
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
  program: "windsurf",
  files: (_, { home }) => [join(home, ".codeium", "windsurf", "mcp_config.json")],
  traces: ({ home }) => [join(home, ".codeium", "windsurf")],
});

/** Zed documentation, "Model Context Protocol". */
const ZED = jsonClient(
  {
    id: "zed",
    title: "Zed",
    scopes: BOTH,
    afterwards: "Zed takes it up by itself; the Agent Panel's settings show whether it runs.",
    program: "zed",
    shape: standard({ source: "custom" }),
    files: byScope([".zed/settings.json"], (site) => [join(config(site), "zed", "settings.json")]),
    traces: (site) => [join(config(site), "zed")],
  },
  "context_servers",
);

/** Codex documentation, "Model Context Protocol" and "Configuration". */
const CODEX: Client = {
  id: "codex",
  title: "Codex",
  scopes: BOTH,
  afterwards: "Start a new session of Codex; /mcp lists its servers.",
  program: "codex",
  notation: TOML_NOTATION,
  shape: standard(),
  files: byScope([".codex/config.toml"], ({ home, env }) => [
    join(env.CODEX_HOME || join(home, ".codex"), "config.toml"),
  ]),
  path: () => ["mcp_servers"],
  traces: ({ home, env }) => [env.CODEX_HOME || join(home, ".codex")],
};

/** Gemini CLI documentation, "MCP servers with the Gemini CLI". */
const GEMINI_CLI = jsonClient({
  id: "gemini-cli",
  title: "Gemini CLI",
  scopes: BOTH,
  afterwards: "Start a new session of Gemini CLI; /mcp lists its servers.",
  program: "gemini",
  files: byScope([".gemini/settings.json"], ({ home }) => [join(home, ".gemini", "settings.json")]),
  traces: ({ home }) => [join(home, ".gemini", "settings.json")],
});

/** Goose documentation, "Using Extensions" and "Configuration Files". */
const GOOSE: Client = {
  id: "goose",
  title: "Goose",
  scopes: USER,
  afterwards: "Start a new session of Goose.",
  program: "goose",
  notation: YAML_NOTATION,
  shape: GOOSE_SHAPE,
  files: (_, site) => [
    site.env.GOOSE_PATH_ROOT
      ? join(site.env.GOOSE_PATH_ROOT, "config", "config.yaml")
      : join(config(site), "goose", "config.yaml"),
  ],
  path: () => ["extensions"],
  traces: (site) => [site.env.GOOSE_PATH_ROOT || join(config(site), "goose")],
};

/** Cline documentation, "Adding & Configuring Servers". */
const CLINE = jsonClient({
  id: "cline",
  title: "Cline",
  scopes: USER,
  afterwards: "Cline takes it up by itself; its MCP Servers panel shows whether it runs.",
  shape: standard({ disabled: false }),
  files: (_, site) => [clineFile(site)],
  traces: (site) => [join(clineFile(site), "..", "..")],
});

function clineFile(site: ClientSite): string {
  const storage = join(support(site), "Code", "User", "globalStorage", "saoudrizwan.claude-dev");
  return join(storage, "settings", "cline_mcp_settings.json");
}

/** GitHub documentation, "Adding MCP servers for GitHub Copilot CLI". */
const COPILOT_CLI = jsonClient({
  id: "copilot-cli",
  title: "Copilot CLI",
  scopes: USER,
  afterwards: "Start a new session of Copilot CLI; /mcp show lists its servers.",
  program: "copilot",
  shape: standard({ type: "local", tools: ["*"] }),
  files: (_, { home, env }) => [join(env.COPILOT_HOME || join(home, ".copilot"), "mcp-config.json")],
  traces: ({ home, env }) => [env.COPILOT_HOME || join(home, ".copilot")],
});

/** OpenCode documentation, "MCP servers" and "Config". */
const OPENCODE = jsonClient({
  id: "opencode",
  title: "OpenCode",
  scopes: BOTH,
  afterwards: "Start OpenCode again.",
  program: "opencode",
  shape: OPENCODE_SHAPE,
  files: byScope(["opencode.json", "opencode.jsonc"], (site) =>
    ["opencode.json", "opencode.jsonc"].map((file) => join(config(site), "opencode", file)),
  ),
  path: (document) => {
    const servers = isObject(document) ? valueAt(document, ["mcp", "servers"]) : undefined;
    return isObject(servers) && !("type" in servers) ? ["mcp", "servers"] : ["mcp"];
  },
  traces: (site) => [join(config(site), "opencode")],
});

/** Qwen Code documentation, "Connect Qwen Code to tools via MCP". */
const QWEN_CODE = jsonClient({
  id: "qwen-code",
  title: "Qwen Code",
  scopes: BOTH,
  afterwards: "Start a new session of Qwen Code; /mcp lists its servers.",
  program: "qwen",
  files: byScope([".qwen/settings.json"], ({ home }) => [join(home, ".qwen", "settings.json")]),
  traces: ({ home }) => [join(home, ".qwen")],
});

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
