/** How a server behaves with huge input, a slow or closed reader, and signals. */
import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { STDIO_LINE_BYTES_MAX } from "../../src/limits.ts";
import { MONITOR_ENTRY_BYTES_MAX } from "../../src/mcp/monitor.ts";
import { Client, FIXTURE_ENV } from "./client.ts";
import { IS_REMOTE, SKIPPED } from "./remote.ts";

const MIB = 1024 * 1024;
/** Below the five seconds that calls have which do not end when they are cancelled, and far above what it takes. */
const SOON_MS = 4_000;
const scratch = (name: string) => join(mkdtempSync(join(tmpdir(), "svc-mcp-")), name);

function callLine(id: number, name: string, args: unknown): string {
  return `${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } })}\n`;
}

/** Without a bound, so that pipes fill. */
const search = (id: number, query: string) => callLine(id, "svc_search", { collection: "c", query, max_bytes: 0 });

function residentBytesMax(pid: number): number {
  const [, kib] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kib) * 1024;
}

test("a line of 300 MB is skipped with an error that names the limit, and not kept in memory", async () => {
  const client = new Client();
  await client.request("ping");
  const before = process.platform === "linux" ? residentBytesMax(client.process.pid) : 0;
  const chunk = new Uint8Array(MIB).fill(0x61);
  await client.write('{"jsonrpc":"2.0","id":"long","method":"ping","params":{"a":"');
  for (let i = 0; i < 300; i++) await client.write(chunk);
  await client.write('"}}\n');
  const { error, id } = await client.next((message) => message.error !== undefined);
  expect([id, error?.code]).toEqual(["long", -32600]);
  expect(error?.message).toContain(String(STDIO_LINE_BYTES_MAX));
  expect((await client.request("ping")).result).toEqual({});
  expect(client.messages.length).toBe(3);
  // Less than the line: what it keeps of one is a quarter of that, and the collector is late on a busy machine.
  if (before > 0) expect(residentBytesMax(client.process.pid) - before).toBeLessThan(4 * STDIO_LINE_BYTES_MAX);
  expect(await client.close()).toBe(0);
}, 120_000);

test("at the end of stdin calls in flight are finished, answered in full, and the exit follows at once", async () => {
  const client = new Client();
  // So that all is loaded, which takes longer on a busy machine than calls have after the end of stdin.
  await client.call("svc_search", { collection: "c", query: "fast" });
  await client.write(search(11, "sleep 300") + search(12, "big 3000000") + search(13, "fast"));
  await client.process.stdin.end();
  await client.next(({ id }) => id === 11);
  const answered = performance.now();
  expect(await client.close()).toBe(0);
  expect(performance.now() - answered).toBeLessThan(SOON_MS);
  expect(client.messages.map(({ id }) => id).sort()).toEqual([1, 11, 12, 13]);
  const big = client.messages.find(({ id }) => id === 12);
  expect(JSON.parse(big?.result.content[0].text).hits[0].text.length).toBe(3_000_000);
});

test("without a call in flight the end of stdin ends the server at once", async () => {
  const client = new Client();
  await client.request("ping");
  const before = performance.now();
  expect(await client.close()).toBe(0);
  expect(performance.now() - before).toBeLessThan(SOON_MS);
});

/** Runs the fixture in a shell, where a pipe can be closed at one end only. */
function shell(script: string, env: Record<string, string> = {}) {
  const fixture = `${process.execPath} ${join(import.meta.dir, "fixture-server.ts")}`;
  return Bun.spawn(["bash", "-c", script.replace("SERVER", fixture)], {
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, ...FIXTURE_ENV, ...env },
    detached: true, // a group of its own, which can be killed as a whole
  });
}

