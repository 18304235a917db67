/** Files that are not edited: each with a sentence that says where and what to do, and left as they were. */
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { configFile, findClient, isPresent } from "../../src/clients/clients.ts";
import type { Notation, Splice } from "../../src/clients/edit/edit.ts";
import { planInstall, planUninstall, readEntry } from "../../src/clients/plan.ts";
import { ValueError } from "../../src/errors.ts";
import { newSite, put, SERVER } from "./site.ts";

const { site, remove } = newSite();
afterAll(remove);

const cursor = findClient("cursor");
const codex = findClient("codex");
const goose = findClient("goose");
const opencode = findClient("opencode");

/** A file whose install is refused with this sentence; its status says the same, and it stays. */
function refused(id: string, content: string | Uint8Array, sentence: string | RegExp, name = "svc"): void {
  const client = findClient(id);
  const file = put(client, "user", site, content);
  expect(() => planInstall(client, "user", name, SERVER, site)).toThrow(ValueError);
  expect(() => planInstall(client, "user", name, SERVER, site)).toThrow(sentence);
  expect(readFileSync(file)).toEqual(Buffer.from(content));
  rmSync(file);
}

describe("JSON", () => {
  const cases: Record<string, [string | Uint8Array, string]> = {
    "half of it": [
      '{\n  "mcpServers": {\n    "a": {',
      "~/.cursor/mcp.json, line 3: the text ends before the closing brace",
    ],
    "a comma missing": [
      '{\n "a": 1\n "b": 2}',
      "~/.cursor/mcp.json, line 3: a comma is missing; correct it and try again",
    ],
    "two commas": ['{"a": 1,, "b": 2}', "line 1: a key in double quotes is expected"],
    "single quotes": ["{'a': 1}", "line 1: this is not JSON (InvalidSymbol)"],
    "more after the end": ["{}\n{}", "line 2: there is more text after the end of the object"],
    "a comment without end": ["{} /* a", "line 1: a comment does not end"],
    "an array": ["[]", "line 1: an object is expected, and this is an array"],
    "a number": ["\n1", "line 2: an object is expected, and this is a number"],
    "a null container": ['{"mcpServers": null}', "'mcpServers' is null; an object is expected"],
    "an array as container": ['{"mcpServers": []}', "'mcpServers' is an array; an object is expected"],
    "a string as container": ['{"mcpServers": ""}', "'mcpServers' is a string; an object is expected"],
    "the container twice": ['{"mcpServers": {},\n"mcp\\u0053ervers": {}}', 'line 2: the key "mcpServers" stands twice'],
    "the entry twice": [
      '{"mcpServers": {"svc": {},\n"svc": {}}}',
      'line 2: the key "svc" stands twice; keep one of them',
    ],
    "a key of the entry twice": [
      '{"mcpServers": {"svc": {"command": "svc", "args": ["mcp"], "env": {"A": "1",\n"A": "2"}}}}',
      'line 2: the key "A" stands twice',
    ],
    "not UTF-8": [new Uint8Array([0x7b, 0xff, 0x7d]), "it is not UTF-8; save it as UTF-8 and try again"],
    "UTF-16": [new Uint8Array([0xff, 0xfe, 0x7b, 0, 0x7d, 0]), "it is not UTF-8"],
    "nested without end": ["[".repeat(200_000), "it is nested too deeply to be read"],
    "deep in it": [`{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`, "it is nested too deeply to be read"],
    "too large": [
      `{"a": "${"x".repeat(16 * 1024 * 1024)}"}`,
      "'mcp.json' has 16777225 bytes; at most 16777216 are accepted",
    ],
  };
  for (const [name, [content, sentence]] of Object.entries(cases)) {
    test(name, () => refused("cursor", content, sentence));
  }

  test("other keys may stand twice: they are not ours to judge", () => {
    put(cursor, "user", site, '{"a": 1, "a": 2, "mcpServers": {"b": {}, "b": {}}}');
    expect(planInstall(cursor, "user", "svc", SERVER, site).action).toBe("add");
  });
});

