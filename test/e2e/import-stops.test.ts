/** Every import ends soon after Ctrl-C or SIGTERM, whatever it reads; what was saved stays. */
import { beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { SVC, signedIn, svc } from "./home.ts";

/** Some twenty times what it takes; without the end it would take minutes, or for ever. */
const HANG_MS = 20_000;

let env: Record<string, string>;
beforeAll(async () => {
  env = await signedIn();
});

/** An import, with what it has read so far. */
function start(words: string[], input: "pipe" | "ignore") {
  const memory = mkdtempSync(join(env.HOME!, "memory-"));
  const child = Bun.spawn([SVC, "mem", "import", "notes", ...words, "--path", memory], {
    env,
    stdin: input,
    stdout: "ignore",
    stderr: "pipe",
  });
  return { child, memory };
}

type Child = ReturnType<typeof start>["child"];

/** Sends the signal and waits. @returns the last line of stderr and the exit code; undefined where it did not end */
async function stopped(child: Child, signal: "SIGINT" | "SIGTERM"): Promise<[string, number] | undefined> {
  child.kill(signal);
  const ended = await Promise.race([child.exited, Bun.sleep(HANG_MS)]);
  if (ended === undefined) child.kill("SIGKILL");
  const code = await child.exited;
  const lines = (await new Response(child.stderr).text()).trim().split("\n");
  return ended === undefined ? undefined : [lines.at(-1)!, code];
}

/** Feeds an import the same bytes again and again, until it is gone; resolves once it has had `count` of them. */
async function feed(child: Child, bytes: Uint8Array, count: number): Promise<void> {
  const sink = child.stdin as unknown as import("bun").FileSink;
  const enough = Promise.withResolvers<void>();
  const go = async () => {
    for (let i = 0; child.exitCode === null && child.signalCode === null; i++) {
      if (i === count) enough.resolve();
      sink.write(bytes);
      await sink.flush();
    }
  };
  go().catch(() => {}); // the pipe breaks when it ends
  await Promise.race([enough.promise, child.exited]);
}

const MB = 1 << 20;
const repeated = (text: string) => Buffer.from(text.repeat(Math.ceil(MB / text.length)));
/** Endless inputs, none of which has a row; the first piece, and the one that is repeated. */
const ENDLESS: [name: string, words: string[], first: string, piece: Uint8Array][] = [
  ["empty lines", ["--from", "jsonl"], "", repeated("\n")],
  ["lines that are left out", ["--from", "jsonl", "--on-error", "skip"], "", repeated('{"x":1}\n')],
  ["one line", ["--from", "jsonl"], "", repeated("a")],
  ["lines without observations", ["--from", "memory-server", "--on-error", "skip"], "", repeated('{"type":"x"}\n')],
  ["a table of empty lines", ["--from", "csv"], "id,text\n", repeated("\n")],
  ["a table of rows without text", ["--from", "csv"], "id,text\n", repeated("1,\n")],
  ["packed empty lines", ["--from", "jsonl"], "", gzipSync(repeated("\n"), { level: 0 })],
];

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test.each(ENDLESS)(
    `${signal} ends what has no end: %s`,
    async (_name, words, first, piece) => {
      const { child } = start(words, "pipe");
      if (first !== "") await feedOnce(child, first);
      // More than fits into the pipe: it has begun to read.
      await feed(child, piece, 4);
      const [line, code] = (await stopped(child, signal)) ?? ["", 0];
      expect(line).toMatch(/^svc: interrupted/);
      expect(code).toBe(130);
    },
    60_000,
  );
}

/** Whether a process has a handler of a signal. */
function handles(pid: number, signal: number): boolean {
  const [, mask] = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))!;
  return ((BigInt(`0x${mask}`) >> BigInt(signal - 1)) & 1n) === 1n;
}

async function feedOnce(child: Child, text: string): Promise<void> {
  const sink = child.stdin as unknown as import("bun").FileSink;
  sink.write(text);
  await sink.flush();
}

test("it ends while one line is taken apart, which takes seconds", async () => {
  const { child } = start(["--from", "memory-server", "--json"], "pipe");
  const observations = Array.from({ length: 5_000_000 }, (_, i) => `"o${i}"`).join(",");
  const line = `{"type":"entity","name":"n","entityType":"t","observations":[${observations}]}\n`;
  // The pipe takes no more than it is read.
  await feedOnce(child, line);
  const [last, code] = (await stopped(child, "SIGTERM")) ?? ["", 0];
  const { error } = JSON.parse(last);
  expect(error.type).toBe("CancelledError");
  expect(error.message).toMatch(/^interrupted.*repeat the command to go on/);
  expect(code).toBe(130);
}, 90_000);

test("it ends while it waits for a pipe without a writer", async () => {
  const pipe = join(mkdtempSync(join(env.HOME!, "pipe-")), "pipe");
  expect(Bun.spawnSync(["mkfifo", pipe]).success).toBe(true);
  const { child } = start([pipe], "ignore");
  // Before it handles signals, one kills it. That it waits for the pipe soon after is not to be seen from outside.
  if (process.platform === "linux") while (!handles(child.pid, 15)) await Bun.sleep(10);
  await Bun.sleep(300);
  expect((await stopped(child, "SIGTERM"))?.[1]).toBe(130);
}, 60_000);

test("what was saved stays, and the same command goes on", async () => {
  const row = (i: number) => `${JSON.stringify({ id: `id-${i}`, text: `note ${i}` })}\n`;
  const rows = Array.from({ length: 6000 }, (_, i) => row(i)).join("");
  const { child, memory } = start(["--from", "jsonl"], "pipe");
  await feedOnce(child, rows);
  await feed(child, repeated("\n"), 4);
  const count = async () => {
    const { out } = await svc(env, ["mem", "count", "notes", "--json", "--path", memory]);
    return out === "" ? 0 : JSON.parse(out).count;
  };
  const until = Date.now() + HANG_MS;
  while ((await count()) < 5000 && Date.now() < until) await Bun.sleep(50);
  expect((await stopped(child, "SIGTERM"))?.[1]).toBe(130);
  expect(await count()).toBe(5000);
  expect((await svc(env, ["mem", "check", "--path", memory])).code).toBe(0);
  const file = join(memory, "..", "all.jsonl");
  writeFileSync(file, rows);
  const { out } = await svc(env, ["mem", "import", "notes", file, "--json", "--path", memory]);
  expect(JSON.parse(out)).toMatchObject({ imported: 6000, inserted: 1000, unchanged: 5000 });
}, 90_000);
