/** `docs/clients.md`: where each client keeps its servers and what svc looks like there, made by the code that installs. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listed } from "../../checks/kinds.ts";
import type { Client, ClientSite, Scope } from "../../clients/client.ts";
import { CLIENTS, configFile, otherReaders, shownFile } from "../../clients/clients.ts";
import { PROJECT_FIRST } from "../../clients/places.ts";
import { planInstall } from "../../clients/plan.ts";
import { cell, heading, table } from "./markdown.ts";

const INTRODUCTION = `\
An MCP client starts \`svc mcp\` and speaks with it over stdin and stdout. This page lists the clients that svc can configure,
with the file and the entry of each. Any other MCP client takes the same command. Clients with a window do not know your
shell's \`PATH\`, so give the absolute path of the executable for \`/path/to/svc\`. With \`--login\` the first tool call signs in
and installs the runtime if there is no login ([security.md](security.md#login-and-licence)): no terminal is needed.

\`svc mcp install\` writes the entry. It changes nothing else in the client's file, keeps a copy of the old file, and starts the
command once to see that it answers. \`--dry-run\` prints the difference, \`svc mcp status\` shows which clients start svc, and
\`svc mcp uninstall\` removes the entry.

\`\`\`sh
svc mcp install --client cursor --client codex
svc mcp status --client cursor
\`\`\`

\`\`\`text
…
Cursor: added in a new file, ~/.cursor/mcp.json
…
CLIENT  STARTS    ANSWERS
Cursor  this svc  …, 19 tools
…
\`\`\`

\`\`\`sh
svc mcp uninstall --client cursor --client codex
\`\`\`

Without \`--client\` a terminal shows the clients that it found, with numbers: type \`1 3\` for two of them, Enter for all, \`n\`
for none. If it found only one, it asks \`[y/N]\`, and Enter means no. Scripts name them, or take \`--all\`; \`--json\` prints what
became of each.

You can repeat an install, for example after an update. A flag that you do not give again stays as it is in the entry: the memory
(\`--path\` or \`--remote\`), \`--workspace\`, \`--tools\`, \`--project\` and \`--secrets\`. Folders and addresses do not stay if the entry
moves to another host. Run \`svc mcp uninstall\` first if you want the defaults again.

On a terminal, \`svc login\` offers to add svc to the clients that it finds.

\`--ssh HOST\` starts svc on another host instead of your machine:
[one memory for a team](serving.md#one-memory-for-a-team-over-ssh).`;

/** The clients of which svc only knows that the project wins. */
function projectFirst(): string {
  const titles = CLIENTS.filter(({ precedence }) => precedence === PROJECT_FIRST).map(({ title }) => title);
  return listed(titles, "and");
}

const LISTS = `\
## Lists that block svc

A client does not start every entry that is right. svc reads the lists that the client's documentation names, and says in
\`install\`, \`status\` and \`svc doctor\` which file and which key block it. The exit code is 1 if a list keeps the client from
starting svc. Two rows of the table are only reported: Cursor, whose list is for its program of the terminal, and the fields of
the entry.

| Client | Lists |
|---|---|
| Claude Code | \`deniedMcpServers\`, \`allowedMcpServers\` and \`permissions.deny\` of all settings, \`managed-mcp.json\` of an administrator, \`disabledMcpjsonServers\` for a project's file, \`disabledMcpServers\` in \`~/.claude.json\` |
| Gemini CLI, Qwen Code | \`mcp.excluded\` and \`mcp.allowed\` of the settings of the system, the project and the user; for Gemini CLI also \`mcp-server-enablement.json\` |
| Codex | \`mcp_servers\` of \`/etc/codex/requirements.toml\` |
| VS Code | \`chat.mcp.access\` of your settings; \`ChatMCP\`, \`ChatDeniedMcpServers\` and \`ChatAllowedMcpServers\` of \`/etc/vscode/policy.json\` |
| VS Code, Copilot CLI | \`deniedMcpServers\` and \`allowedMcpServers\` of the administrator's \`managed-settings.json\` for Copilot |
| Cursor | \`permissions.deny\` of \`cli-config.json\` and of a project's \`cli.json\`, which its program of the terminal reads |
| Devin | \`permissions.deny\` of \`config.json\` |
| OpenCode, Kilo Code | \`mcp.svc.enabled\` of a project's file; for OpenCode also of the administrator's |
| Amp | \`amp.mcpPermissions\` of the administrator, the project and the user |
| all | \`disabled\` or \`enabled\` of the entry, and lists of tools in it, such as \`disabledTools\`, \`includeTools\` and \`tools\` |

What an administrator sets on a server of the client's maker is not on your machine: svc cannot see it.

## An entry of the project and one of the user

If a project's file has an entry of the same name as yours, \`install\` and \`status\` in that project say which one the client uses.
Claude Code takes a local entry first (\`projects\` in \`~/.claude.json\`), then the project's, then yours. ${projectFirst()} take
the project's. The documentation of the other clients does not say it, so svc does not either.`;

const ENTRY = { command: "/path/to/svc", args: ["mcp", "--with-text", "--login"] } as const;

