/** The clients that have a window, or work inside one. Each names the page of its documentation that it was taken from. */
import { join } from "node:path";
import { copilotLists, vscodeAccess } from "./blocks-by-command.ts";
import { anyOf, cursorDenied, deniedTools, switchIn } from "./blocks-by-name.ts";
import type { ClientSite } from "./client.ts";
import {
  BOTH,
  byScope,
  config,
  copilotFolder,
  jsonClient,
  PROJECT_FIRST,
  projectFiles,
  support,
  USER,
  xdgConfig,
} from "./places.ts";
import { OPENCODE_SHAPE, standard } from "./shapes.ts";

/** Model Context Protocol documentation, "Connect to local MCP servers". */
export const CLAUDE_DESKTOP = jsonClient({
  id: "claude-desktop",
  title: "Claude Desktop",
  scopes: USER,
  afterwards: "Quit Claude Desktop and start it again.",
  afterRemoval: "Claude Desktop keeps svc until you quit it.",
  files: (_, site) => [join(support(site), "Claude", "claude_desktop_config.json")],
  traces: (site) => [join(support(site), "Claude")],
});

/** Cursor documentation, "Model Context Protocol (MCP)". */
export const CURSOR = jsonClient({
  id: "cursor",
  reportsProject: true,
  title: "Cursor",
  scopes: BOTH,
  afterwards: "Cursor takes it up by itself; its settings, under MCP, show whether it is on.",
  afterRemoval: "Cursor takes the change up by itself; its settings, under MCP, no longer show svc.",
  program: "cursor",
  files: byScope([".cursor/mcp.json"], ({ home }) => [join(home, ".cursor", "mcp.json")]),
  traces: ({ home }) => [join(home, ".cursor")],
  findBlock: cursorDenied((site) => {
    const moved = site.platform === "linux" ? xdgConfig(site) : undefined;
    return [
      ...projectFiles(site, ".cursor/cli.json"),
      join(moved === undefined ? join(site.home, ".cursor") : join(moved, "cursor"), "cli-config.json"),
    ];
  }),
});

/**
 * Visual Studio Code documentation, "MCP configuration reference": sessions of its Copilot get the servers of this file,
 * and those of two files of Copilot CLI.
 */
export const VSCODE = jsonClient(
  {
    id: "vscode",
    reportsProject: true,
    title: "VS Code",
    scopes: BOTH,
    afterwards: "In VS Code, run the command 'MCP: List Servers' and start it; VS Code asks once whether you trust it.",
    afterRemoval: "In VS Code, the command 'MCP: List Servers' no longer shows svc.",
    program: "code",
    shape: standard({ type: "stdio" }),
    files: byScope([".vscode/mcp.json"], (site) => [join(support(site), "Code", "User", "mcp.json")]),
    findBlock: anyOf(
      vscodeAccess((site) => join(support(site), "Code", "User", "settings.json")),
      copilotLists,
    ),
    alsoReads: byScope([".mcp.json"], (site) => [join(copilotFolder(site), "mcp-config.json")]),
    traces: (site) => [join(support(site), "Code", "User")],
  },
  "servers",
);

/** Windsurf documentation, "Cascade MCP Integration". */
export const WINDSURF = jsonClient({
  id: "windsurf",
  title: "Windsurf",
  scopes: USER,
  afterwards: "Press the refresh button of Windsurf's MCP servers, or start it again.",
  afterRemoval: "Windsurf keeps svc until you press the refresh button of its MCP servers, or quit it.",
  program: "windsurf",
  files: (_, { home }) => [join(home, ".codeium", "windsurf", "mcp_config.json")],
  traces: ({ home }) => [join(home, ".codeium", "windsurf")],
  successor: {
    id: "devin",
    sentence:
      "Windsurf has been Devin Desktop since June 2026, with another file: run 'svc mcp install --client devin'.",
  },
});

/**
 * Devin documentation, "Cascade MCP Integration" and "MCP Configuration": Devin Desktop and Devin CLI read one file, on
 * macOS too. Earlier versions of the CLI kept the servers in their file of settings.
 */
export const DEVIN = jsonClient({
  id: "devin",
  title: "Devin",
  scopes: BOTH,
  afterwards: "Start a new session of Devin; its MCP servers show whether it runs.",
  afterRemoval: "Sessions of Devin that are open keep svc until they end.",
  program: "devin",
  files: byScope([".devin/mcp_config.json"], (site) => [join(devinFolder(site), "mcp_config.json")]),
  formerFiles: byScope([".devin/config.json", ".devin/config.local.json"], (site) => [
    join(devinFolder(site), "config.json"),
  ]),
  traces: (site) => [devinFolder(site)],
  findBlock: deniedTools((site) => [
    ...projectFiles(site, ".devin/config.local.json", ".devin/config.json"),
    join(devinFolder(site), "config.json"),
  ]),
});

