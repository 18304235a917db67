/** The protocol through real pipes: requests of a client and the server's answers. */
import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { instructionsFor } from "../../src/mcp/instructions.ts";
import { listTools, TOOLS } from "../../src/mcp/tools.ts";
import { Client, type Message } from "./client.ts";
import { IS_REMOTE, SKIPPED } from "./remote.ts";

let client: Client;

afterEach(async () => {
  expect(await client.close()).toBe(0);
});

const search = (query: string) => ({ name: "svc_search", arguments: { collection: "c", query } });

function initialize(protocolVersion: string | undefined) {
  return client.request("initialize", {
    protocolVersion,
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  });
}

describe("before any tool is called", () => {
  test.each([
    ["2025-06-18", "2025-06-18"],
    ["2025-11-25", "2025-11-25"],
    ["2025-03-26", "2025-03-26"],
    ["2024-11-05", "2024-11-05"],
    ["2024-10-07", "2025-06-18"],
    ["2026-07-28", "2025-06-18"],
    ["2099-01-01", "2025-06-18"],
    ["1.0", "2025-06-18"],
    ["", "2025-06-18"],
    [undefined, "2025-06-18"],
  ])("a client that requests %s is answered with %s", async (asked, answered) => {
    client = new Client();
    expect((await initialize(asked)).result).toEqual({
      protocolVersion: answered,
      capabilities: { tools: {} },
      serverInfo: { name: "svc", version: "1.2.3" },
      instructions: instructionsFor(TOOLS, undefined, IS_REMOTE),
    });
  });

  test.each([
    ["none", undefined],
    ["null", null],
    ["an empty one", {}],
    ["one without a version", { name: "test" }],
    ["one without a name", { version: "1" }],
    ["one of other types", { name: 1, version: null }],
    ["a string", "test"],
  ])("a client's name decides nothing: %s is answered", async (_, clientInfo) => {
    client = new Client();
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
    expect((await client.request("initialize", params)).result).toMatchObject({ protocolVersion: "2025-06-18" });
    await client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    expect((await client.call("svc_search", search("x").arguments)).isError).toBe(false);
  });

  test("tools/list and ping answer without opening the gate", async () => {
    const log = join(mkdtempSync(join(tmpdir(), "svc-mcp-")), "log");
    client = new Client({ FIXTURE_LOG: log });
    await initialize("2025-06-18");
    expect((await client.request("ping")).result).toEqual({});
    const { tools } = (await client.request("tools/list")).result;
    expect(tools).toEqual(JSON.parse(JSON.stringify(listTools())));
    expect(tools.length).toBe(19);
    expect(await client.close()).toBe(0);
    expect(readFileSync(log, "utf8")).toBe("exit\n");
  });
});

