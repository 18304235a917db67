/** `svc serve` of the executable is restarted while clients read and write: none gets an error, and nothing is lost. */
import { beforeAll, expect, test } from "bun:test";
import { chmodSync, copyFileSync, existsSync, mkdtempSync, renameSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { duplicate } from "../../ffi/system/process.ts";
import { connect, type RemoteTelys } from "../../src/remote/client/client.ts";
import { freePort } from "../free-port.ts";
import { ask, Raw, until } from "../remote/server/raw.ts";
import { type Home, SVC, signedIn } from "./home.ts";
import { servers } from "./served.ts";

const TOKEN = "sesame-4712";
const start = servers();
let home: Home;

beforeAll(async () => {
  home = await signedIn();
});

const folder = () => mkdtempSync(join(tmpdir(), "svc-restart-"));

/** Starts a server; resolves once it listens. */
async function serve(flags: string[], exe: string | string[] = SVC, fd?: number) {
  const words = [
    ...(typeof exe === "string" ? [exe] : [...exe, SVC]),
    "serve",
    "--path",
    join(folder(), "memory"),
    "--json",
    ...flags,
  ];
  const { server, address, log } = await start(words, { ...home, SVC_ACCESS_TOKEN: TOKEN }, fd);
  const starts = () => log.text.split("listening on ").length - 1;
  const restart = async (pid = server.pid) => {
    const before = starts();
    process.kill(pid, "SIGUSR2");
    await until("the next server", () => starts() > before);
  };
  return { server, address, log, restart };
}

/** Writes, saves and reads until it is stopped. @returns the ids that were written */
async function work(client: RemoteTelys, name: string, state: { isOver: boolean }): Promise<string[]> {
  const notes = await client.openCollection("notes");
  const ids: string[] = [];
  while (!state.isOver) {
    const id = `${name}-${ids.length}`;
    await notes.addTexts([`The kettle ${id} is broken.`], { ids: [id] });
    ids.push(id);
    if (ids.length % 3 === 0) await notes.save();
    expect((await notes.searchText("kettle", { topK: 3 })).ids.length).toBeGreaterThan(0);
    await client.callTool("svc_add", { collection: "team", texts: ["x"], ids: [id] });
  }
  await notes.save();
  return ids;
}

/** Connects for each request, and never tries again. */
async function knock(address: string, state: { isOver: boolean }): Promise<number> {
  let count = 0;
  for (; !state.isOver; count++) {
    using raw = await Raw.open(address);
    raw.send(ask("ping"));
    await until("a reply or the end", () => raw.replies.length > 0 || raw.isClosed);
    const [reply] = raw.replies;
    expect(reply?.ok === true || reply?.code === "closing").toBe(true);
  }
  return count;
}

const TRANSPORTS: [string, () => Promise<string[]>][] = [
  ["a Unix socket", async () => ["--socket", join(folder(), "svc.sock")]],
  ["TCP", async () => ["--host", "127.0.0.1", "--port", String(freePort())]],
  ["TLS", async () => ["--host", "127.0.0.1", "--port", "0", "--tls", "self"]],
];

test.each(TRANSPORTS)("no client gets an error over %s, and no change is lost", async (_, flags) => {
  const { server, address, restart } = await serve(await flags());
  const isUnix = address.startsWith("unix");
  const token = isUnix ? undefined : TOKEN;
  const open = () => connect(address, { token, timeoutMs: 10_000 });
  const clients = await Promise.all(Array.from({ length: 6 }, open));
  await clients[0]!.createCollection("notes", { embedder: "multigram" });
  await clients[0]!.callTool("svc_add", { collection: "team", texts: ["first"], ids: ["first"] });
  const state = { isOver: false };
  const works = clients.map((client, i) => work(client, `c${i}`, state));
  const knocking = isUnix ? knock(address, state) : Promise.resolve(1);
  const all = Promise.all([knocking, ...works]);
  for (let i = 0; i < 3; i++) {
    await Promise.race([Bun.sleep(300), all]);
    await Promise.race([restart(), all]);
  }
  await Promise.race([Bun.sleep(300), all]);
  state.isOver = true;
  const [knocks, ...ids] = await all;
  expect(knocks).toBeGreaterThan(0);
  const expected = ids.flat().sort();
  const stats = await clients[0]!.stats();
  expect(stats.pid).toBe(server.pid);
  expect([...(await (await clients[0]!.openCollection("notes")).ids())].sort()).toEqual(expected);
  expect([...(await (await clients[0]!.openCollection("team")).ids())].sort()).toEqual([...expected, "first"]);
  await Promise.all(clients.map((client) => client.close()));
  if (isUnix) expect(statSync(address.slice(7)).mode & 0o777).toBe(0o600);
  server.kill("SIGTERM");
  expect(await server.exited).toBe(0);
  if (isUnix) expect(existsSync(address.slice(7))).toBe(false);
});

test("the program that is now at its path takes over, and one that does not run is refused", async () => {
  const bin = join(folder(), "svc");
  copyFileSync(SVC, bin);
  chmodSync(bin, 0o755);
  const { server, address, log, restart } = await serve(["--socket", join(folder(), "svc.sock")], bin);
  await using client = await connect(address);
  const put = (text: string) => {
    writeFileSync(`${bin}.new`, text, { mode: 0o755 });
    renameSync(`${bin}.new`, bin);
  };
  const { instance } = await client.stats();
  put("#!/bin/sh\nexit 3\n");
  server.kill("SIGUSR2");
  await until("the refusal", () => log.text.includes("no restart: "));
  expect(log.text).toContain(`'${bin} --version' ended with exit code 3; this server goes on`);
  await client.ping();
  copyFileSync(SVC, `${bin}.new`);
  chmodSync(`${bin}.new`, 0o755);
  renameSync(`${bin}.new`, bin);
  await restart();
  expect(await client.stats()).toMatchObject({ instance, pid: server.pid });
});

test("a supervised server is restarted through its supervisor", async () => {
  const { server, address, restart } = await serve(["--socket", join(folder(), "svc.sock"), "--supervise"]);
  await using client = await connect(address);
  const { pid } = await client.stats();
  expect(pid).not.toBe(server.pid);
  await restart();
  expect((await client.stats()).pid).toBe(pid);
  server.kill("SIGTERM");
  expect(await server.exited).toBe(0);
});

/** Starts a server with a listening socket as descriptor 3, as systemd does. */
async function activated(fd: number, flags: string[]) {
  const script = 'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@"';
  return serve(flags, ["sh", "-c", script, "sh"], fd);
}

/** A listening socket that this process does not accept from. Bun removes a path that it listened at. */
function opened(where: { unix: string } | { hostname: string; port: number }): number {
  const at = "unix" in where ? { unix: `${where.unix}.new` } : where;
  const listener = Bun.listen({ ...at, socket: { data() {} } } as never) as unknown as { fd: number; stop(): void };
  if ("unix" in where) renameSync(`${where.unix}.new`, where.unix);
  const fd = duplicate(listener.fd);
  listener.stop();
  return fd;
}

test("a socket that a service manager has opened is used, at a restart too, and its file stays", async () => {
  const path = join(folder(), "svc.sock");
  const listening = opened({ unix: path });
  const { server, address, restart } = await activated(listening, ["--socket", path]);
  expect(address).toBe(`unix://${path}`);
  {
    await using client = await connect(address);
    const { instance } = await client.stats();
    await restart();
    expect(await client.stats()).toMatchObject({ instance, pid: server.pid });
  }
  server.kill("SIGTERM");
  expect(await server.exited).toBe(0);
  expect(existsSync(path)).toBe(true);
  // A client that comes while no server runs waits for the next one.
  const next = await activated(listening, ["--socket", path]);
  await (await connect(next.address)).close();
});

test("a socket that the flags do not name is refused: TCP would need no token", async () => {
  const port = freePort();
  const listening = opened({ hostname: "127.0.0.1", port });
  const { address } = await activated(listening, ["--host", "127.0.0.1", "--port", String(port)]);
  await using unauthenticated = await connect(address);
  await expect(unauthenticated.stats()).rejects.toThrow("requires a token");
  for (const flags of [
    ["--socket", join(folder(), "svc.sock")],
    ["--host", "127.0.0.1", "--port", String(port + 1)],
  ])
    await expect(activated(listening, flags)).rejects.toThrow("make the flags and the unit of the socket agree");
});
