/** The lists of clients that keep svc from being started, as their users, projects and administrators write them. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { blockOf } from "../../src/clients/blocks.ts";
import type { Scope } from "../../src/clients/client.ts";
import { findClient } from "../../src/clients/clients.ts";
import { readEntry } from "../../src/clients/plan.ts";
import { freshSites, put, SERVER } from "./site.ts";

const freshSite = freshSites();

const COMMAND = [SERVER.command, ...SERVER.args];
const ALLOWED = { serverName: "svc" };

/**
 * Files by place, `~` the home, `.` the project and `/` the system; what is to be said of the key, or undefined where svc
 * is started.
 */
type Case = [
  name: string,
  files: Record<string, unknown>,
  block?: [file: string, key: string, why: string],
  scope?: Scope,
];

const CASES: Record<string, Case[]> = {
  "claude-code": [
    ["nothing", {}],
    ["settings about other servers", { "~/.claude/settings.json": { deniedMcpServers: [{ serverName: "other" }] } }],
    [
      "denied by name",
      { "~/.claude/settings.json": { deniedMcpServers: [{ serverName: "other" }, ALLOWED] } },
      ["~/.claude/settings.json", "deniedMcpServers", "lists it"],
    ],
    [
      "denied by its command",
      { "./.claude/settings.json": { deniedMcpServers: [{ serverCommand: COMMAND }] } },
      ["./.claude/settings.json", "deniedMcpServers", "lists it"],
    ],
    [
      "a command with other arguments",
      { "~/.claude/settings.json": { deniedMcpServers: [{ serverCommand: ["svc"] }] } },
    ],
    [
      "an allowlist without it",
      { "/etc/claude-code/managed-settings.json": { allowedMcpServers: [{ serverName: "github" }] } },
      ["/etc/claude-code/managed-settings.json", "allowedMcpServers", "does not list it"],
    ],
    [
      "an empty allowlist",
      { "/etc/claude-code/managed-settings.json": { allowedMcpServers: [] } },
      ["/etc/claude-code/managed-settings.json", "allowedMcpServers", "does not list it"],
    ],
    [
      "an allowlist that the user's completes",
      {
        "/etc/claude-code/managed-settings.json": { allowedMcpServers: [] },
        "~/.claude/settings.json": { allowedMcpServers: [ALLOWED] },
      },
    ],
    [
      "an allowlist that the user's may not complete",
      {
        "/etc/claude-code/managed-settings.json": { allowedMcpServers: [], allowManagedMcpServersOnly: true },
        "~/.claude/settings.json": { allowedMcpServers: [ALLOWED] },
      },
      ["/etc/claude-code/managed-settings.json", "allowedMcpServers", "does not list it"],
    ],
    [
      "an allowlist with commands, in which names do not count",
      { "~/.claude/settings.json": { allowedMcpServers: [ALLOWED, { serverCommand: ["npx"] }] } },
      ["~/.claude/settings.json", "allowedMcpServers", "does not list it"],
    ],
    [
      "an allowlist with its command",
      { "~/.claude/settings.json": { allowedMcpServers: [{ serverCommand: COMMAND }] } },
    ],
    [
      "the administrator's servers",
      { "/etc/claude-code/managed-mcp.json": { mcpServers: {} } },
      ["/etc/claude-code/managed-mcp.json", "mcpServers", "does not list it, and replaces all other files"],
    ],
    ["the administrator's svc", { "/etc/claude-code/managed-mcp.json": { mcpServers: { svc: SERVER } } }],
    [
      "all its tools denied",
      { "~/.claude/settings.json": { permissions: { deny: ["Bash", "mcp__svc"] } } },
      ["~/.claude/settings.json", "permissions.deny", "has 'mcp__svc'"],
    ],
    [
      "all its tools denied by a pattern",
      { "./.claude/settings.local.json": { permissions: { deny: ["mcp__*"] } } },
      ["./.claude/settings.local.json", "permissions.deny", "has 'mcp__*'"],
    ],
    ["one tool denied", { "~/.claude/settings.json": { permissions: { deny: ["mcp__svc__svc_delete"] } } }],
    ["some tools denied", { "~/.claude/settings.json": { permissions: { deny: ["mcp__svc__svc_repo_*"] } } }],
    [
      "a project's, refused by its user",
      { "~/.claude/settings.json": { disabledMcpjsonServers: ["svc"] } },
      ["~/.claude/settings.json", "disabledMcpjsonServers", "lists it"],
      "project",
    ],
    [
      "the user's own, beside a refused one of a project",
      { "~/.claude/settings.json": { disabledMcpjsonServers: ["svc"] } },
    ],
    [
      "a project's list of approved ones",
      { "./.claude/settings.json": { enabledMcpjsonServers: ["x"] } },
      undefined,
      "project",
    ],
  ],
  "gemini-cli": [
    ["lists of others", { "~/.gemini/settings.json": { mcp: { allowed: ["svc"], excluded: ["a"] } } }],
    [
      "excluded",
      { "~/.gemini/settings.json": { mcp: { excluded: ["svc"] } } },
      ["~/.gemini/settings.json", "mcp.excluded", "lists it"],
    ],
    [
      "not allowed",
      { "./.gemini/settings.json": { mcp: { allowed: ["a"] } } },
      ["./.gemini/settings.json", "mcp.allowed", "does not list it"],
    ],
    [
      "the administrator's list decides",
      {
        "/etc/gemini-cli/settings.json": { mcp: { allowed: ["svc"] } },
        "~/.gemini/settings.json": { mcp: { allowed: [] } },
      },
    ],
    [
      "the administrator's defaults",
      { "/etc/gemini-cli/system-defaults.json": { mcp: { allowed: [] } } },
      ["/etc/gemini-cli/system-defaults.json", "mcp.allowed", "does not list it"],
    ],
    [
      "switched off by 'gemini mcp disable'",
      { "~/.gemini/mcp-server-enablement.json": { svc: { enabled: false } } },
      ["~/.gemini/mcp-server-enablement.json", "svc.enabled", "is false"],
    ],
    ["names without patterns", { "~/.gemini/settings.json": { mcp: { excluded: ["s*"] } } }],
    ["lists that are not lists", { "~/.gemini/settings.json": { mcp: { excluded: "svc", allowed: { svc: 1 } } } }],
  ],
  "qwen-code": [
    [
      "a pattern",
      { "~/.qwen/settings.json": { mcp: { excluded: ["?v*"] } } },
      ["~/.qwen/settings.json", "mcp.excluded", "lists it"],
    ],
    ["an allowed pattern", { "~/.qwen/settings.json": { mcp: { allowed: ["*c"] } } }],
  ],
  codex: [
    ["requirements about other things", { "/etc/codex/requirements.toml": "allowed_sandbox_modes = []\n" }],
    [
      "requirements without it",
      { "/etc/codex/requirements.toml": '[mcp_servers.docs.identity]\ncommand = "docs"\n' },
      ["/etc/codex/requirements.toml", "mcp_servers", "does not list it with this command"],
    ],
    [
      "requirements with another command",
      { "/etc/codex/requirements.toml": '[mcp_servers.svc.identity]\ncommand = "svc"\n' },
      ["/etc/codex/requirements.toml", "mcp_servers", "does not list it with this command"],
    ],
    [
      "requirements with it",
      { "/etc/codex/requirements.toml": `[mcp_servers.svc.identity]\ncommand = "${SERVER.command}"\n` },
    ],
    [
      "requirements with its program",
      { "/etc/codex/requirements.toml": `[mcp_servers.svc.identity.command]\nexecutable = "${SERVER.command}"\n` },
    ],
  ],
  vscode: [
    ["all servers", { "~/.config/Code/User/settings.json": { "chat.mcp.access": "all" } }],
    [
      "none",
      { "~/.config/Code/User/settings.json": '{\n  // none\n  "chat.mcp.access": "none",\n}' },
      ["~/.config/Code/User/settings.json", "chat.mcp.access", "is 'none'"],
    ],
    [
      "the administrator's denylist",
      { "/etc/vscode/policy.json": { ChatDeniedMcpServers: [ALLOWED] } },
      ["/etc/vscode/policy.json", "ChatDeniedMcpServers", "lists it"],
    ],
    [
      "the administrator's allowlist, as JSON in a text",
      { "/etc/vscode/policy.json": { ChatAllowedMcpServers: '[{"serverName": "github"}]' } },
      ["/etc/vscode/policy.json", "ChatAllowedMcpServers", "does not list it"],
    ],
    [
      "a text that is not JSON",
      { "/etc/vscode/policy.json": { ChatAllowedMcpServers: "[{", ChatDeniedMcpServers: "svc" } },
    ],
    [
      "the settings of Copilot",
      { "/etc/github-copilot/managed-settings.json": { allowedMcpServers: [] } },
      ["/etc/github-copilot/managed-settings.json", "allowedMcpServers", "does not list it"],
    ],
    [
      "the administrator's",
      {
        "/etc/vscode/policy.json": { ChatMCP: "registry" },
        "~/.config/Code/User/settings.json": { "chat.mcp.access": "all" },
      },
      ["/etc/vscode/policy.json", "ChatMCP", "is 'registry', and svc is not from the registry"],
    ],
  ],
  cursor: [
    [
      "denied to its terminal program",
      { "~/.cursor/cli-config.json": { permissions: { allow: [], deny: ["Shell(rm)", "Mcp(svc:*)"] } } },
      ["~/.cursor/cli-config.json", "permissions.deny", "has 'Mcp(svc:*)'"],
    ],
    [
      "all servers denied in a project",
      { "./.cursor/cli.json": { permissions: { deny: ["Mcp(*:*)"] } } },
      ["./.cursor/cli.json", "permissions.deny", "has 'Mcp(*:*)'"],
    ],
    [
      "one tool denied",
      { "~/.cursor/cli-config.json": { permissions: { deny: ["Mcp(svc:svc_delete)", "Mcp(other:*)", 1] } } },
    ],
  ],
  "copilot-cli": [
    [
      "denied by the administrator",
      {
        "/etc/github-copilot/managed-settings.json": {
          deniedMcpServers: [{ serverCommand: COMMAND }],
          allowedMcpServers: [ALLOWED],
        },
      },
      ["/etc/github-copilot/managed-settings.json", "deniedMcpServers", "lists it"],
    ],
    [
      "not allowed by the administrator",
      { "/etc/github-copilot/managed-settings.json": { allowedMcpServers: [{ serverUrl: "https://*" }] } },
      ["/etc/github-copilot/managed-settings.json", "allowedMcpServers", "does not list it"],
    ],
    [
      "allowed by its name",
      { "/etc/github-copilot/managed-settings.json": { allowedMcpServers: [{ serverCommand: ["x"] }, ALLOWED] } },
    ],
  ],
  devin: [
    [
      "denied",
      { "~/.config/devin/config.json": { permissions: { deny: ["mcp__svc__*"] } } },
      ["~/.config/devin/config.json", "permissions.deny", "has 'mcp__svc__*'"],
    ],
  ],
  opencode: [
    [
      "switched off in a project",
      { "./opencode.json": { mcp: { svc: { enabled: false } } } },
      ["./opencode.json", "mcp.svc.enabled", "is false"],
    ],
    [
      "switched off by the administrator",
      { "/etc/opencode/opencode.json": { mcp: { svc: { enabled: false } } } },
      ["/etc/opencode/opencode.json", "mcp.svc.enabled", "is false"],
      "project",
    ],
    ["on", { "./opencode.json": { mcp: { svc: { enabled: true } } } }],
  ],
  kilo: [
    [
      "switched off in a project",
      { "./.kilo/kilo.jsonc": { mcp: { svc: { enabled: false } } } },
      ["./.kilo/kilo.jsonc", "mcp.svc.enabled", "is false"],
    ],
  ],
  amp: [
    [
      "rejected",
      { "~/.config/amp/settings.json": { "amp.mcpPermissions": [{ matches: { command: "*" }, action: "reject" }] } },
      ["~/.config/amp/settings.json", "amp.mcpPermissions", "rejects it"],
    ],
    [
      "the first rule that fits",
      {
        "~/.config/amp/settings.json": {
          "amp.mcpPermissions": [
            { matches: { url: "*" }, action: "reject" },
            { matches: { command: "*/svc", args: "mcp *" }, action: "allow" },
            { matches: { command: "*" }, action: "reject" },
          ],
        },
      },
    ],
    [
      "the command with its arguments",
      {
        "/etc/ampcode/managed-settings.json": {
          "amp.mcpPermissions": [{ matches: { command: "*svc mcp*" }, action: "reject" }],
        },
      },
      ["/etc/ampcode/managed-settings.json", "amp.mcpPermissions", "rejects it"],
    ],
    [
      "rules that are not rules",
      { "~/.config/amp/settings.json": { "amp.mcpPermissions": [1, null, { matches: 1 }] } },
    ],
  ],
};

