/** The era of 2026-07-28 through real pipes: each request says its version, and no handshake comes before it. */
import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { instructionsFor } from "../../src/mcp/instructions.ts";
import { listTools, TOOLS } from "../../src/mcp/tools.ts";
import { Client } from "./client.ts";
import { IS_REMOTE, SKIPPED } from "./remote.ts";

const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const CLIENT = "io.modelcontextprotocol/clientInfo";
const META = { [VERSION]: "2026-07-28", [CAPABILITIES]: {} };
const SERVER = { "io.modelcontextprotocol/serverInfo": { name: "svc", version: "1.2.3" } };

let client: Client;

afterEach(async () => {
  expect(await client.close()).toBe(0);
});

const modern = (method: string, params: object = {}) => client.request(method, { ...params, _meta: META });
const search = (query: string) => ({ name: "svc_search", arguments: { collection: "c", query } });

describe("without a handshake", () => {
  test("server/discover and tools/list are complete, can be cached, and open no gate", async () => {
    const log = join(mkdtempSync(join(tmpdir(), "svc-mcp-")), "log");
    client = new Client({ FIXTURE_LOG: log });
    expect((await modern("server/discover")).result).toEqual({
      resultType: "complete",
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {} },
      instructions: instructionsFor(TOOLS, undefined, IS_REMOTE),
      ttlMs: 3_600_000,
      cacheScope: "public",
      _meta: SERVER,
    });
    expect((await modern("tools/list")).result).toEqual({
      resultType: "complete",
      tools: JSON.parse(JSON.stringify(listTools())),
      ttlMs: 300_000,
      cacheScope: "public",
      _meta: SERVER,
    });
    expect(await client.close()).toBe(0);
    expect(readFileSync(log, "utf8")).toBe("exit\n");
  });

  test("a call's answer is one text block", async () => {
    client = new Client();
    const { result } = await modern("tools/call", search("hello"));
    const content = [{ type: "text", text: expect.any(String) }];
    expect(result).toEqual({ resultType: "complete", content, isError: false, _meta: SERVER });
    const failed = (await modern("tools/call", { name: "svc_search", arguments: {} })).result;
    const text = "TypeError: missing required argument 'collection'";
    expect(failed).toEqual({ resultType: "complete", content: [{ type: "text", text }], isError: true, _meta: SERVER });
  });

  test.skipIf(IS_REMOTE)(`progress and cancellation, of a request with the id 0 too ${SKIPPED.progress}`, async () => {
    const log = join(mkdtempSync(join(tmpdir(), "svc-mcp-")), "log");
    client = new Client({ FIXTURE_LOG: log });
    const params = {
      name: "svc_build_ivf",
      arguments: { collection: "c" },
      _meta: { ...META, progressToken: "p" },
    };
    await client.send({ jsonrpc: "2.0", id: 0, method: "tools/call", params });
    const first = await client.next(({ method }) => method === "notifications/progress");
    expect(first.params).toEqual({ progressToken: "p", progress: 0, message: "sampling" });
    await client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 0 } });
    await modern("tools/call", search("fast"));
    expect(readFileSync(log, "utf8")).toContain("cancelled\n");
    expect(client.messages.some(({ id }) => id === 0)).toBe(false);
  });

  test("a client that has roots is not asked for them: the server writes no request", async () => {
    client = new Client();
    client.answer = () => ({ result: { roots: [{ uri: "file:///some/project" }] } });
    const roots = { roots: { listChanged: true } };
    await client.request("initialize", { protocolVersion: "2025-11-25", capabilities: roots });
    const call = { name: "svc_workspace_info", arguments: {}, _meta: { ...META, [CAPABILITIES]: roots } };
    const { result } = await client.request("tools/call", call);
    const problem = "protocol 2026-07-28 does not tell the client's roots";
    expect(JSON.parse(result.content[0].text).roots).toEqual({ paths: [], problem });
    expect(client.messages.some(({ method }) => method === "roots/list")).toBe(false);
    // The same client's requests of the legacy era are: the era is that of each request.
    expect(JSON.parse((await client.call("svc_workspace_info")).text).roots).toEqual({ paths: ["/some/project"] });
  });

  test("instructions that name a project are for this client only", async () => {
    client = new Client({ FIXTURE_PROJECT: "github.com/some/project" });
    const { result } = await modern("server/discover");
    expect(result.cacheScope).toBe("private");
    expect(result.instructions).toContain("github.com/some/project");
  });
});