const EXTRAS = `\
## Hooks and instructions

A model searches only when it thinks of it. Two options use the memory without that: \`--hooks\` and \`--instructions\`. Both are
off unless you ask for them. \`--no-hooks\` and \`--no-instructions\` remove them, and so does uninstalling the client's last
entry. Other hooks and your own text stay byte for byte. \`svc mcp status\` shows both.

Use hooks together with \`--project auto\`: \`svc mcp install --client claude-code --hooks --project auto\`. Without it new notes
get the scope that the agent names, or \`default\`, and the brief of a project shows only rows of its scope and of \`default\`.

The block of instructions is five sentences between \`<!-- svc:begin -->\` and \`<!-- svc:end -->\`: when to search, and when
to store. In a project, several clients may read one \`AGENTS.md\`; an uninstall for one of them removes the block.

Hooks run \`svc mcp hook\`, which changes no rows:

- When a session begins, the brief goes into its context ([\`svc mem brief\`](cli.md#svc-mem-brief)), and is marked: the next
  one tells what changed since. It has at most 1,000 tokens. The project is that of the session's folder, or that of
  \`--project\`.
- A prompt gets the stored notes that it is about, two at most, each with its id, its collection and its day in at most
  500 bytes. They come from all scopes and collections. Most prompts get none: a note has to share words that few notes have, and those of ordinary requests, such as
  "fix the failing test", do not count.
- Once in each session of ten minutes or more, at the end of a turn, the model is reminded to store what lasts, and sees what
  the client has stored since the session began. Claude Code and Codex repeat this after a compaction. No client can do it
  before a compaction or when a session ends.

What goes into the context is quoted, and marked as stored notes, not as instructions. A hook ends within two seconds
whatever happens, most often within 0.2, and a failure is an empty answer. A project's hooks for Claude Code go into
\`.claude/settings.local.json\`, which is not shared. Codex asks you to trust each hook with \`/hooks\`, and again whenever its
command changes. Codex warns if hooks are in both \`hooks.json\` and \`config.toml\`. Gemini CLI has hooks since version 0.26.

`;

/** The page. */
export function clientsPage(): string {
  // A home in which there is nothing: each file is the one that would be made.
  const home = mkdtempSync(join(tmpdir(), "svc-clients-"));
  mkdirSync(join(home, "project"));
  try {
    const index = table(
      ["Client", "`--client`", "After an install"],
      CLIENTS.map((client) => [`[${client.title}](#${anchor(client)})`, `\`${client.id}\``, cell(client.afterwards)]),
    );
    const sections = CLIENTS.map((client) => section(client, home));
    return [
      heading("Clients"),
      INTRODUCTION,
      "## The clients",
      index,
      LISTS,
      EXTRAS.trimEnd(),
      extrasTable(home),
      ...sections,
    ].join("\n\n");
  } finally {
    rmSync(home, { recursive: true });
  }
}

/** The files of those that have hooks or instructions. */
function extrasTable(home: string): string {
  const site = siteIn(home, "linux");
  const shown = (file: string | undefined) => (file === undefined ? "" : `\`${shownFile(file, site)}\``);
  const rows = CLIENTS.filter((client) => client.hooks || client.instructions).flatMap((client) =>
    client.scopes.map((scope) => {
      const events = client.hooks ? Object.values(client.hooks.events).map((event) => `\`${event}\``) : [];
      const instructions = client.instructions?.(scope, site).at(-1);
      const hooks = client.hooks?.file(scope, site);
      return [`${client.title}, ${scope}`, shown(hooks), events.join(", "), shown(instructions)];
    }),
  );
  return table(["Client, scope", "Hooks", "Events", "Instructions"], rows);
}

const anchor = ({ title }: Client) => title.toLowerCase().replaceAll(" ", "-");

function siteIn(home: string, platform: ClientSite["platform"]): ClientSite {
  return { home, platform, env: { SVC_HOME: join(home, ".svc") }, project: join(home, "project") };
}

function section(client: Client, home: string): string {
  const blocks: string[] = [];
  const parts = client.scopes.map((scope) => {
    const block = blockOf(client, scope, home);
    const isSame = blocks.includes(block);
    blocks.push(block);
    const whose = scope === "user" ? "For you, everywhere" : "For a project, in its folder";
    const where = `${whose}: ${filesOf(client, scope, home)}`;
    return isSame ? `${where}, with the same.` : `${where}\n\n${block}`;
  });
  const became = client.successor === undefined ? [] : [client.successor.sentence];
  return [`## ${client.title}`, ...became, ...parts, ...formerFiles(client, home), ...readers(client, home)].join(
    "\n\n",
  );
}

/** Where earlier versions of a client look. */
function formerFiles(client: Client, home: string): string[] {
  const site = siteIn(home, "linux");
  const files = client.scopes.flatMap((scope) => client.formerFiles?.(scope, site) ?? []);
  if (files.length === 0) return [];
  const names = files.map((file) => `\`${shownFile(file, site)}\``).join(", ");
  return [`Earlier versions: ${names}. svc maintains an entry there but adds none.`];
}

/** Who else reads a file. */
function readers(client: Client, home: string): string[] {
  const site = siteIn(home, "linux");
  return client.scopes.flatMap((scope) => {
    const file = configFile(client, scope, site);
    const others = otherReaders(client, scope, file, site).map(({ title }) => title);
    return others.length === 0 ? [] : [`\`${shownFile(file, site)}\` is also read by: ${others.join(", ")}.`];
  });
}

function fileOn(platform: ClientSite["platform"], client: Client, scope: Scope, home: string): string {
  const site = siteIn(home, platform);
  return shownFile(configFile(client, scope, site), site);
}

function filesOf(client: Client, scope: Scope, home: string): string {
  const [linux, darwin] = (["linux", "darwin"] as const).map((platform) => fileOn(platform, client, scope, home));
  return linux === darwin ? `\`${linux}\`` : `\`${linux}\`, on macOS \`${darwin}\``;
}

function blockOf(client: Client, scope: Scope, home: string): string {
  const { file, after } = planInstall(client, scope, "svc", ENTRY, siteIn(home, "linux"));
  const language = file.endsWith(".toml") ? "toml" : /\.ya?ml$/.test(file) ? "yaml" : "json";
  return `\`\`\`${language}\n${new TextDecoder().decode(after).trimEnd()}\n\`\`\``;
}