for (const [id, cases] of Object.entries(CASES)) {
  describe(id, () => {
    test.each(cases.map((one) => [one[0], one] as const))("%s", (_, [, files, block, scope = "user"]) => {
      const site = freshSite();
      const at = (name: string) =>
        name.startsWith("~/")
          ? join(site.home, name.slice(2))
          : join(name.startsWith("./") ? site.project : site.root, name);
      for (const [name, content] of Object.entries(files)) {
        mkdirSync(dirname(at(name)), { recursive: true });
        writeFileSync(at(name), typeof content === "string" ? content : JSON.stringify(content));
      }
      const found = blockOf(findClient(id), { name: "svc", scope, server: SERVER }, site);
      const { effect, isPartial, ...rest } = found ?? {};
      if (effect !== undefined) expect(effect).toStartWith("offers no tool of svc");
      expect(found && rest).toEqual(block && { file: at(block[0]), key: block[1], why: block[2] });
      expect(isPartial === true).toBe(id === "cursor" && block !== undefined);
    });
  });
}

test("what Claude Code knows of a project: refused and switched off by its user", () => {
  const site = freshSite();
  const claude = findClient("claude-code");
  const file = join(site.home, ".claude.json");
  const write = (state: object) => writeFileSync(file, JSON.stringify({ projects: { [site.project]: state } }));
  write({ disabledMcpjsonServers: ["svc"] });
  expect(blockOf(claude, { name: "svc", scope: "project", server: SERVER }, site)).toMatchObject({ file });
  expect(blockOf(claude, { name: "svc", scope: "user", server: SERVER }, site)).toBeUndefined();
  write({ disabledMcpServers: ["svc"] });
  expect(blockOf(claude, { name: "svc", scope: "user", server: SERVER }, site)).toEqual({
    file,
    key: "disabledMcpServers",
    why: "lists it",
  });
});

