/** `svc serve` of the executable: command line, signals, crashes, and what other commands see of its memory. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { childrenOf, hasProc, isRunning } from "../processes.ts";
import { ask, frame, openLocal, Raw, until } from "../remote/server/raw.ts";
import { emptyHome, Session, SVC, signedIn, svc } from "./home.ts";

let home: Record<string, string>;
const started: Served[] = [];

beforeAll(async () => {
  home = await signedIn();
});
afterAll(async () => {
  for (const served of started) served.kill("SIGKILL");
  await Promise.all(started.map(({ ended }) => ended));
});

const folder = () => mkdtempSync(join(tmpdir(), "svc-serve-"));
const TOKEN = "sesame-4711";

/** A running `svc serve`. */
class Served {
  out = "";
  err = "";
  readonly ended: Promise<number>;
  private readonly child;

  constructor(
    readonly memory: string,
    args: string[],
    env: Record<string, string>,
  ) {
    this.child = Bun.spawn([SVC, "serve", "--path", memory, ...args], {
      env,
      cwd: home.HOME,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const read = async (stream: ReadableStream<Uint8Array>, add: (text: string) => void) => {
      const decoder = new TextDecoder();
      for await (const chunk of stream) add(decoder.decode(chunk, { stream: true }));
    };
    const reading = Promise.all([
      read(this.child.stdout, (text) => {
        this.out += text;
      }),
      read(this.child.stderr, (text) => {
        this.err += text;
      }),
    ]);
    this.ended = Promise.all([this.child.exited, reading]).then(([code]) => code);
    started.push(this);
  }

  /** On a Unix socket of its own, until it listens. */
  static async start(
    args: string[] = [],
    env: Record<string, string> = {},
    memory = join(folder(), "memory"),
  ): Promise<Served> {
    const where = args.includes("--host") || args.includes("--socket") ? [] : ["--socket", join(folder(), "s.sock")];
    const served = new Served(memory, [...where, ...args], { ...home, ...env });
    await until(`it to listen; it said ${served.err}`, () => /unix:|tcp:/.test(served.out) || served.isOver);
    if (served.isOver) throw new Error(served.err);
    return served;
  }

  private get isOver(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  get pid(): number {
    return this.child.pid;
  }

  get address(): string {
    return /(unix|tcp):\/\/[^\s"]+/.exec(this.out)![0];
  }

  kill(signal: "SIGTERM" | "SIGINT" | "SIGKILL"): void {
    if (!this.isOver) this.child.kill(signal);
  }

  async open(): Promise<Raw> {
    const raw = await Raw.open(this.address);
    if (this.address.startsWith("tcp")) await raw.ok("auth", undefined, { token: TOKEN });
    return raw;
  }

  /** Ends it and returns its exit code. */
  async stop(signal: "SIGTERM" | "SIGINT" | "SIGKILL" = "SIGTERM"): Promise<number> {
    this.kill(signal);
    return this.ended;
  }
}

const row = (id: string) => ({ vectors: [[1, 0]], ids: [id] });
const idsIn = async (memory: string, name: string) =>
  JSON.parse((await svc(home, ["mem", "ids", name, "--path", memory, "--json"])).out);

// ---- the command line -----------------------------------------------------------------------------------------------

const USAGE: [string, string[], Record<string, string>, RegExp][] = [
  ["no transport", [], {}, /--socket/],
  [
    "both transports",
    ["--socket", "./x.sock", "--host", "127.0.0.1", "--port", "0"],
    { SVC_ACCESS_TOKEN: TOKEN },
    /exclude/,
  ],
  ["a socket and a port", ["--socket", "./x.sock", "--port", "0"], {}, /exclude/],
  ["a host alone", ["--host", "127.0.0.1"], { SVC_ACCESS_TOKEN: TOKEN }, /--port/],
  ["a port alone", ["--port", "0"], { SVC_ACCESS_TOKEN: TOKEN }, /--host/],
  [
    "a named token as the one token",
    ["--host", "127.0.0.1", "--port", "0"],
    { SVC_ACCESS_TOKEN: "svct_0123456789" },
    /has rights of its own, and here it would get all rights/,
  ],
  ["TCP without a token", ["--host", "127.0.0.1", "--port", "0"], {}, /SVC_ACCESS_TOKEN/],
  ["TCP with an empty token", ["--host", "127.0.0.1", "--port", "0", "--access-token", ""], {}, /token/],
  ["a port that is not a number", ["--host", "127.0.0.1", "--port", "http"], { SVC_ACCESS_TOKEN: TOKEN }, /--port/],
  ["a port that is too large", ["--host", "127.0.0.1", "--port", "65536"], { SVC_ACCESS_TOKEN: TOKEN }, /--port/],
  ["half a port", ["--host", "127.0.0.1", "--port", "1.5"], { SVC_ACCESS_TOKEN: TOKEN }, /--port/],
  ["a negative save interval", ["--socket", "./x.sock", "--save-interval", "-1"], {}, /--save-interval/],
  ["a save interval of a month", ["--socket", "./x.sock", "--save-interval", "2592000"], {}, /--save-interval/],
  ["half a connection", ["--socket", "./x.sock", "--max-connections", "1.5"], {}, /--max-connections/],
  [
    "a supervised server on any port",
    ["--host", "127.0.0.1", "--port", "0", "--supervise"],
    { SVC_ACCESS_TOKEN: TOKEN },
    /port 0/,
  ],
  ["a save interval in words", ["--socket", "./x.sock", "--save-interval", "often"], {}, /--save-interval/],
  ["no connections", ["--socket", "./x.sock", "--max-connections", "0"], {}, /--max-connections/],
  ["no time for a frame", ["--socket", "./x.sock", "--frame-timeout", "0"], {}, /--frame-timeout/],
  [
    "a negative idle timeout",
    ["--socket", "./x.sock", "--idle-timeout", "-1"],
    {},
    /--idle-timeout: '-1' must be from 0/,
  ],
  ["no room", ["--socket", "./x.sock", "--max-buffered", "0"], {}, /--max-buffered/],
  ["a log format that is unknown", ["--socket", "./x.sock", "--log-format", "xml"], {}, /--log-format/],
  [
    "an embedder without a model",
    ["--socket", "./x.sock", "--embedder", "a=http://127.0.0.1:1/v1"],
    {},
    /name=url#model/,
  ],
  [
    "an embedder beyond this machine",
    ["--socket", "./x.sock", "--embedder", "a=https://example.com/v1#m"],
    {},
    /example\.com/,
  ],
  [
    "an embedder over plain http beyond this machine",
    ["--socket", "./x.sock", "--embedder", "a=http://192.0.2.1/v1#m"],
    {},
    /192\.0\.2\.1|https/,
  ],
  ["TLS on a socket", ["--socket", "./x.sock", "--tls", "self"], {}, /TLS is for --host and --port/],
  ["a client CA on a socket", ["--socket", "./x.sock", "--client-ca", "ca.pem"], {}, /TLS is for --host and --port/],
  ["a TLS that is unknown", ["--socket", "./x.sock", "--tls", "yes"], {}, /--tls/],
  ...(
    [
      ["a certificate without its key", ["--tls-cert", "cert.pem"], /--tls-cert and --tls-key belong together/],
      ["a key without its certificate", ["--tls-key", "key.pem"], /--tls-cert and --tls-key belong together/],
      ["two certificates", ["--tls", "self", "--tls-cert", "c", "--tls-key", "k"], /give one of them/],
      ["a client CA without TLS", ["--client-ca", "ca.pem"], /--client-ca needs TLS/],
    ] as const
  ).map(([what, flags, message]): (typeof USAGE)[number] => [
    what,
    ["--host", "127.0.0.1", "--port", "0", ...flags],
    { SVC_ACCESS_TOKEN: TOKEN },
    message,
  ]),
  ["an unknown flag", ["--socket", "./x.sock", "--nonsense"], {}, /nonsense/],
];

test.each(USAGE)("%s is wrong usage: exit code 2, one line, nothing made", async (_, args, env, message) => {
  const empty = emptyHome();
  const ended = await svc({ ...empty, ...env }, ["serve", ...args]);
  expect(ended.err).toMatch(message);
  expect(ended.code).toBe(2);
  expect(ended.out).toBe("");
  expect(ended.err).not.toMatch(/\n\s+at /);
  expect(existsSync(join(empty.HOME!, "x.sock"))).toBe(false);
});

test("without a login it ends with 1 and says what to do", async () => {
  const empty = emptyHome();
  const ended = await svc(empty, ["serve", "--socket", "./x.sock"]);
  expect(ended.code).toBe(1);
  expect(ended.err).toMatch(/svc login/);
  expect(existsSync(join(empty.HOME!, "x.sock"))).toBe(false);
});

test("a licence that is required is checked before anything listens", async () => {
  for (const licence of ["nonsense", "a.b.c"]) {
    const ended = await svc({ ...home, SVC_LICENSE: licence }, ["serve", "--socket", "./x.sock", "--require-license"]);
    expect(ended.code).toBe(1);
    expect(ended.err).toMatch(/^svc: .*licence/m);
    expect(ended.err).not.toContain(licence);
    expect(existsSync(join(home.HOME!, "x.sock"))).toBe(false);
  }
  const served = await Served.start(["--require-license"]);
  expect(await served.stop()).toBe(0);
});

test("a socket that another server holds is exit code 1, and that one goes on", async () => {
  const served = await Served.start();
  const ended = await svc(home, ["serve", "--path", join(folder(), "m"), "--socket", served.address.slice(7)]);
  expect(ended.code).toBe(1);
  expect(ended.err).toMatch(/another server/);
  const raw = await served.open();
  await raw.ok("ping");
  expect(await served.stop()).toBe(0);
});

test("TCP with the token from the environment; JSON on stdout and on stderr, and the token in neither", async () => {
  const served = await Served.start(["--host", "127.0.0.1", "--port", "0", "--json", "--log-format", "json"], {
    SVC_ACCESS_TOKEN: TOKEN,
  });
  expect(JSON.parse(served.out)).toEqual({ address: expect.stringMatching(/^tcp:\/\/127\.0\.0\.1:\d+$/) });
  for (const token of ["wrong-0815", `${TOKEN}x`]) {
    const raw = await Raw.open(served.address);
    expect(await raw.ask("auth", undefined, { token })).toEqual({ ok: false, error: "unauthorized" });
    raw.close();
  }
  const raw = await served.open();
  await raw.ok("ping");
  expect(await served.stop()).toBe(0);
  const lines = served.err
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  for (const line of lines) {
    expect(Object.keys(line).slice(0, 4)).toEqual(["time", "level", "event", "message"]);
  }
  expect(lines.map(({ event }) => event)).toEqual(expect.arrayContaining(["listening", "unauthorized", "stopped"]));
  expect(served.out + served.err).not.toMatch(/sesame|0815/);
});

test("a token on the command line works, with a warning that does not show it", async () => {
  const served = await Served.start(["--host", "127.0.0.1", "--port", "0", "--access-token", TOKEN]);
  const raw = await served.open();
  await raw.ok("ping");
  raw.close();
  expect(served.err).toContain("SVC_ACCESS_TOKEN");
  expect(await served.stop()).toBe(0);
  expect(served.out + served.err).not.toContain("sesame");
});

test("requests in the original client's habits work: integer ids, lists of one, a guessed dim, NaN", async () => {
  const served = await Served.start();
  const raw = await served.open();
  // As Python's json writes requests: blanks, 1.0, null for what is left out.
  const say = async (request: string) => {
    raw.send(frame(request));
    const { ok, result, error } = await raw.next();
    return ok ? result : error;
  };
  const create = (name: string, dim: string, embedder: string) =>
    say(
      `{"op": "create_collection", "collection": "${name}", "args": {"dim": ${dim}, "partition_by": ["scope"], "filter_columns": [], "dtype": "f32", "embedder": ${embedder}}}`,
    );
  const on = (op: string, args: string) => say(`{"op": "${op}", "collection": "c", "args": ${args}}`);
  expect(await create("c", "2", "null")).toEqual({ created: "c" });
  expect(await create("t", "384", '"bigram"')).toEqual({ created: "t" });
  expect(await create("t", "null", '"bigram"')).toEqual({ created: "t" });
  expect((await raw.ok("stats", "t")).dim).not.toBe(384);
  const metadata = '[{"scope": "a"}, {"scope": "b"}, null]';
  const vectors = "[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]";
  expect(await on("add", `{"vectors": ${vectors}, "ids": [1, 2, 3], "metadata": ${metadata}}`)).toEqual([
    "1",
    "2",
    "3",
  ]);
  expect(await on("add", '{"vectors": [[1.0, 0.0]], "ids": ["2"], "metadata": null}')).toMatch(/^KeyError: .*'2'/);
  for (const rows of [0, 20_000]) {
    const many = `{"vectors": [${"[1.0, 0.0], ".repeat(rows)}[0.0, NaN]]}`;
    expect(await on("add", many)).toMatch(new RegExp(`^ValueError: vectors\\[${rows}\\]\\[1\\] is NaN`));
  }
  const question = '{"vector": [[1.0, 0.0]], "top_k": 2, "where": {}, "explain": false, "with_metadata": true}';
  expect((await on("search", question)).ids).toEqual(["1", "3"]);
  expect(await on("delete", '{"ids": [1, 99]}')).toBe(1);
  expect(await on("ids", '{"where": {}}')).toEqual(["2", "3"]);
  expect(await on("save", "{}")).toBeNull();
  expect(await on("stats", "{}")).toMatchObject({
    name: "c",
    key_name: "scope",
    external_ids: 2,
    unsaved_changes: false,
  });
  expect(await served.stop()).toBe(0);
  expect(await idsIn(served.memory, "c")).toMatchObject({ ids: ["2", "3"] });
});

test("an idle timeout of 0 is accepted, and help says the default", async () => {
  const served = await Served.start(["--host", "127.0.0.1", "--port", "0", "--idle-timeout", "0"], {
    SVC_ACCESS_TOKEN: TOKEN,
  });
  const raw = await served.open();
  await raw.ok("ping");
  expect(await served.stop()).toBe(0);
  const { out } = await svc(home, ["serve", "--help"]);
  expect(out.replace(/\s+/g, " ")).toMatch(
    /--idle-timeout=<SECONDS> .*0: for ever \(3600 on TCP, 0 on a Unix socket\)/,
  );
});

// ---- beside other processes -----------------------------------------------------------------------------------------

test("unsaved changes of a client that left: other writers get an error with the server and the remedy", async () => {
  const served = await Served.start();
  const [raw, other] = [await served.open(), await served.open()];
  await raw.ok("create_collection", "c", { dim: 2 });
  await raw.ok("add", "c", row("a"));
  await raw.ok("save", "c");
  await raw.ok("add", "c", row("b"));
  raw.close();
  const remove = () => svc(home, ["mem", "delete", "c", "a", "--path", served.memory]);
  const refused = await remove();
  expect(refused.code).toBe(1);
  expect(refused.err).toContain(
    `collection 'c' has unsaved changes in process ${served.pid} (svc serve), made by a client that has ` +
      "left: call save from a client of that server, or start it with --save-interval",
  );
  await other.ok("save", "c");
  expect((await remove()).code).toBe(0);
  expect(await other.ok("ids", "c")).toEqual(["b"]);
  expect(await served.stop()).toBe(0);
}, 120_000);

test("with a save interval they are saved when the client leaves, and other writers go on", async () => {
  const served = await Served.start(["--save-interval", "100000"]);
  const raw = await served.open();
  await raw.ok("create_collection", "c", { dim: 2 });
  await raw.ok("add", "c", row("a"));
  await raw.ok("save", "c");
  await raw.ok("add", "c", row("b"));
  raw.close();
  expect((await svc(home, ["mem", "delete", "c", "a", "--path", served.memory])).code).toBe(0);
  expect((await idsIn(served.memory, "c")).ids).toEqual(["b"]);
  expect(await served.stop()).toBe(0);
});

test("a stopped server is named as stopped", async () => {
  const served = await Served.start();
  const raw = await served.open();
  await raw.ok("create_collection", "c", { dim: 2 });
  await raw.ok("add", "c", row("a"));
  await raw.ok("save", "c");
  await raw.ok("add", "c", row("b"));
  process.kill(served.pid, "SIGSTOP");
  const refused = await svc(home, ["mem", "delete", "c", "a", "--path", served.memory]);
  process.kill(served.pid, "SIGCONT");
  expect(refused.err).toContain(
    `collection 'c' is being changed by process ${served.pid} (svc serve), which is stopped: ` +
      `continue it with 'kill -CONT ${served.pid}'`,
  );
  await raw.ok("save", "c");
  expect(await served.stop()).toBe(0);
}, 120_000);

// ---- ends -----------------------------------------------------------------------------------------------------------

test.each(["SIGTERM", "SIGINT"] as const)("%s ends it with 0: all is saved, the file is gone", async (signal) => {
  const served = await Served.start();
  const path = served.address.slice(7);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const raw = await served.open();
  await raw.ok("create_collection", "c", { dim: 2 });
  await raw.ok("add", "c", row("a"));
  await raw.ok("create_collection", "empty", { dim: 2 });
  expect(await served.stop(signal)).toBe(0);
  await raw.end();
  expect(existsSync(path)).toBe(false);
  expect(await idsIn(served.memory, "c")).toMatchObject({ ids: ["a"] });
  expect((await svc(home, ["mem", "list", "--path", served.memory, "--json"])).out).toContain("empty");
});

test("kill -9 at any moment keeps every save that was acknowledged, and nothing in halves", async () => {
  const memory = join(folder(), "memory");
  let expected: string[] = [];
  for (let round = 0; round < 4; round++) {
    const served = await Served.start([], {}, memory);
    const raw = await served.open();
    await raw.ok("create_collection", "c", { dim: 2 });
    const seen: string[] = await raw.ok("ids", "c");
    // Every acknowledged save is there; one more may have been carried out without being answered.
    expect(seen.slice(0, expected.length)).toEqual(expected);
    expect(seen.length).toBeLessThanOrEqual(expected.length + 1);
    const acknowledged: string[] = [...seen];
    const writing = (async () => {
      for (let i = 0; ; i++) {
        const id = `${round}-${i}`;
        const added = await raw.ask("add", "c", row(id)).catch(() => undefined);
        const saved = added?.ok ? await raw.ask("save", "c").catch(() => undefined) : undefined;
        if (!saved?.ok) return;
        acknowledged.push(id);
      }
    })();
    await until("some saves", () => acknowledged.length >= seen.length + 5);
    await Bun.sleep(round * 7);
    await served.stop("SIGKILL");
    await writing;
    expected = acknowledged;
  }
}, 120_000);

test("a server after kill -9 replaces the socket's file, and is another instance", async () => {
  const path = join(folder(), "s.sock");
  const instances = new Set<string>();
  for (let round = 0; round < 2; round++) {
    const served = await Served.start(["--socket", path]);
    const raw = await Raw.open(`unix://${path}`);
    instances.add((await raw.ok("stats")).instance);
    raw.close();
    await served.stop("SIGKILL");
    expect(existsSync(path)).toBe(true);
  }
  expect(instances.size).toBe(2);
});

test("the save interval saves without a client's asking", async () => {
  const served = await Served.start(["--save-interval", "0.2"]);
  const raw = await served.open();
  await raw.ok("create_collection", "c", { dim: 2 });
  await raw.ok("add", "c", row("a"));
  await until("the autosave", async () => !(await raw.ok("stats", "c")).unsaved_changes);
  raw.close();
  await served.stop("SIGKILL");
  expect(await idsIn(served.memory, "c")).toMatchObject({ ids: ["a"] });
});

// ---- supervised -----------------------------------------------------------------------------------------------------

test.skipIf(!hasProc)(
  "a supervised server that is killed comes back with what was saved, and ends in order (needs /proc)",
  async () => {
    const served = await Served.start(["--supervise", "--log-format", "json"]);
    let raw = await served.open();
    await raw.ok("create_collection", "c", { dim: 2 });
    await raw.ok("add", "c", row("saved"));
    await raw.ok("save", "c");
    for (let round = 0; round < 2; round++) {
      const { instance } = await raw.ok("stats");
      const [child] = childrenOf(served.pid);
      process.kill(child!, "SIGKILL");
      await raw.end();
      await until("the next server", async () => {
        try {
          raw = await served.open();
          return (await raw.ok("stats")).instance !== instance;
        } catch {
          return false;
        }
      });
      expect(await raw.ok("ids", "c")).toEqual(["saved"]);
    }
    await raw.ok("add", "c", row("at the end"));
    const [child] = childrenOf(served.pid);
    expect(await served.stop()).toBe(0);
    expect(isRunning(child!)).toBe(false);
    expect(existsSync(served.address.slice(7))).toBe(false);
    expect(await idsIn(served.memory, "c")).toMatchObject({ ids: ["saved", "at the end"] });
    expect(served.out.trim().split("\n")).toHaveLength(1);
    const events = served.err
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).event);
    expect(events.filter((event) => event === "crashed")).toHaveLength(2);
  },
  120_000,
);

test.skipIf(!hasProc)(
  "when the supervisor is killed its server ends in order and saves (needs /proc)",
  async () => {
    const served = await Served.start(["--supervise"]);
    const raw = await served.open();
    await raw.ok("create_collection", "c", { dim: 2 });
    await raw.ok("add", "c", row("a"));
    const [child] = childrenOf(served.pid);
    served.kill("SIGKILL");
    await raw.end(15_000);
    await until("the end of the server", () => !isRunning(child!));
    expect(existsSync(served.address.slice(7))).toBe(false);
    expect(await idsIn(served.memory, "c")).toMatchObject({ ids: ["a"] });
  },
  120_000,
);

test.skipIf(!hasProc)("Ctrl-C, which reaches supervisor and server alike, loses nothing (needs /proc)", async () => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const served = await Served.start(["--supervise"]);
    const raw = await served.open();
    await raw.ok("create_collection", "c", { dim: 2 });
    const ids = Array.from({ length: 20_000 }, (_, i) => `${i}`);
    await raw.ok("add", "c", { vectors: ids.map(() => [1, 0]), ids });
    const [child] = childrenOf(served.pid);
    process.kill(child!, signal);
    expect(await served.stop(signal)).toBe(0);
    expect((await idsIn(served.memory, "c")).ids).toHaveLength(20_000);
  }
});