describe("tool calls", () => {
  test("one text block with the payload as JSON", async () => {
    client = new Client();
    const { result } = await client.request("tools/call", search("hello"));
    expect(Object.keys(result).sort()).toEqual(["content", "isError"]);
    expect(result.isError).toBe(false);
    expect(result.content).toEqual([{ type: "text", text: expect.any(String) }]);
    expect(JSON.parse(result.content[0].text)).toMatchObject({ collection: "c", query: "hello" });
  });

  test("calls begin in the order in which they were sent, the first of a session too", async () => {
    client = new Client();
    const ids = Array.from({ length: 200 }, (_, i) => i + 1);
    const requests = ids.map((id) => ({ jsonrpc: "2.0", id, method: "tools/call", params: search("fast") }));
    await client.write(requests.map((request) => `${JSON.stringify(request)}\n`).join(""));
    await client.next(() => client.messages.length === ids.length);
    expect(client.messages.map(({ id }) => id)).toEqual(ids);
  });

  const FAILURES: [name: unknown, args: unknown, line: string][] = [
    ["nope", {}, "ValueError: unknown tool 'nope'"],
    ["__proto__", {}, "ValueError: unknown tool '__proto__'"],
    ["search", {}, "ValueError: unknown tool 'search'"],
    [
      "svc_search",
      { collection: "notes", query: "missing" },
      "ValueError: collection 'notes' does not exist (create it first)",
    ],
    ["svc_search", undefined, "TypeError: missing required argument 'collection'"],
    ["svc_search", [], "TypeError: the arguments of svc_search must be an object, got an array"],
    [
      "svc_search",
      { collection: "c", query: "q", top_k: 0 },
      "ValueError: top_k must be an integer from 1 to 100000, got 0",
    ],
    ["svc_search", { collection: "c", query: "throw" }, "RuntimeError: internal error: a bug with a stack"],
  ];

  test("a failure is an answer: <Type>: <message>", async () => {
    client = new Client();
    for (const [name, args, line] of FAILURES) {
      expect(await client.call(name as string, args)).toEqual({ text: line, isError: true });
    }
  });

  test("an argument called __proto__ is refused by name", async () => {
    client = new Client();
    const args = '{"collection":"c","query":"q","__proto__":{"x":1}}';
    await client.write(
      `{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"svc_search","arguments":${args}}}\n`,
    );
    const { result } = await client.next(({ id }) => id === "p");
    expect(result.content[0].text).toStartWith("ValueError: unknown argument '__proto__' of svc_search");
  });

  test("a gate that refused is tried again by the next call, and only until it opens", async () => {
    const log = join(mkdtempSync(join(tmpdir(), "svc-mcp-")), "log");
    client = new Client({ FIXTURE_LOG: log, FIXTURE_REFUSALS: "2" });
    const refused = { text: "PermissionError: not logged in: run 'svc login'", isError: true };
    const call = () => client.call("svc_search", { collection: "c", query: "q" });
    expect(await call()).toEqual(refused);
    expect(await call()).toEqual(refused);
    const both = await Promise.all([call(), call()]);
    expect(both.map(({ isError }) => isError)).toEqual([false, false]);
    expect(readFileSync(log, "utf8")).toBe("gate\n".repeat(3));
  });

  test.skipIf(IS_REMOTE)(`calls run side by side and ping is answered meanwhile ${SKIPPED.order}`, async () => {
    client = new Client();
    const slow = client.request("tools/call", search("sleep 1000"));
    await client.call("svc_search", { collection: "c", query: "fast" });
    await client.request("ping");
    const order = client.messages.map(({ id }) => id);
    await slow;
    expect(order).toEqual([2, 3]);
  });
});

describe("progress and cancellation", () => {
  test.skipIf(IS_REMOTE)(
    `progress rises, is throttled, ends with everything done and before the answer ${SKIPPED.progress}`,
    async () => {
      client = new Client();
      const before = performance.now();
      expect((await client.call("svc_compact", { collection: "c" }, { progressToken: "t" })).text).toBe(
        '{"compacted":"c"}',
      );
      const seconds = (performance.now() - before) / 1000;
      expect(client.messages.at(-1)?.id).toBe(1);
      const reports = client.messages.slice(0, -1).map(({ method, params }) => {
        expect(method).toBe("notifications/progress");
        return params as { progressToken: string; progress: number; total: number; message: string };
      });
      expect(reports.length).toBeWithin(2, seconds * 10 + 4);
      expect(reports[0]).toEqual({ progressToken: "t", progress: 1, total: 1000, message: "merging" });
      expect(reports.at(-1)?.progress).toBe(1000);
      reports.reduce((last, { progress }) => {
        expect(progress).toBeGreaterThan(last);
        return progress;
      }, 0);
    },
  );

  test("without a token there is no progress", async () => {
    client = new Client();
    await client.call("svc_compact", { collection: "c" });
    expect(client.messages.length).toBe(1);
  });

  test.skipIf(IS_REMOTE)(
    `notifications/cancelled aborts the call, which is not answered, and no other ${SKIPPED.cancelled}`,
    async () => {
      const log = join(mkdtempSync(join(tmpdir(), "svc-mcp-")), "log");
      client = new Client({ FIXTURE_LOG: log });
      const params = { name: "svc_build_ivf", arguments: { collection: "c" }, _meta: { progressToken: 7 } };
      const other = client.request("tools/call", search("sleep 200"));
      await client.send({ jsonrpc: "2.0", id: "x", method: "tools/call", params });
      const first = await client.next(({ method }) => method === "notifications/progress");
      expect(first.params).toEqual({ progressToken: 7, progress: 0, message: "sampling" });
      await client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "x" } });
      expect((await other).result.isError).toBe(false);
      expect(readFileSync(log, "utf8")).toContain("cancelled\n");
      expect(client.messages.some(({ id }) => id === "x")).toBe(false);
    },
  );
});

