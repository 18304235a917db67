/** Messages of both eras at random in one stream: one answer to each request, none to anything else. */
import { expect, test } from "bun:test";
import { Client } from "./client.ts";

const MESSAGES = 100_000;
/** Written in one piece: the server reads no further request while its answers are not read. */
const BATCH = 1000;

/** xorshift32: the same messages in every run. */
function random(seed: number) {
  let state = seed;
  return (below: number) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

test("100,000 messages", async () => {
  const next = random(20260728);
  const pick = <T>(...values: T[]): T => values[next(values.length)]!;
  const version = () =>
    pick<unknown>("2026-07-28", "2026-07-28", "2025-11-25", "2025-06-18", "", "2099-01-01", 7, null, []);
  const meta = () =>
    pick<unknown>(
      undefined,
      {},
      [],
      { progressToken: pick<unknown>("p", 1, 1.5, null, {}) },
      {
        "io.modelcontextprotocol/protocolVersion": version(),
        "io.modelcontextprotocol/clientCapabilities": pick<unknown>({}, { roots: {} }, [], null, undefined, "x"),
        "io.modelcontextprotocol/clientInfo": pick<unknown>(undefined, { name: "x", version: "1" }, 1, []),
      },
      {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        progressToken: next(1000),
      },
    );
  const params = () =>
    pick<object | undefined | string>(
      undefined,
      [],
      "text",
      { _meta: meta() },
      { name: pick<unknown>("svc_search", "nope", "", 1), arguments: { collection: "c", query: "q" }, _meta: meta() },
      { name: "svc_search", arguments: pick<unknown>({ collection: "c", query: "q" }, [], null, {}), _meta: meta() },
      { name: slow, arguments: { collection: "c" }, _meta: meta() },
      { protocolVersion: version(), capabilities: pick<unknown>({}, [], undefined), _meta: meta() },
    );
  const method = () =>
    pick("tools/list", "tools/call", "tools/call", "tools/call", "ping", "initialize", "server/discover", "nope");
  const notification = () =>
    pick("notifications/initialized", "notifications/roots/list_changed", "notifications/cancelled", "notifications/x");

  const client = new Client();
  // tools/list is 20 KB: without it the stream is 100 times smaller.
  let lists = 0;
  const answered = new Map<unknown, number>();
  let last = 0;
  let slow: string;
  for (let i = 0; i < MESSAGES; i += BATCH) {
    // It takes half a second, and reports progress.
    slow = i % (20 * BATCH) === 0 ? "svc_compact" : "svc_count";
    const lines: string[] = [];
    const expected = new Set<number>();
    for (let k = i; k < i + BATCH; k++) {
      const kind = next(10);
      if (kind === 0) {
        const about = { requestId: pick<unknown>(k - BATCH * 2, "none", {}, null), reason: "fuzz" };
        lines.push(JSON.stringify({ jsonrpc: "2.0", method: notification(), params: pick<unknown>(about, params()) }));
      } else if (kind === 1) {
        lines.push(
          JSON.stringify({
            jsonrpc: "2.0",
            id: `r${k}`,
            ...pick<object>({ result: {} }, { error: { code: 1, message: "m" } }),
          }),
        );
      } else {
        const called = method();
        if (called === "tools/list" && lists++ % 50 !== 0) continue;
        expected.add(k);
        lines.push(JSON.stringify({ jsonrpc: "2.0", id: k, method: called, params: params() }));
      }
    }
    last = i + MESSAGES;
    expected.add(last);
    lines.push(JSON.stringify({ jsonrpc: "2.0", id: last, method: "ping" }));
    await client.write(`${lines.join("\n")}\n`);
    while (client.messages.filter(({ method }) => method === undefined).length < expected.size) {
      await client.next(() => true);
      await Bun.sleep(1);
    }
    for (const message of client.messages) {
      if (message.method !== undefined) {
        expect(["notifications/progress", "roots/list"]).toContain(message.method);
        continue;
      }
      expect(Object.hasOwn(message, "result") !== Object.hasOwn(message, "error")).toBe(true);
      answered.set(message.id, (answered.get(message.id) ?? 0) + 1);
    }
    for (const id of expected) expect([id, answered.get(id)]).toEqual([id, 1]);
    expect(answered.size).toBe(expected.size);
    answered.clear();
    client.messages.length = 0;
  }
  expect(await client.close()).toBe(0);
  expect(client.messages.filter(({ method }) => method === undefined)).toEqual([]);
}, 120_000);