describe("what is refused", () => {
  const missing = (key: string, type: string) => `Invalid params: _meta needs "${key}", ${type}`;
  const unsupported = (requested: string) => ({
    code: -32022,
    message: "Unsupported protocol version",
    data: { supported: ["2026-07-28"], requested },
  });
  const CASES: [name: string, method: string, params: object, error: object][] = [
    ["no _meta", "server/discover", {}, { code: -32602, message: missing(VERSION, "a string") }],
    [
      "no version",
      "tools/list",
      { _meta: { [CAPABILITIES]: {} } },
      { code: -32602, message: missing(VERSION, "a string") },
    ],
    [
      "only the client's name",
      "tools/list",
      { _meta: { [CLIENT]: { name: "x", version: "1" } } },
      { code: -32602, message: missing(VERSION, "a string") },
    ],
    [
      "a number as version",
      "tools/list",
      { _meta: { ...META, [VERSION]: 2026 } },
      { code: -32602, message: missing(VERSION, "a string") },
    ],
    [
      "no capabilities",
      "tools/list",
      { _meta: { [VERSION]: "2026-07-28" } },
      { code: -32602, message: missing(CAPABILITIES, "an object") },
    ],
    [
      "capabilities as an array",
      "tools/call",
      { ...search("x"), _meta: { ...META, [CAPABILITIES]: [] } },
      { code: -32602, message: missing(CAPABILITIES, "an object") },
    ],
    ["an empty version", "tools/list", { _meta: { ...META, [VERSION]: "" } }, unsupported("")],
    [
      "a version of the future",
      "tools/list",
      { _meta: { ...META, [VERSION]: "2099-01-01" } },
      unsupported("2099-01-01"),
    ],
    [
      "a legacy version",
      "tools/call",
      { ...search("x"), _meta: { ...META, [VERSION]: "2025-11-25" } },
      unsupported("2025-11-25"),
    ],
    [
      "a long version",
      "tools/list",
      { _meta: { ...META, [VERSION]: "9".repeat(10_000) } },
      unsupported("9".repeat(100)),
    ],
    [
      "a cursor",
      "tools/list",
      { cursor: "2", _meta: META },
      { code: -32602, message: "Invalid params: the tools are one page, so there is no cursor" },
    ],
    ["an unknown tool", "tools/call", { name: "nope", _meta: META }, { code: -32602, message: "unknown tool 'nope'" }],
    ...["initialize", "ping", "logging/setLevel", "resources/subscribe", "subscriptions/listen", "nope"].map(
      (method): [string, string, object, object] => [
        `the method ${method}`,
        method,
        { _meta: META },
        { code: -32601, message: "Method not found" },
      ],
    ),
  ];

  test("each with its code, and the server goes on in both eras", async () => {
    client = new Client();
    for (const [name, method, params, error] of CASES) {
      expect([name, (await client.request(method, params)).error as object]).toEqual([name, error]);
    }
    expect((await modern("tools/call", search("x"))).result.isError).toBe(false);
    expect(await client.call("nope", {})).toEqual({ text: "ValueError: unknown tool 'nope'", isError: true });
  });

  test("a megabyte of capabilities, a client's name of a wrong type and unknown names in _meta are accepted", async () => {
    client = new Client();
    const large = { extensions: { "org.example/x": { text: "x".repeat(1 << 20) } } };
    for (const more of [{ [CAPABILITIES]: large }, { [CLIENT]: 7 }, { [CLIENT]: [] }, { "org.example/y": null }]) {
      const { result } = await client.request("tools/call", { ...search("x"), _meta: { ...META, ...more } });
      expect(result.isError).toBe(false);
    }
  });
});

test("an id of 10,000 characters is repeated, in both eras", async () => {
  client = new Client();
  const id = "ü".repeat(10_000);
  for (const params of [undefined, { _meta: META }]) {
    await client.send({ jsonrpc: "2.0", id, method: "tools/list", params });
    expect((await client.next((message) => message.id === id)).result.tools.length).toBe(19);
    client.messages.length = 0;
  }
});

test("initialize comes after a discover, as Claude Code and Antigravity do it, and twice", async () => {
  client = new Client();
  await modern("server/discover");
  await client.send({ jsonrpc: "2.0", method: "notifications/roots/list_changed" });
  for (const protocolVersion of ["2025-11-25", "2025-06-18"]) {
    const { result } = await client.request("initialize", { protocolVersion, capabilities: {} });
    expect(result).toMatchObject({ protocolVersion, serverInfo: { name: "svc" } });
    await client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  }
  expect((await client.request("tools/list")).result).toEqual({ tools: JSON.parse(JSON.stringify(listTools())) });
  expect((await client.request("ping")).result).toEqual({});
});