describe("lines that are not a message", () => {
  const deep = "[".repeat(100_000);
  const LINES: [name: string, line: string | Uint8Array, code: number, id: unknown][] = [
    ["no JSON", "hello", -32700, undefined],
    ["half an object", '{"jsonrpc":"2.0","id":1', -32700, undefined],
    ["broken UTF-8", new Uint8Array([0x22, 0xff, 0xfe, 0x22]), -32700, undefined],
    ["JSON nested too deeply", `{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":${deep}`, -32600, 5],
    ["a batch", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, undefined],
    ["an empty batch", "[]", -32600, undefined],
    ["a number", "1", -32600, undefined],
    ["null", "null", -32600, undefined],
    ["another version", '{"jsonrpc":"1.0","id":3,"method":"ping"}', -32600, 3],
    ["a method that is not a string", '{"jsonrpc":"2.0","id":"a","method":1}', -32600, "a"],
    ["parameters by position", '{"jsonrpc":"2.0","id":4,"method":"ping","params":[]}', -32602, 4],
    ["_meta as an array", '{"jsonrpc":"2.0","id":4,"method":"ping","params":{"_meta":[]}}', -32602, 4],
    ["a fraction as id", '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, 1.5],
    ["an id that is null", '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, undefined],
    ["an unknown method", '{"jsonrpc":"2.0","id":9,"method":"resources/list"}', -32601, 9],
    [
      "initialize without capabilities",
      '{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}',
      -32602,
      5,
    ],
    [
      "initialize with a number as version",
      '{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":1,"capabilities":{}}}',
      -32602,
      5,
    ],
    ["initialize without its parameters", '{"jsonrpc":"2.0","id":6,"method":"initialize","params":{}}', -32602, 6],
    ["a call without a name", '{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{}}', -32602, 8],
  ];

  test("each is answered with its code and the server goes on", async () => {
    client = new Client();
    for (const [name, line, code, id] of LINES) {
      client.messages.length = 0;
      await client.write(line);
      await client.write("\n");
      const answer: Message = await client.next(() => true);
      expect([name, answer.error?.code, answer.id]).toEqual([name, code, id as undefined]);
      expect(answer.error?.message).toBeString();
    }
    expect((await client.request("ping")).result).toEqual({});
  });

  test("blank lines, CRLF, split characters and a last line without its newline are not an error", async () => {
    client = new Client();
    await client.write('\n\r\n  \n{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n');
    const request = new TextEncoder().encode(
      `${JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: search("größe €") })}\n`,
    );
    const middle = request.indexOf(0xe2) + 1;
    await client.write(request.subarray(0, middle));
    await Bun.sleep(20);
    await client.write(request.subarray(middle));
    const { result } = await client.next(({ id }) => id === 2);
    expect(JSON.parse(result.content[0].text).query).toBe("größe €");
    await client.write('{"jsonrpc":"2.0","id":3,"method":"ping"}');
    expect(await client.close()).toBe(0);
    expect(client.messages.map(({ id }) => id)).toEqual([1, 2, 3]);
  });

  test("a response to nothing and an unknown notification are ignored", async () => {
    client = new Client();
    await client.send({ jsonrpc: "2.0", id: 77, result: {} });
    await client.send({ jsonrpc: "2.0", method: "notifications/whatever" });
    await client.send({ jsonrpc: "2.0", method: "notifications/whatever", params: [] });
    await client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: {} } });
    await client.request("ping");
    expect(client.messages.length).toBe(1);
  });
});