test("a second signal while it saves only says so", async () => {
  const served = await Served.start();
  const raw = await served.open();
  await raw.ok("create_collection", "c", { dim: 2 });
  const ids = Array.from({ length: 20_000 }, (_, i) => `${i}`);
  await raw.ok("add", "c", { vectors: ids.map(() => [1, 0]), ids });
  served.kill("SIGINT");
  served.kill("SIGTERM");
  expect(await served.stop("SIGINT")).toBe(0);
  expect((await idsIn(served.memory, "c")).ids).toHaveLength(20_000);
});

test.skipIf(!hasProc)("it does not wait for a reader of its stdout (needs /proc)", async () => {
  const path = join(folder(), "s.sock");
  const command = `"${SVC}" serve --path "${join(folder(), "m")}" --socket "${path}" | true`;
  const child = Bun.spawn(["sh", "-c", command], { env: home, stdout: "ignore", stderr: "pipe" });
  started.push({ kill: () => child.kill("SIGKILL"), ended: child.exited } as unknown as Served);
  await until("the socket", () => existsSync(path));
  const raw = await Raw.open(`unix://${path}`);
  await raw.ok("ping");
  const pid = childrenOf(child.pid)[0] ?? child.pid;
  process.kill(pid, "SIGTERM");
  await child.exited;
});