describe("TOML", () => {
  const cases: Record<string, [string, string | RegExp]> = {
    "half of it": ['model = "x"\n[mcp_servers.a]\ncommand = "', "~/.codex/config.toml, line 3: Unterminated string"],
    "a table twice": ["[a]\n\n[b]\n[a]\nx = 1\n", "~/.codex/config.toml, line 4: Cannot redefine table 'a'"],
    "the entry twice": [
      '[mcp_servers.svc]\ncommand = "svc"\n[mcp_servers.svc]\ncommand = "svc"\n',
      "line 3: Cannot redefine table 'svc'",
    ],
    "an inline table": [
      'model = "x"\nmcp_servers = { a = { command = "b" } }\n',
      /line 2: 'mcp_servers' is one inline table, .* add to it by hand: svc = { command = "\/opt\/svc tools\/bin\/svc", args = /,
    ],
    "too large": [`a = "${"x".repeat(1024 * 1024)}"\n`, "it has more than 1 MiB; change it by hand"],
    "an array of tables": ["[[mcp_servers]]\na = 1\n", "'mcp_servers' is an array; an object is expected"],
    "a string": ['mcp_servers = "a"\n', "'mcp_servers' is a string; an object is expected"],
    "the entry in dotted keys": [
      '[mcp_servers]\nsvc.command = "/opt/svc"\nsvc.args = ["mcp"]\n',
      "line 2: 'mcp_servers.svc' is written with dotted keys; change it by hand",
    ],
    "the entry in dotted keys of the root": [
      'mcp_servers.svc.command = "/opt/svc"\nmcp_servers.svc.args = ["mcp"]\n',
      "line 1: 'mcp_servers.svc' is written with dotted keys",
    ],
  };
  for (const [name, [content, sentence]] of Object.entries(cases))
    test(name, () => refused("codex", content, sentence));

  test("dotted keys that define other servers can have a table beside them", () => {
    put(codex, "user", site, 'mcp_servers.a.command = "x"\n');
    expect(planInstall(codex, "user", "svc", SERVER, site).action).toBe("add");
  });
});

describe("YAML", () => {
  const cases: Record<string, [string, string | RegExp]> = {
    "half of it": ["a: 1\nextensions:\n  b: {c: 1\n", "~/.config/goose/config.yaml, line 3: Unexpected token"],
    "a tab": ["extensions:\n\tb: 1\n", "line 2: Tab characters cannot be used as indentation"],
    "two documents": ["a: 1\n---\nextensions: {}\n", "it has more than one document; one is expected"],
    "a list": ["- a\n- b\n", "a mapping is expected"],
    "a text": ["just text\n", "a mapping is expected"],
    "a list of extensions": ["extensions:\n- a\n", "'extensions' is an array; an object is expected"],
    "extensions in braces": [
      "extensions: {a: {enabled: true}}\n",
      /line 1: 'extensions' is not written as lines of keys; add this to 'extensions' by hand: {"svc":/,
    ],
    "all in braces": ['{"extensions": {}}\n', /it is not written as lines of keys; add this to 'extensions' by hand/],
    "an alias": ["a: &a\n  b: 1\nextensions: *a\n", "line 3: 'extensions' is not written as lines of keys"],
    "the container twice": ["extensions:\n  a: 1\nextensions:\n  b: 1\n", "line 3: the key 'extensions' stands twice"],
    "the entry twice": ["extensions:\n  svc:\n    cmd: a\n  svc:\n    cmd: b\n", "line 4: the key 'svc' stands twice"],
    "a key of the entry twice": ["extensions:\n  svc:\n    cmd: a\n    cmd: b\n", "line 4: the key 'cmd' stands twice"],
  };
  for (const [name, [content, sentence]] of Object.entries(cases))
    test(name, () => refused("goose", content, sentence));

  test("an entry that comes by a merge is not removed", () => {
    const file = put(
      goose,
      "user",
      site,
      "x: &x\n  svc: {cmd: /opt/svc, args: [mcp]}\nextensions:\n  <<: *x\n  a: {}\n",
    );
    expect(() => planUninstall(goose, "user", "svc", site)).toThrow(
      "is not written as lines of its own; change it by hand",
    );
    rmSync(file);
  });

  test("an anchor of the entry that is used elsewhere keeps it", () => {
    const text = "extensions:\n  svc: &svc\n    cmd: /opt/svc\n    args: [mcp]\n  b: *svc\n";
    const file = put(goose, "user", site, text);
    expect(() => planUninstall(goose, "user", "svc", site)).toThrow("cannot be edited safely");
    expect(readFileSync(file, "utf8")).toBe(text);
    rmSync(file);
  });
});

describe("an entry of our name that is not ours", () => {
  const foreign = '{"mcpServers": {"svc": {"command": "/usr/bin/other", "args": ["mcp"]}}}';

  test("is refused, and replaced if asked", () => {
    refused(
      "cursor",
      foreign,
      "~/.cursor/mcp.json has an entry 'svc' already, which starts 'other': choose another name with --name, or --replace it",
    );
    refused("cursor", '{"mcpServers": {"svc": {"url": "http://localhost"}}}', "which is not a server of this kind");
    refused("cursor", '{"mcpServers": {"svc": 1}}', "which is not a server of this kind");
    refused("cursor", '{"mcpServers": {"svc": {"command": "svc", "args": ["serve"]}}}', "which starts 'svc'");
    put(cursor, "user", site, foreign);
    expect(readEntry(cursor, "user", "svc", site)).toMatchObject({ state: "present", isOurs: false });
    const change = planInstall(cursor, "user", "svc", SERVER, site, { replace: true });
    expect(change.action).toBe("replace");
    expect(JSON.parse(Buffer.from(change.after!).toString())).toEqual({ mcpServers: { svc: SERVER } });
  });

  test("is never removed", () => {
    put(cursor, "user", site, foreign);
    expect(() => planUninstall(cursor, "user", "svc", site)).toThrow(
      "the entry 'svc' of ~/.cursor/mcp.json starts 'other', not svc: it stays; name another one with --name",
    );
  });
});

test("an edit that would change anything else is not made", () => {
  const text = '{"a": 1, "mcpServers": {"b": {}, "svc": {"command": "/opt/svc", "args": ["mcp"]}}}';
  put(cursor, "user", site, text);
  // A notation that takes something else along.
  const { add, remove: without } = cursor.notation;
  const wrong = (splices: Splice[]) => [...splices, { at: 1, removed: '"a": 1,', inserted: "" }];
  const notation: Notation = {
    ...cursor.notation,
    add: (...given) => wrong(add.apply(cursor.notation, given)),
    remove: (...given) => wrong(without.apply(cursor.notation, given)),
  };
  const careless = { ...cursor, notation };
  expect(() => planUninstall(careless, "user", "svc", site)).toThrow(
    "cannot be edited safely; add or remove the entry by hand",
  );
  expect(() => planInstall(careless, "user", "other", SERVER, site)).toThrow("cannot be edited safely");
  expect(planUninstall(cursor, "user", "svc", site).action).toBe("remove");
});

test("names that clients or objects have by themselves are refused", () => {
  for (const name of [
    "",
    "__proto__",
    "constructor",
    "toString",
    "a b",
    "a.b",
    "-a",
    "é",
    "x".repeat(65),
    "../x",
    'a"b',
  ]) {
    expect(() => planInstall(cursor, "user", name, SERVER, site)).toThrow("cannot be the name of a server");
  }
});

test("status of a file that cannot be read is its problem", () => {
  const file = put(cursor, "user", site, "{");
  expect(readEntry(cursor, "user", "svc", site)).toEqual({
    state: "unreadable",
    problem: "~/.cursor/mcp.json, line 1: the text ends before the closing brace; correct it and try again",
    file,
  });
  rmSync(file);
  mkdirSync(file);
  expect(readEntry(cursor, "user", "svc", site)).toMatchObject({ state: "unreadable" });
  expect(() => planInstall(cursor, "user", "svc", SERVER, site)).toThrow("~/.cursor/mcp.json is not a regular file");
  rmSync(dirname(file), { recursive: true });
});

test("a client is found by its id, and a near one is named", () => {
  expect(findClient("codex").title).toBe("Codex");
  expect(() => findClient("claude")).toThrow(
    /there is no client 'claude': did you mean 'claude-code'\? The clients are claude-code, /,
  );
  expect(() => findClient("vs-code")).toThrow("did you mean 'vscode'?");
  expect(() => findClient("zzz")).toThrow("there is no client 'zzz'; the clients are");
});

test("scopes that a client has not are refused", () => {
  expect(() => configFile(goose, "project", site)).toThrow("Goose has no configuration of a project; use --scope user");
  expect(() => configFile(cursor, "project", { ...site, project: undefined })).toThrow(
    "--scope project needs a project",
  );
});

test("variables move the folders of clients", () => {
  const at = (id: string, env: Record<string, string>, platform: "linux" | "darwin" = "linux") =>
    configFile(findClient(id), "user", { home: "/h", platform, env });
  expect(at("codex", { CODEX_HOME: "/c" })).toBe("/c/config.toml");
  expect(at("claude-code", { CLAUDE_CONFIG_DIR: "/c" })).toBe("/c/.claude.json");
  expect(at("copilot-cli", { COPILOT_HOME: "/c" })).toBe("/c/mcp-config.json");
  expect(at("copilot-cli", { XDG_CONFIG_HOME: "/x" })).toBe("/h/.copilot/mcp-config.json");
  expect(at("gemini-cli", { GEMINI_CLI_HOME: "/g" })).toBe("/g/.gemini/settings.json");
  expect(at("qwen-code", { QWEN_HOME: "/q" })).toBe("/q/settings.json");
  expect(at("goose", { GOOSE_PATH_ROOT: "/g" })).toBe("/g/config/config.yaml");
  expect(at("goose", { XDG_CONFIG_HOME: "/x" })).toBe("/x/goose/config.yaml");
  expect(at("goose", { XDG_CONFIG_HOME: "x" })).toBe("/h/.config/goose/config.yaml");
  expect(at("cline", { CLINE_MCP_SETTINGS_PATH: "/c.json" })).toBe("/c.json");
  expect(at("cline", { CLINE_DIR: "/c" })).toBe("/c/data/settings/cline_mcp_settings.json");
  expect(at("zed", { XDG_CONFIG_HOME: "/x" })).toBe("/x/zed/settings.json");
  expect(at("zed", { XDG_CONFIG_HOME: "/x" }, "darwin")).toBe("/h/.config/zed/settings.json");
  for (const platform of ["linux", "darwin"] as const) {
    expect(at("devin", { XDG_CONFIG_HOME: "/x" }, platform)).toBe("/x/devin/mcp_config.json");
    expect(at("devin", {}, platform)).toBe("/h/.config/devin/mcp_config.json");
    expect(at("kilo", { XDG_CONFIG_HOME: "/x" }, platform)).toBe("/x/kilo/kilo.json");
    expect(at("amp", { XDG_CONFIG_HOME: "/x" }, platform)).toBe("/x/amp/settings.json");
    expect(at("amp", { AMP_SETTINGS_FILE: "/a.json" }, platform)).toBe("/a.json");
    expect(at("antigravity", {}, platform)).toBe("/h/.gemini/config/mcp_config.json");
  }
  expect(at("vscode", {}, "darwin")).toBe("/h/Library/Application Support/Code/User/mcp.json");
  expect(at("claude-desktop", {}, "darwin")).toBe("/h/Library/Application Support/Claude/claude_desktop_config.json");
  expect(at("claude-desktop", {})).toBe("/h/.config/Claude/claude_desktop_config.json");
});

test("a client is present by its folder or its program", () => {
  const fresh = newSite();
  expect(isPresent(cursor, fresh.site)).toBe(false);
  put(cursor, "user", fresh.site, "{}");
  expect(isPresent(cursor, fresh.site)).toBe(true);
  const bin = `${fresh.site.home}/bin`;
  put({ ...cursor, files: () => [`${bin}/goose`] }, "user", fresh.site, "");
  const onPath = { ...fresh.site, env: { PATH: `relative:${bin}` } };
  expect(isPresent(goose, onPath)).toBe(false);
  chmodSync(`${bin}/goose`, 0o755);
  expect(isPresent(goose, onPath)).toBe(true);
  fresh.remove();
});

test("OpenCode's entries lie where its version has them", () => {
  const native = '{"mcp": {"servers": {"a": {"type": "local", "command": ["a"]}}}}';
  put(opencode, "user", site, native);
  const change = planInstall(opencode, "user", "svc", SERVER, site);
  expect(JSON.parse(Buffer.from(change.after!).toString()).mcp.servers.svc).toEqual({
    type: "local",
    command: [SERVER.command, ...SERVER.args],
  });
  // A server that is called so is none of version 2.
  put(opencode, "user", site, '{"mcp": {"servers": {"type": "local", "command": ["a"]}}}');
  const legacy = JSON.parse(Buffer.from(planInstall(opencode, "user", "svc", SERVER, site).after!).toString());
  expect(Object.keys(legacy.mcp)).toEqual(["servers", "svc"]);
});
