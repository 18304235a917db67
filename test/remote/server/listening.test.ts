/** Where a server listens: the socket's file and its folder, TCP addresses, and what is there already. */
import { expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { LogEvent } from "../../../src/log.ts";
import { type RunningServer, type ServeOptions, serve } from "../../../src/remote/server/server.ts";
import { scratchDir } from "../../fixture.ts";
import { Honest, openLocal, Raw, TestServer, TOKEN } from "./raw.ts";
import { selfTls } from "./tls-server.ts";

/** Serves an empty directory. */
async function start(options: Omit<ServeOptions, "store">): Promise<RunningServer> {
  return serve({ ...options, store: await openLocal(scratchDir()) });
}

/** The error of a start that must fail. */
async function refusal(options: Omit<ServeOptions, "store">): Promise<Error & { type?: string }> {
  let server: RunningServer;
  try {
    server = await start(options);
  } catch (error) {
    return error as Error;
  }
  await server.stop();
  throw new Error("it listens");
}

const mode = (path: string) => lstatSync(path).mode & 0o7777;

/** A socket file without a server, as a killed one leaves it. */
async function stale(path: string): Promise<void> {
  const script = `Bun.listen({ unix: process.argv[1], socket: { data() {} } }); process.kill(process.pid, "SIGKILL");`;
  await Bun.spawn([process.execPath, "-e", script, path], { stderr: "ignore" }).exited;
  expect(lstatSync(path).isSocket()).toBe(true);
}

test("the socket's file has mode 0600 from its first moment, whatever the umask", async () => {
  const folder = scratchDir();
  const path = join(folder, "s.sock");
  const umask = process.umask(0);
  try {
    const starting = start({ socketPath: path });
    const seen = new Set<number>();
    let isOver = false;
    starting.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const stat = lstatSync(path, { throwIfNoEntry: false });
      if (stat) seen.add(stat.mode & 0o7777);
      await Bun.sleep(0);
    }
    const server = await starting;
    seen.add(mode(path));
    expect([...seen]).toEqual([0o600]);
    expect(process.umask()).toBe(0);
    expect(server.address).toBe(`unix://${path}`);
    await server.stop();
    expect(existsSync(path)).toBe(false);
  } finally {
    process.umask(umask);
  }
});

test("a file that a killed server left is replaced", async () => {
  const path = join(scratchDir(), "s.sock");
  await stale(path);
  const server = await start({ socketPath: path });
  const raw = await Raw.open(server.address);
  expect(await raw.ok("ping")).toEqual({ pong: true });
  raw.close();
  await server.stop();
});

test("a server that answers is not replaced or disturbed", async () => {
  const server = await TestServer.start();
  const honest = await Honest.start(server);
  const path = server.address.slice("unix://".length);
  for (let i = 0; i < 3; i++) {
    const error = await refusal({ socketPath: path });
    expect(error).toMatchObject({ type: "OSError" });
    expect(error.message).toContain("another server answers");
  }
  await honest.stop();
  await server.stop();
});

test("of many that start at once on one path exactly one serves", async () => {
  const path = join(scratchDir(), "s.sock");
  await stale(path);
  const starts = await Promise.allSettled(Array.from({ length: 6 }, () => start({ socketPath: path })));
  const servers = starts.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  expect(servers).toHaveLength(1);
  for (const one of starts) if (one.status === "rejected") expect(one.reason).toMatchObject({ type: "OSError" });
  const raw = await Raw.open(`unix://${path}`);
  await raw.ok("ping");
  raw.close();
  await servers[0]!.stop();
  expect(existsSync(path)).toBe(false);
});

test("what is not a socket is not replaced", async () => {
  const folder = scratchDir();
  const [file, dir, link, gone] = ["file", "dir", "link", "gone"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
    string,
  ];
  writeFileSync(file, "mine");
  mkdirSync(dir);
  symlinkSync(file, link);
  symlinkSync(join(folder, "nowhere"), gone);
  for (const path of [file, dir, link, gone]) {
    const error = await refusal({ socketPath: path });
    expect(error).toMatchObject({ type: "OSError" });
    expect(error.message).toContain("not a socket");
  }
  expect(readFileSync(file, "utf8")).toBe("mine");
});