test("a supervised server that can never start is not started again and again", async () => {
  const ended = await svc(emptyHome(), ["serve", "--supervise", "--socket", "./x.sock"]);
  expect(ended.code).toBe(1);
  expect(ended.err).toMatch(/^svc: .*svc login/m);
  expect(ended.err).not.toMatch(/starting it again/);
});

// ---- other commands on the same memory ------------------------------------------------------------------------------

test("svc mcp and svc mem see what the server saved, and a write of theirs waits for what it has not", async () => {
  const served = await Served.start();
  const raw = await served.open();
  await raw.ok("create_collection", "t", { embedder: "multigram" });
  await raw.ok("add_texts", "t", { texts: ["blue green deployment"], ids: ["deploy"] });
  await raw.ok("save", "t");
  const session = await Session.open(home, "--path", served.memory);
  const found = await session.call("svc_search", { collection: "t", query: "deployment" });
  expect(found.hits.map(({ id }: { id: string }) => id)).toEqual(["deploy"]);
  await raw.ok("add_texts", "t", { texts: ["a cat"], ids: ["cat"] });
  const search = await svc(home, ["mem", "ids", "t", "--path", served.memory, "--json"]);
  expect(JSON.parse(search.out).ids).toEqual(["deploy"]);
  // Beside it the other way round: this process holds a collection that the server wants to change.
  await raw.ok("create_collection", "ours", { dim: 2 });
  await raw.ok("save", "ours");
  await using store = await openLocal(served.memory);
  const ours = await store.openCollection("ours");
  await ours.add([[1, 0]], { ids: ["ours"] });
  const waiting = await served.open();
  waiting.send(ask("add", "ours", row("theirs"), 1), ask("ids", "ours", {}, 2));
  // 30 seconds each, at once: the only test that waits them out.
  const [add, refused] = await Promise.all([
    svc(home, ["mem", "add", "t", "a dog", "--path", served.memory]),
    waiting.next(45_000),
    raw.ok("ping"),
  ]);
  expect(add.code).toBe(1);
  expect(add.err).toMatch(new RegExp(`.*${served.pid}`));
  expect(refused).toEqual({
    ok: false,
    error: expect.stringMatching(new RegExp(`^TimeoutError: .*${process.pid}`)),
    code: "TimeoutError.locked",
    id: 1,
  });
  expect(await waiting.next()).toEqual({ ok: true, result: [], id: 2 });
  await ours.save();
  await waiting.ok("add", "ours", row("theirs"));
  await raw.ok("save", "t");
  await session.call("svc_add", { collection: "t", texts: ["a dog"], ids: ["dog"] });
  expect(await raw.ok("ids", "t")).toEqual(["deploy", "cat", "dog"]);
  await session.close();
  for (const client of [raw, waiting]) client.close();
  expect(await served.stop()).toBe(0);
  expect(await ours.ids()).toEqual(["ours", "theirs"]);
}, 60_000);

