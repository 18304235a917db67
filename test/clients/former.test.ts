/** Clients that changed their name or their file: an entry in an old file is found, updated and removed there. */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { applyChange } from "../../src/clients/apply.ts";
import type { Scope } from "../../src/clients/client.ts";
import { configFile, currentFile, findClient, isPresent, otherReaders } from "../../src/clients/clients.ts";
import { ownNames, planInstall, planUninstall, readEntry } from "../../src/clients/plan.ts";
import { freshSites, SERVER } from "./site.ts";

const freshSite = freshSites();

/** The clients with files of earlier versions, each with one of them. */
const FORMER: [id: string, scope: Scope, file: string][] = [
  ["devin", "user", ".config/devin/config.json"],
  ["devin", "project", ".devin/config.json"],
  ["devin", "project", ".devin/config.local.json"],
  ["antigravity", "user", ".gemini/antigravity/mcp_config.json"],
  ["antigravity", "user", ".gemini/antigravity-cli/mcp_config.json"],
];

describe.each(FORMER)("%s, %s: %s", (id, scope, name) => {
  const client = findClient(id);
  const text =
    '{\n  // mine\n  "agent": { "model": "x" },\n  "mcpServers": {\n    "other": { "command": "b" },\n  },\n}\n';
  const put = (content: string) => {
    const site = freshSite();
    const file = join(scope === "user" ? site.home : site.project, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return { site, file, read: () => readFileSync(file, "utf8") };
  };

  test("gets no new entry, and is where the client is present", async () => {
    const { site, file, read } = put(text);
    if (scope === "user") expect(isPresent(client, site)).toBe(true);
    const install = planInstall(client, scope, "svc", SERVER, site);
    expect(install).toMatchObject({ action: "create", file: configFile(client, scope, site) });
    await applyChange(install);
    expect(read()).toBe(text);
    expect(currentFile(client, scope, install.file, site)).toBeUndefined();
    expect(currentFile(client, scope, file, site)).toBe(install.file);
    await applyChange(planUninstall(client, scope, "svc", site));
    expect(existsSync(install.file)).toBe(false);
  });

  test("an entry in it is found, updated there, and removed with every other byte as it was", async () => {
    const own = '    "svc": { "command": "/old/svc", "args": ["mcp"], "note": 1 },\n';
    const at = text.indexOf('    "other"');
    const { site, file, read } = put(text.slice(0, at) + own + text.slice(at));
    expect(readEntry(client, scope, "svc", site)).toMatchObject({ state: "present", isOurs: true, file });
    expect(ownNames(client, scope, site)).toEqual(["svc"]);
    const update = planInstall(client, scope, "svc", SERVER, site);
    expect(update).toMatchObject({ action: "replace", file });
    await applyChange(update);
    expect(readEntry(client, scope, "svc", site)).toMatchObject({ server: SERVER, file });
    expect(read()).toContain('"note": 1');
    expect(existsSync(configFile(client, scope, site))).toBe(false);
    await applyChange(planUninstall(client, scope, "svc", site));
    expect(read()).toBe(text);
  });

  test("does not count where the present file has the entry", async () => {
    const { site, file, read } = put(`{"mcpServers": {"svc": {"command": "/old/svc", "args": ["mcp"]}}}`);
    const present = configFile(client, scope, site);
    mkdirSync(dirname(present), { recursive: true });
    writeFileSync(present, JSON.stringify({ mcpServers: { svc: SERVER } }));
    const before = read();
    expect(readEntry(client, scope, "svc", site)).toMatchObject({ server: SERVER, file: present });
    await applyChange(planUninstall(client, scope, "svc", site));
    expect(read()).toBe(before);
    expect(readEntry(client, scope, "svc", site)).toMatchObject({ state: "present", file });
  });
});

test("Windsurf's file is still Windsurf's, and Devin has one of its own", async () => {
  const site = freshSite();
  const [windsurf, devin] = [findClient("windsurf"), findClient("devin")];
  const file = join(site.home, ".codeium/windsurf/mcp_config.json");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "{}");
  expect([isPresent(windsurf, site), isPresent(devin, site)]).toEqual([true, false]);
  await applyChange(planInstall(windsurf, "user", "svc", SERVER, site));
  expect(readEntry(windsurf, "user", "svc", site)).toMatchObject({ state: "present", file });
  expect(readEntry(devin, "user", "svc", site)).toMatchObject({ state: "absent" });
  await applyChange(planUninstall(windsurf, "user", "svc", site));
  expect(readFileSync(file, "utf8")).toBe("{}");
});

test("each successor is a client, and its sentence has the command", () => {
  for (const [id, successor] of [
    ["windsurf", "devin"],
    ["gemini-cli", "antigravity"],
  ] as const) {
    const client = findClient(id);
    expect(client.successor).toMatchObject({ id: successor });
    expect(findClient(successor).id).toBe(successor);
    expect(client.successor!.sentence).toContain(`'svc mcp install --client ${successor}'`);
  }
});

test("the readers of a file that clients share", () => {
  const site = freshSite();
  const readers = (id: string, scope: Scope, file: string) =>
    otherReaders(findClient(id), scope, file, site).map((client) => client.id);
  const shared = join(site.project, ".mcp.json");
  expect(readers("claude-code", "project", shared)).toEqual(["vscode", "copilot-cli", "qwen-code"]);
  expect(readers("copilot-cli", "project", shared)).toEqual(["claude-code", "vscode", "qwen-code"]);
  expect(readers("copilot-cli", "project", join(site.project, ".github/mcp.json"))).toEqual([]);
  expect(readers("copilot-cli", "user", join(site.home, ".copilot/mcp-config.json"))).toEqual(["vscode"]);
  expect(readers("cursor", "project", join(site.project, ".cursor/mcp.json"))).toEqual([]);
});
