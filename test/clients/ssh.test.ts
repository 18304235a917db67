/** Entries that start svc on another host: for every client, and told apart from other servers that ssh starts. */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { applyChange } from "../../src/clients/apply.ts";
import { CLIENTS, configFile, findClient } from "../../src/clients/clients.ts";
import { isOurs, planInstall, planUninstall, readEntry } from "../../src/clients/plan.ts";
import { isPlainSsh, overSsh, sshTarget, svcArgs } from "../../src/clients/ssh.ts";
import { freshSites, put } from "./site.ts";

const freshSite = freshSites();

test("an entry has the host, and the arguments as the shell of the host takes them apart", () => {
  expect(overSsh("me@team", ["mcp", "--with-text"])).toEqual({
    command: "ssh",
    args: ["-T", "me@team", "svc", "mcp", "--with-text"],
  });
  const args = ["mcp", "--path", "~/a b", "--workspace", '/it\'s; $(x) `y` \\ "z" *', "--project", "", "~", "~/"];
  const { args: words } = overSsh("h", args);
  // ssh joins the words; this is what sshd does with them.
  const line = `HOME=/home-there; ${words.slice(2).join(" ").replace(/^svc/, "printf '%s\\0'")}`;
  const shell = Bun.spawnSync(["sh", "-c", line]);
  const there = args.map((arg) => arg.replace(/^~(?=\/)/, "/home-there"));
  // A word that is only a tilde is a file of that name for svc.
  expect(shell.stdout.toString().split("\0").slice(0, -1)).toEqual(there);
  expect(sshTarget(overSsh("h", args))).toEqual({ host: "h", before: ["-T", "h", "svc"], args });
});

describe("is told apart", () => {
  test.each([
    ["with options of ssh", "/usr/bin/ssh", ["-p", "2222", "-T", "h", "/opt/svc", "mcp"], "h"],
    ["without -T", "ssh", ["h", "svc", "mcp", "--tools", "core"], "h"],
    ["another program", "ssh", ["-T", "h", "other", "mcp"], undefined],
    ["another command of svc", "ssh", ["-T", "h", "svc", "serve"], undefined],
    ["with the options after the host", "ssh", ["h", "-T", "svc", "mcp"], "h"],
    ["with options that have their values in one word", "ssh", ["-p2222", "-vTl", "me", "h", "svc", "mcp"], "h"],
    ["with the end of options", "ssh", ["-T", "--", "h", "svc", "mcp"], "h"],
    ["a host before another name", "ssh", ["-T", "evil", "team", "svc", "mcp"], "evil"],
    ["another user on the host", "ssh", ["team", "sudo", "-u", "mem", "svc", "mcp"], "team"],
    ["the value of an option", "ssh", ["-o", "h", "svc", "mcp"], undefined],
    ["no host", "ssh", ["svc", "mcp"], undefined],
    ["an option in the place of the host", "ssh", ["-T", "svc", "mcp"], undefined],
    ["no program", "ssh", [], undefined],
    ["another program than ssh", "mosh", ["h", "svc", "mcp"], undefined],
  ] as const)("%s", (_, command, args, host) => {
    expect(sshTarget({ command, args })?.host).toBe(host as string);
    expect(isOurs({ command, args })).toBe(host !== undefined);
  });

  test("svc here has its arguments as they are", () => {
    const server = { command: "/opt/svc", args: ["mcp", "--path", "'a b'"] };
    expect(sshTarget(server)).toBeUndefined();
    expect(svcArgs(server)).toBe(server.args);
  });
});

test.each([
  [["-T", "h", "svc", "mcp"], true],
  [["-T", "h", "svc", "mcp", "--path", "/x"], true],
  [["-o", "ProxyCommand=touch x", "-T", "h", "svc", "mcp"], false],
  [["h", "-oProxyCommand=touch x", "svc", "mcp"], false],
  [["-T", "h", "touch", "x;", "svc", "mcp"], false],
  [["-T", "h", "./svc", "mcp"], false],
  [["-T", "h", "svc", "svc", "mcp"], false],
])("%p only names the host: %p", (args, isPlain) => {
  for (const [command, is] of [
    ["ssh", isPlain],
    ["./ssh", false],
  ] as const) {
    const server = { command, args };
    expect(isPlainSsh(server, sshTarget(server)!)).toBe(is);
  }
});

test("another server of the name that ssh starts is not replaced without being asked", () => {
  const site = freshSite();
  const cursor = findClient("cursor");
  const text = '{"mcpServers": {"svc": {"command": "ssh", "args": ["-T", "h", "other"]}}}';
  put(cursor, "user", site, text);
  const server = overSsh("h", ["mcp"]);
  expect(() => planInstall(cursor, "user", "svc", server, site)).toThrow(
    "has an entry 'svc' already, which starts 'ssh'",
  );
  expect(() => planUninstall(cursor, "user", "svc", site)).toThrow("starts 'ssh', not svc: it stays");
  expect(planInstall(cursor, "user", "svc", server, site, { replace: true }).action).toBe("replace");
});

for (const client of CLIENTS) {
  for (const scope of client.scopes) {
    test(`${client.id}, ${scope}: installed, changed and uninstalled byte for byte`, async () => {
      const site = freshSite();
      const file = configFile(client, scope, site);
      const text = client.notation.isNullEmpty ? "a: 1\n" : client.notation.isImplicit ? "a = 1\n" : '{ "a": 1 }';
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      for (const server of [overSsh("h", ["mcp", "--path", "/a b"]), overSsh("me@other", ["mcp"])]) {
        await applyChange(planInstall(client, scope, "svc", server, site));
        expect(readEntry(client, scope, "svc", site)).toMatchObject({ state: "present", isOurs: true, server });
      }
      await applyChange(planUninstall(client, scope, "svc", site));
      expect(existsSync(file) && readFileSync(file, "utf8")).toBe(text);
    });
  }
}