test("files that are broken, empty, no files, or links do not stop it", () => {
  const gemini = findClient("gemini-cli");
  const entry = { name: "svc", scope: "user", server: SERVER } as const;
  for (const content of ["", "{", "[]", "\0", '{"mcp": null}', '{"mcp": {"excluded": [null, 1, {}]}}']) {
    const site = freshSite();
    put(gemini, "user", site, content);
    expect(blockOf(gemini, entry, site)).toBeUndefined();
  }
  const site = freshSite();
  mkdirSync(join(site.home, ".gemini/settings.json"), { recursive: true });
  expect(blockOf(gemini, entry, site)).toBeUndefined();
  const linked = freshSite();
  const elsewhere = join(linked.root, "settings.json");
  mkdirSync(linked.root);
  writeFileSync(elsewhere, '{"mcp": {"excluded": ["svc"]}}');
  mkdirSync(join(linked.project, ".gemini"));
  symlinkSync(elsewhere, join(linked.project, ".gemini/settings.json"));
  expect(blockOf(gemini, entry, linked)).toMatchObject({ key: "mcp.excluded" });
  symlinkSync(join(linked.home, "nowhere"), join(linked.home, ".gemini"));
  expect(blockOf(gemini, entry, linked)).toMatchObject({ key: "mcp.excluded" });
});