function devinFolder(site: ClientSite): string {
  return join(config(site), "devin");
}

/** Zed documentation, "Model Context Protocol" and "Configuring Zed": `~/.config/zed` on macOS too. */
export const ZED = jsonClient(
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

/**
 * Cline documentation, "MCP Overview": one file for its terminal program and its extensions. Earlier versions kept it in
 * VS Code's folder; Cline takes that one over when it is started.
 */
export const CLINE = jsonClient({
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
 * Antigravity documentation, "Antigravity Editor: MCP Integration", and "Migrating to Antigravity CLI" of Gemini CLI: the
 * editor and the program of the terminal share the user's file. Those of earlier versions have a file each.
 */
export const ANTIGRAVITY = jsonClient({
  id: "antigravity",
  title: "Antigravity",
  scopes: BOTH,
  afterwards: "Press the refresh button of Antigravity's MCP servers, or start a new session of 'agy'.",
  afterRemoval: "Antigravity keeps svc until you press the refresh button of its MCP servers, or end its sessions.",
  program: "agy",
  files: byScope([".agents/mcp_config.json"], (site) => [join(antigravityFolder(site, "config"), "mcp_config.json")]),
  formerFiles: byScope([], (site) =>
    ANTIGRAVITY_FORMER.map((folder) => join(antigravityFolder(site, folder), "mcp_config.json")),
  ),
  traces: (site) => ["config", ...ANTIGRAVITY_FORMER].map((folder) => antigravityFolder(site, folder)),
});

const ANTIGRAVITY_FORMER = ["antigravity", "antigravity-cli"];

function antigravityFolder({ home }: ClientSite, folder: string): string {
  return join(home, ".gemini", folder);
}

/** Kiro documentation, "Configuration" of MCP: the editor and the program of the terminal read the same files. */
export const KIRO = jsonClient({
  id: "kiro",
  title: "Kiro",
  scopes: BOTH,
  afterwards: "Kiro's panel of MCP servers, or /mcp in a new session of its terminal program, shows whether it runs.",
  afterRemoval: "Sessions of Kiro that are open may keep svc until they end.",
  program: "kiro",
  precedence: PROJECT_FIRST,
  files: byScope([".kiro/settings/mcp.json"], ({ home }) => [join(home, ".kiro", "settings", "mcp.json")]),
  traces: ({ home }) => [join(home, ".kiro")],
});

/** Junie documentation, "MCP configuration" of Junie CLI: its plug-in for JetBrains IDEs reads the same files. */
export const JUNIE = jsonClient({
  id: "junie",
  title: "Junie",
  scopes: BOTH,
  afterwards: "Start a new session of Junie; its MCP settings show whether it runs.",
  afterRemoval: "Sessions of Junie that are open keep svc until they end.",
  program: "junie",
  files: byScope([".junie/mcp/mcp.json"], ({ home }) => [join(home, ".junie", "mcp", "mcp.json")]),
  traces: ({ home }) => [join(home, ".junie")],
});

const KILO_FILES = ["kilo.json", "kilo.jsonc"];
const KILO_PROJECT_FILES = [...KILO_FILES, ...KILO_FILES.map((file) => `.kilo/${file}`)];

/** Kilo Code documentation, "Using MCP in Kilo Code": its extension and its program of the terminal read the same files. */
export const KILO = jsonClient(
  {
    id: "kilo",
    title: "Kilo Code",
    scopes: BOTH,
    afterwards: "Start a new session of Kilo Code; its settings, under Agent Behaviour, MCP Servers, show svc.",
    afterRemoval: "Sessions of Kilo Code that are open keep svc until they end.",
    program: "kilo",
    shape: OPENCODE_SHAPE,
    files: byScope(KILO_PROJECT_FILES, (site) => KILO_FILES.map((file) => join(kiloFolder(site), file))),
    findBlock: switchIn(
      (site, scope) => (scope === "user" ? projectFiles(site, ...KILO_PROJECT_FILES) : []),
      (name) => ["mcp", name, "enabled"],
    ),
    traces: (site) => [kiloFolder(site), join(support(site), "Code", "User", "globalStorage", "kilocode.kilo-code")],
  },
  "mcp",
);

function kiloFolder(site: ClientSite): string {
  return join(config(site), "kilo");
}
