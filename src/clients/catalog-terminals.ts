/** The clients that are programs of the terminal. Each names the page of its documentation that it was taken from. */
import { join } from "node:path";
import { ampRules, claudeLists, codexRequirements, copilotLists } from "./blocks-by-command.ts";
import { anyOf, geminiSettings, nameLists, switchIn } from "./blocks-by-name.ts";
import type { Client, ClientSite } from "./client.ts";
import type { PlainObject } from "./edit/edit.ts";
import { TOML_NOTATION } from "./edit/toml.ts";
import { isObject, valueAt } from "./edit/values.ts";
import { YAML_NOTATION } from "./edit/yaml.ts";
import {
  BOTH,
  byScope,
  config,
  copilotFolder,
  instructionFiles,
  jsonClient,
  PROJECT_FIRST,
  projectFiles,
  systemFile,
  USER,
  xdgConfig,
} from "./places.ts";
import { GOOSE_SHAPE, OPENCODE_SHAPE, standard } from "./shapes.ts";

const claudeFolder = ({ home, env }: ClientSite) => env.CLAUDE_CONFIG_DIR || join(home, ".claude");
const claudeFiles = byScope([".mcp.json"], (site) => [
  join(site.env.CLAUDE_CONFIG_DIR || site.home, ".claude.json"),
  join(claudeFolder(site), ".config.json"),
]);

/**
 * Claude Code documentation, "Connect Claude Code to tools via MCP" and "Settings". `.config.json` in its
 * folder is the file of early versions. Hooks: "Hooks reference"; those of a project go into the file that is for this machine only, because
 * they have paths of it. Instructions: "How Claude remembers your project".
 */