test("a pattern of a project takes no time that grows with its stars", () => {
  const site = freshSite();
  const pattern = `${"*a".repeat(2_000)}b`;
  const rules = [{ matches: { args: pattern }, action: "reject" }];
  put(findClient("amp"), "project", site, JSON.stringify({ "amp.mcpPermissions": rules }));
  const server = { command: "svc", args: ["mcp", "a".repeat(5_000)] };
  expect(blockOf(findClient("amp"), { name: "svc", scope: "user", server }, site)).toBeUndefined();
});

test("fields of an entry that choose tools", () => {
  const site = freshSite();
  const filterOf = (id: string, fields: object) => {
    const client = findClient(id);
    put(client, "user", site, JSON.stringify({ [client.path({}, "svc")[0]!]: { svc: { ...SERVER, ...fields } } }));
    const entry = readEntry(client, "user", "svc", site);
    return entry.state === "present" ? entry.filter : entry;
  };
  expect(filterOf("kiro", { disabledTools: ["svc_add"] })).toEqual({
    key: "disabledTools",
    tools: ["svc_add"],
    isOnly: false,
  });
  expect(filterOf("gemini-cli", { includeTools: ["svc_get"] })).toMatchObject({ isOnly: true, tools: ["svc_get"] });
  expect(filterOf("copilot-cli", { tools: [] })).toMatchObject({ isOnly: true, tools: [] });
  for (const fields of [{}, { tools: ["*"] }, { disabledTools: [] }, { disabledTools: "x" }, { includeTools: [1] }])
    expect(filterOf("copilot-cli", fields)).toBeUndefined();
});
