/** `docs/clients.md`: where each client keeps its servers and what svc looks like there, made by the code that installs. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client, ClientSite, Scope } from "../../clients/client.ts";
import { CLIENTS, configFile, shownFile } from "../../clients/clients.ts";
import { planInstall } from "../../clients/plan.ts";
import { cell, heading, table } from "./markdown.ts";

const INTRODUCTION = `\
An MCP client starts \`svc mcp\` and speaks with it over stdin and stdout. These are the clients whose configuration svc
knows, and what stands there for it; every other client takes the same command. \`/path/to/svc\` is the absolute path of the
executable, as clients with a window do not know your shell's \`PATH\`.

\`svc mcp install\` writes it: every other byte of a client's file stays, the file as it was is kept beside it, and the
command is started once and has to answer. \`--dry-run\` prints the difference, \`svc mcp status\` shows which clients start
svc, and \`svc mcp uninstall\` takes the entry out again.

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
\`\`\``;

const ENTRY = { command: "/path/to/svc", args: ["mcp"] } as const;

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
    return [heading("Clients"), INTRODUCTION, index, ...sections].join("\n\n");
  } finally {
    rmSync(home, { recursive: true });
  }
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
  return [`## ${client.title}`, ...parts].join("\n\n");
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