// ---- an embedder of the operator's ----------------------------------------------------------------------------------

test("an OpenAI-compatible endpoint embeds: by index, in batches, and its failures are the request's", async () => {
  let mood: "fine" | "short" | "500" | "html" | "few" | "text" = "fine";
  let requests = 0;
  using endpoint = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      requests++;
      const { model, input } = (await request.json()) as { model: string; input: string[] };
      if (new URL(request.url).pathname !== "/v1/embeddings" || model !== "tiny")
        return new Response("no", { status: 404 });
      if (mood === "500") return new Response("secret of the endpoint", { status: 500 });
      if (mood === "html") return new Response("<html>", { status: 200 });
      const data = input.map((text, index) => ({
        index,
        embedding: [text.includes("cat") ? 3 : 0, text.includes("dog") ? 4 : 0, 0.001],
      }));
      if (mood === "short") for (const item of data) item.embedding.pop();
      if (mood === "few") data.pop();
      if (mood === "text") (data[0] as { embedding: unknown }).embedding = ["1", "2", "x"];
      // The last first: the index counts, not the place.
      return Response.json({ data: data.reverse() });
    },
  });
  const served = await Served.start(["--embedder", `tiny=http://127.0.0.1:${endpoint.port}/v1#tiny`]);
  expect(requests).toBe(0);
  const raw = await served.open();
  await raw.ok("create_collection", "t", { embedder: "tiny" });
  expect(await raw.ok("stats", "t")).toMatchObject({
    dim: 3,
    embedder_profile: { model_id: "tiny", model_version: "tiny" },
  });
  const texts = [...Array.from({ length: 150 }, (_, i) => `nothing ${i}`), "a cat", "a dog"];
  const ids = texts.map((text) => text);
  await raw.ok("add_texts", "t", { texts, ids });
  expect((await raw.ok("search_text", "t", { text: "dog", top_k: 1 })).ids).toEqual(["a dog"]);
  expect((await raw.ok("search_text", "t", { text: "cat", top_k: 1 })).ids).toEqual(["a cat"]);
  // Unit length: the score of the same direction is 1.
  const { explain } = await raw.ok("search_text", "t", { text: "cat", top_k: 1, explain: true });
  expect(explain.dense_scores[0]).toBeCloseTo(1, 4);
  for (mood of ["short", "500", "html", "few", "text"] as const) {
    for (const [op, args] of [
      ["add_texts", { texts: ["x", "y"], ids: ["x", "y"] }],
      ["search_text", { text: "x" }],
    ] as const) {
      const { error } = await raw.ask(op, "t", args);
      expect(`${mood}: ${error}`).toMatch(/^\w+: (RuntimeError|OSError|ValueError): /);
      expect(error).not.toMatch(/secret|\n|internal/);
    }
  }
  mood = "fine";
  expect(await raw.ok("ids", "t")).toHaveLength(152);
  endpoint.stop(true);
  expect((await raw.ask("search_text", "t", { text: "cat" })).error).toMatch(/^(OSError|RuntimeError|TimeoutError): /);
  await raw.ok("ping");
  expect(await served.stop()).toBe(0);
}, 120_000);