test("a path is as long as the system allows, and one byte more is refused", async () => {
  const folder = scratchDir();
  const most = process.platform === "darwin" ? 103 : 107;
  const name = (bytes: number) => join(folder, "x".repeat(bytes - folder.length - 1));
  const server = await start({ socketPath: name(most) });
  const raw = await Raw.open(server.address);
  await raw.ok("ping");
  raw.close();
  await server.stop();
  const error = await refusal({ socketPath: name(most + 1) });
  expect(error).toMatchObject({ type: "ValueError" });
  expect(error.message).toContain(`${most + 1}`);
});

test("a path that a link makes too long is refused as well, or works", async () => {
  const folder = scratchDir();
  const long = join(folder, "y".repeat(100));
  mkdirSync(long, { mode: 0o700 });
  symlinkSync(long, join(folder, "l"));
  let server: RunningServer;
  try {
    server = await start({ socketPath: join(folder, "l/s.sock") });
  } catch (error) {
    expect(error).toMatchObject({ type: expect.stringMatching(/^(ValueError|OSError)$/) });
    expect((error as Error).message).not.toContain("another server");
    return;
  }
  const raw = await Raw.open(`unix://${join(folder, "l/s.sock")}`);
  await raw.ok("ping");
  raw.close();
  await server.stop();
});

test("a folder that others can change is refused; a sticky one is warned of", async () => {
  for (const bits of [0o777, 0o757]) {
    const folder = join(scratchDir(), "open");
    mkdirSync(folder);
    chmodSync(folder, bits);
    expect(await refusal({ socketPath: join(folder, "s.sock") })).toMatchObject({ type: "PermissionError" });
  }
  const sticky = join(scratchDir(), "sticky");
  mkdirSync(sticky);
  chmodSync(sticky, 0o1777);
  const events: LogEvent[] = [];
  const server = await start({ socketPath: join(sticky, "s.sock"), log: (event) => void events.push(event) });
  expect(events.filter(({ event }) => event === "shared_folder")).toHaveLength(1);
  await server.stop();
});

test("a link to a folder that others can change is refused", async () => {
  const base = scratchDir();
  mkdirSync(join(base, "open"));
  chmodSync(join(base, "open"), 0o777);
  symlinkSync(join(base, "open"), join(base, "link"));
  expect(await refusal({ socketPath: join(base, "link/s.sock") })).toMatchObject({ type: "PermissionError" });
});

test("folders that are missing are made, 0700", async () => {
  const base = scratchDir();
  const umask = process.umask(0);
  try {
    const server = await start({ socketPath: join(base, "a/b/s.sock") });
    expect(mode(join(base, "a/b"))).toBe(0o700);
    await server.stop();
  } finally {
    process.umask(umask);
  }
});

test("a file that replaced ours meanwhile is kept at the end", async () => {
  const path = join(scratchDir(), "s.sock");
  const first = await start({ socketPath: path });
  unlinkSync(path);
  const second = await start({ socketPath: path });
  await first.stop();
  const raw = await Raw.open(second.address);
  await raw.ok("ping");
  raw.close();
  await second.stop();
  expect(existsSync(path)).toBe(false);
  const third = await start({ socketPath: path });
  renameSync(path, `${path}.old`);
  writeFileSync(path, "mine");
  await third.stop();
  expect(readFileSync(path, "utf8")).toBe("mine");
});

test("a server whose file or folder was removed still ends in order, and saves", async () => {
  for (const isFolder of [false, true]) {
    const folder = join(scratchDir(), "f");
    const path = join(folder, "s.sock");
    const dir = scratchDir();
    const store = await openLocal(dir);
    const server = await serve({ store, socketPath: path });
    const raw = await Raw.open(server.address);
    await raw.ok("create_collection", "c", { dim: 1 });
    if (isFolder) rmSync(folder, { recursive: true });
    else unlinkSync(path);
    expect(await server.stop()).toEqual(new Map());
    await raw.end();
    expect(await store.collections()).toEqual(["c"]);
    await store.close();
  }
});