export const CLAUDE_CODE = jsonClient({
  id: "claude-code",
  reportsProject: true,
  title: "Claude Code",
  scopes: BOTH,
  afterwards: "Start a new session of Claude Code; /mcp lists its servers.",
  afterRemoval: "Sessions of Claude Code that are open keep svc until they end.",
  program: "claude",
  files: claudeFiles,
  findBlock: claudeLists(claudeFolder, claudeFiles),
  precedence: {
    rule: "a local entry wins over one of the project, and that over one of the user",
    local: (project, name) => ["projects", project, "mcpServers", name],
  },
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

const codexFolder = ({ home, env }: ClientSite) => env.CODEX_HOME || join(home, ".codex");

/**
 * Codex documentation, "Model Context Protocol" and "Configuration Reference". Hooks: "Hooks", and the schemas in
 * `codex-rs/hooks/schema/generated`. Instructions: "Custom instructions with AGENTS.md".
 */
export const CODEX: Client = {
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
  findBlock: codexRequirements,
  precedence: PROJECT_FIRST,
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
export const GEMINI_CLI = jsonClient({
  id: "gemini-cli",
  reportsProject: true,
  title: "Gemini CLI",
  scopes: BOTH,
  afterwards: "Start a new session of Gemini CLI; /mcp lists its servers.",
  afterRemoval: "Sessions of Gemini CLI that are open keep svc until they end.",
  program: "gemini",
  files: geminiFiles,
  precedence: PROJECT_FIRST,
  findBlock: anyOf(
    nameLists((site) => geminiSettings(site, "gemini-cli", "GEMINI_CLI", ".gemini/settings.json", geminiFiles)),
    switchIn(
      (site) => [join(geminiFolder(site), "mcp-server-enablement.json")],
      (name) => [name.toLowerCase(), "enabled"],
    ),
  ),
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
  successor: {
    id: "antigravity",
    sentence:
      "Since June 2026 Gemini CLI serves only API keys and licences of Gemini Code Assist; Antigravity CLI replaces it for all others: " +
      "'svc mcp install --client antigravity' adds svc to it.",
  },
});

/** Goose documentation, "Configuration Overview" and "Using Extensions". */
export const GOOSE: Client = {
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
 * GitHub documentation, "Adding MCP servers for GitHub Copilot CLI" and "GitHub Copilot CLI configuration directory". A
 * project's file is that of other clients too, and has no `tools`. Instructions: "Adding custom instructions for GitHub
 * Copilot CLI".
 */
export const COPILOT_CLI = jsonClient({
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
  findBlock: copilotLists,
  instructions: instructionFiles(
    copilotFolder,
    ["copilot-instructions.md"],
    [join(".github", "copilot-instructions.md")],
  ),
});

const OPENCODE_FILES = ["opencode.jsonc", "opencode.json"];
const OPENCODE_PROJECT_FILES = [...OPENCODE_FILES, ...OPENCODE_FILES.map((file) => `.opencode/${file}`)];

/**
 * OpenCode documentation, "MCP servers" of versions 1 and 2, "Migrate from V1" and "Config". Entries lie in `mcp`, which
 * both versions read, unless the file has `mcp.servers` already, which only version 2 does. Instructions: "Rules".
 */
export const OPENCODE = jsonClient({
  id: "opencode",
  title: "OpenCode",
  scopes: BOTH,
  afterwards: "Start OpenCode again.",
  afterRemoval: "OpenCode keeps svc until you quit it.",
  program: "opencode",
  shape: OPENCODE_SHAPE,
  precedence: PROJECT_FIRST,
  files: byScope(OPENCODE_PROJECT_FILES, (site) => OPENCODE_FILES.map((file) => join(config(site), "opencode", file))),
  path(document, name) {
    if (!isObject(document)) return ["mcp"];
    const servers = valueAt(document as PlainObject, ["mcp", "servers"]);
    const isNative = isObject(servers) && !("type" in servers) && !("command" in servers);
    const isThere = valueAt(document as PlainObject, ["mcp", name]) !== undefined && name !== "servers";
    return isNative && !isThere ? ["mcp", "servers"] : ["mcp"];
  },
  traces: (site) => [join(config(site), "opencode")],
  findBlock: switchIn(
    (site, scope) => [
      ...OPENCODE_FILES.map((file) =>
        systemFile(site, `/etc/opencode/${file}`, `/Library/Application Support/opencode/${file}`),
      ),
      ...(scope === "user" ? projectFiles(site, ...OPENCODE_PROJECT_FILES) : []),
    ],
    (name) => ["mcp", name, "enabled"],
  ),
  instructions: instructionFiles((site) => join(config(site), "opencode"), ["AGENTS.md"]),
});

const qwenFolder = ({ home, env }: ClientSite) => env.QWEN_HOME || join(home, ".qwen");
const qwenFiles = byScope([".qwen/settings.json"], (site) => [join(qwenFolder(site), "settings.json")]);

/**
 * Qwen Code documentation, "Connect Qwen Code to tools via MCP" and "MCP servers". Versions from 1.0 write `.mcp.json` in
 * a project, and still read the file that earlier ones know only.
 */
export const QWEN_CODE = jsonClient({
  id: "qwen-code",
  reportsProject: true,
  title: "Qwen Code",
  scopes: BOTH,
  afterwards: "Start a new session of Qwen Code; /mcp lists its servers.",
  afterRemoval: "Sessions of Qwen Code that are open keep svc until they end.",
  program: "qwen",
  files: qwenFiles,
  precedence: PROJECT_FIRST,
  alsoReads: byScope([".mcp.json"], () => []),
  findBlock: nameLists(
    (site) => geminiSettings(site, "qwen-code", "QWEN_CODE", ".qwen/settings.json", qwenFiles),
    true,
  ),
  traces: (site) => [qwenFolder(site)],
});

const AMP_MANAGED = "managed-settings.json";
const ampFiles = byScope([".amp/settings.json"], (site) => [
  site.env.AMP_SETTINGS_FILE || join(config(site), "amp", "settings.json"),
]);

/**
 * Amp Owner's Manual, "MCP" and "Settings": the key has a dot in it. The user's file is below `~/.config` on macOS too.
 */
export const AMP = jsonClient(
  {
    id: "amp",
    title: "Amp",
    scopes: BOTH,
    afterwards: "Start a new session of Amp. It starts a project's server once you run 'amp mcp approve svc'.",
    afterRemoval: "Sessions of Amp that are open keep svc until they end.",
    program: "amp",
    files: ampFiles,
    findBlock: ampRules((site) => [
      systemFile(site, `/etc/ampcode/${AMP_MANAGED}`, `/Library/Application Support/ampcode/${AMP_MANAGED}`),
      ...projectFiles(site, ".amp/settings.json"),
      ...ampFiles("user", site),
    ]),
    traces: (site) => [join(config(site), "amp")],
  },
  "amp.mcpServers",
);