test.skipIf(IS_REMOTE)(
  `a client that stops reading: calls under way end or are cancelled, and the server exits ${SKIPPED.cancelled}`,
  async () => {
    const log = scratch("log");
    const input = scratch("input");
    const build = callLine(1, "svc_build_ivf", { collection: "c" });
    writeFileSync(input, search(9, "fast") + build + search(2, "sleep 300") + search(3, "big 500000"));
    // The reader takes one line and leaves; stdin stays open.
    const run = shell(`(cat ${input}; exec sleep 1000) | (SERVER; echo "code $?" >&2) | head -n 1`, {
      FIXTURE_LOG: log,
    });
    let code = "";
    for await (const piece of run.stderr) {
      code += new TextDecoder().decode(piece);
      if (code.endsWith("\n")) break;
    }
    process.kill(-run.pid, "SIGKILL");
    expect(code).toBe("code 0\n");
    expect(readFileSync(log, "utf8").trim().split("\n").sort()).toEqual(["cancelled", "exit", "gate", "slept 300"]);
  },
);

test.skipIf(IS_REMOTE)(`a client that was killed leaves no index build running ${SKIPPED.cancelled}`, async () => {
  const log = scratch("log");
  const input = scratch("input");
  writeFileSync(input, callLine(1, "svc_build_ivf", { collection: "c" }));
  // The shell that started the server ends at once; a subshell keeps the other end of stdout open.
  const run = shell(`bash -c 'SERVER < ${input} | sleep 1.5 & sleep 0.4'`, { FIXTURE_LOG: log });
  await run.exited;
  const until = performance.now() + 30_000;
  const hasExited = () => existsSync(log) && readFileSync(log, "utf8").includes("exit");
  while (!hasExited() && performance.now() < until) await Bun.sleep(20);
  expect(readFileSync(log, "utf8")).toBe("gate\ncancelled\nexit\n");
});

test.skipIf(IS_REMOTE)(
  `SIGTERM: no further request, running calls are cancelled, their answers still go out ${SKIPPED.cancelled}`,
  async () => {
    const client = new Client();
    await client.request("ping");
    await client.write(callLine(50, "svc_build_ivf", { collection: "c" }) + search(51, "sleep 100"));
    await client.call("svc_search", { collection: "c", query: "fast" });
    client.process.kill("SIGTERM");
    expect(await client.process.exited).toBe(0);
    const answer = await client.next(({ id }) => id === 50);
    expect(answer.result.content[0].text).toBe("CancelledError: stopped; the last saved state stands");
    expect((await client.next(({ id }) => id === 51)).result.isError).toBe(false);
  },
);

test("a slow reader gets everything, in whole lines", async () => {
  const input = scratch("input");
  // The end of stdin leaves 1.5 seconds, in which the answers of a server cross its socket too.
  const count = IS_REMOTE ? 20 : 100;
  writeFileSync(input, Array.from({ length: count }, (_, i) => search(i + 1, "big 1000000")).join(""));
  const run = shell(`SERVER < ${input} | (sleep 0.5; grep -c '"isError":false'); echo "\${PIPESTATUS[0]}"`);
  expect(await new Response(run.stdout).text()).toBe(`${count}\n0\n`);
});

test("--monitor appends both directions to a private file, entries capped", async () => {
  const log = scratch("monitor.jsonl");
  writeFileSync(log, '{"earlier":1}\n', { mode: 0o644 });
  const client = new Client({ FIXTURE_MONITOR: log });
  await client.request("ping");
  await client.write("no json\n");
  await client.next(({ error }) => error !== undefined);
  await client.call("svc_search", { collection: "c", query: `big 300000 ${"€\u0001".repeat(100_000)}`, max_bytes: 0 });
  expect(await client.close()).toBe(0);
  expect(statSync(log).mode & 0o777).toBe(0o600);
  const lines = readFileSync(log, "utf8").trimEnd().split("\n");
  for (const line of lines) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(MONITOR_ENTRY_BYTES_MAX);
  const entries = lines.map((line) => JSON.parse(line));
  expect(entries.map((entry) => entry.direction)).toEqual([undefined, "in", "out", "in", "out", "in", "out"]);
  expect(entries[1]).toEqual({
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    direction: "in",
    message: { jsonrpc: "2.0", id: 1, method: "ping" },
  });
  expect(entries[3].text).toBe("no json");
  expect(entries[5]).toMatchObject({ truncated: true, text: expect.stringContaining("svc_search") });
});