// ---- TCP ------------------------------------------------------------------------------------------------------------

const WRONG: [string, Omit<ServeOptions, "store">, string][] = [
  ["no transport", {}, "ValueError"],
  ["both", { socketPath: "/tmp/x.sock", host: "127.0.0.1", port: 0, accessToken: "x" }, "ValueError"],
  ["a socket and a port", { socketPath: "/tmp/x.sock", port: 0 }, "ValueError"],
  ["a host without a port", { host: "127.0.0.1", accessToken: "x" }, "ValueError"],
  ["a port without a host", { port: 0, accessToken: "x" }, "ValueError"],
  ["TCP without a token", { host: "127.0.0.1", port: 0 }, "PermissionError"],
  ["TCP with an empty token", { host: "127.0.0.1", port: 0, accessToken: "" }, "PermissionError"],
];

test.each(WRONG)("%s is refused", async (_, options, type) => {
  expect(await refusal(options)).toMatchObject({ type });
});

test("a port that is taken is an OSError, and a stop frees it", async () => {
  const server = await start({ host: "127.0.0.1", port: 0, accessToken: TOKEN });
  const port = Number(server.address.split(":").at(-1));
  expect(port).toBeGreaterThan(0);
  const error = await refusal({ host: "127.0.0.1", port, accessToken: TOKEN });
  expect(error).toMatchObject({ type: "OSError" });
  expect(error.message).toContain(`${port}`);
  await server.stop();
  await (await start({ host: "127.0.0.1", port, accessToken: TOKEN })).stop();
});

test("a host that is not of this machine is an OSError", async () => {
  expect(await refusal({ host: "192.0.2.1", port: 0, accessToken: TOKEN })).toMatchObject({ type: "OSError" });
});

/** Whether this machine has IPv6 on its loopback. */
const hasIpv6 = (() => {
  try {
    Bun.listen({ hostname: "::1", port: 0, socket: { data() {} } }).stop(true);
    return true;
  } catch {
    return false;
  }
})();

test.skipIf(!hasIpv6)("IPv6 has brackets in its address (needs ::1)", async () => {
  const events: LogEvent[] = [];
  const server = await start({ host: "::1", port: 0, accessToken: TOKEN, log: (event) => void events.push(event) });
  expect(server.address).toMatch(/^tcp:\/\/\[::1\]:\d+$/);
  const raw = await Raw.open(server.address);
  await raw.ok("auth", undefined, { token: TOKEN });
  await raw.ok("ping");
  raw.close();
  expect(events.filter(({ level }) => level === "warn")).toEqual([]);
  await server.stop();
});

test("with TLS an address beyond loopback is not warned of; a socket has no TLS", async () => {
  const events: LogEvent[] = [];
  const tls = await selfTls();
  const log = (event: LogEvent) => void events.push(event);
  const server = await start({ host: "0.0.0.0", port: 0, accessToken: TOKEN, tls, log });
  expect(events.filter(({ level }) => level === "warn")).toEqual([]);
  await server.stop();
  expect(await refusal({ socketPath: join(scratchDir(), "s.sock"), tls })).toMatchObject({ type: "ValueError" });
  expect(await refusal({ host: "127.0.0.1", port: 0, tls })).toMatchObject({ type: "PermissionError" });
});

test("an address beyond loopback is warned of, loopback is not", async () => {
  for (const [host, warnings] of [
    ["0.0.0.0", 1],
    ["127.0.0.1", 0],
    ["localhost", 0],
  ] as const) {
    const events: LogEvent[] = [];
    const server = await start({ host, port: 0, accessToken: TOKEN, log: (event) => void events.push(event) });
    const warned = events.filter(({ event }) => event === "beyond_loopback");
    expect(warned).toHaveLength(warnings);
    for (const { message } of warned) expect(message).toContain("give --tls self, or --tls-cert and --tls-key");
    await server.stop();
  }
});
