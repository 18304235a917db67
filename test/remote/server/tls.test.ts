/** TLS of the server: what clients of any kind get, and what does not get in. */
import { expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LogEvent } from "../../../src/log.ts";
import { connect } from "../../../src/remote/client/client.ts";
import { PrivateAuthority } from "../../e2e/certificate.ts";
import { ask, frame, Honest, Raw, TestServer, TOKEN, until } from "./raw.ts";
import { fileOf, PairFiles, selfTls } from "./tls-server.ts";

const authority = new PrivateAuthority();
const pairOf = (...hosts: string[]) => authority.issue(...(hosts.length > 0 ? hosts : ["localhost", "127.0.0.1"]));
const portOf = (address: string) => Number(/:(\d+)(?:#|$)/.exec(address)![1]);
/** The same place without TLS. */
const plain = (address: string) => `tcp://127.0.0.1:${portOf(address)}`;

/** The fingerprint of the certificate that a new connection gets. */
async function fingerprint(address: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = {
    data() {},
    handshake(opened: Bun.Socket<unknown>) {
      const { raw } = (opened as never as { getPeerX509Certificate(): { raw: Buffer } }).getPeerX509Certificate();
      resolve(new Bun.CryptoHasher("sha256").update(raw).digest("base64url"));
      opened.terminate();
    },
  };
  await Bun.connect({ hostname: "127.0.0.1", port: portOf(address), tls: { rejectUnauthorized: false }, socket });
  return promise;
}

test("the address has the fingerprint of a certificate that is made here, and none of one in files", async () => {
  await using own = await TestServer.start({ tls: await selfTls() });
  expect(own.address).toMatch(/^tls:\/\/127\.0\.0\.1:\d+#SHA256:[\w-]{43}$/);
  expect(own.address).toEndWith(`#SHA256:${await fingerprint(own.address)}`);
  const raw = await own.open();
  expect(await raw.ok("ping")).toEqual({ pong: true });
  await using given = await TestServer.start({ tls: new PairFiles(pairOf()).tls() });
  expect(given.address).toMatch(/^tls:\/\/127\.0\.0\.1:\d+$/);
});

test("requests, replies, order and ends are those of plain TCP", async () => {
  await using server = await TestServer.start({ tls: await selfTls() });
  const raw = await server.open();
  await raw.ok("create_collection", "c", { dim: 2 });
  // In one packet, split anywhere, and large enough for many records.
  const many = Array.from({ length: 8 }, (_, i) => ask("ping", undefined, undefined, i));
  raw.send(...many);
  expect((await raw.many(8)).map(({ id }) => id)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  for (const byte of ask("ping", undefined, undefined, "split")) {
    raw.send(Buffer.from([byte]));
    await Bun.sleep(0);
  }
  expect(await raw.next()).toMatchObject({ ok: true, id: "split" });
  const ids = Array.from({ length: 20_000 }, (_, i) => `row-${i}`);
  expect(await raw.ok("add", "c", { ids, vectors: ids.map(() => [1, 0]) })).toEqual(ids);
  raw.send(ask("ids", "c"), ask("ping"));
  raw.shutdown();
  expect((await raw.next()).result).toHaveLength(20_000);
  expect(await raw.next()).toMatchObject({ result: { pong: true } });
  await raw.end();
});

test("a slow reader is waited for, not buffered without end, and others are served meanwhile", async () => {
  await using server = await TestServer.start({ tls: await selfTls(), limits: { readerTimeoutS: 3 } });
  const honest = await Honest.start(server);
  const raw = await server.open();
  await raw.ok("create_collection", "c", { dim: 2 });
  const ids = Array.from({ length: 12_500 }, (_, i) => `row-${"x".repeat(90)}${i}`);
  await server.store.collection("c").add(new Float32Array(25_000).fill(1), { ids });
  raw.pause();
  for (let i = 0; i < 40; i++) raw.send(ask("ids", "c", {}, i));
  await Bun.sleep(300);
  const held = (await (await server.open()).ok("stats")).buffered_bytes;
  expect(held).toBeLessThan(15_000_000); // of 50 MB of answers
  raw.resume();
  const replies = await raw.many(40);
  expect(replies.map(({ id }) => id)).toEqual(Array.from({ length: 40 }, (_, i) => i));
  raw.pause();
  for (let i = 0; i < 40; i++) raw.send(ask("ids", "c", {}, i));
  const isDropped = () => server.logged("dropped").some(({ fields }) => fields?.why === "it does not read its replies");
  await until("the reader to be dropped", isDropped);
  await honest.stop();
}, 60_000);

test("a client without TLS gets the reason, whatever it speaks", async () => {
  await using server = await TestServer.start({ tls: await selfTls() });
  const honest = await Honest.start(server);
  const error = /this port speaks TLS, and the client does not: connect to tls:/;
  await expect(connect(plain(server.address), { token: TOKEN })).rejects.toThrow(error);
  const http = await fetch(`http://127.0.0.1:${portOf(server.address)}/`).catch((failed) => failed);
  expect(http).toBeInstanceOf(Error);
  const { promise, resolve } = Promise.withResolvers<string>();
  let got = "";
  const socket = {
    data(_: unknown, chunk: Buffer) {
      got += chunk.toString("latin1");
    },
    close: () => resolve(got),
  };
  const one = await Bun.connect({ hostname: "127.0.0.1", port: portOf(server.address), socket });
  one.write("GET / HTTP/1.1\r\nHost: here\r\n\r\n");
  expect(await promise).toMatch(error);
  await until("the log to have it", () => server.logged("tls_failed").length >= 3);
  await honest.stop();
});

test("a client that speaks TLS or HTTP to a plain port is refused, and the log says why", async () => {
  await using server = await TestServer.start({ tcp: true });
  const address = `tls://127.0.0.1:${portOf(server.address)}`;
  const error = await connect(address, { token: TOKEN, tls: { ca: authority.cert } }).catch((failed) => failed);
  expect(error.message).toContain("do not connect without TLS");
  expect(error.message).not.toContain("tcp://");
  const raw = await server.bare();
  raw.send(Buffer.from("GET / HTTP/1.1\r\n\r\n"));
  expect(await raw.next()).toEqual({ ok: false, error: "bad request" });
  const why = () => server.logged("bad_request").map(({ fields }) => fields?.why);
  await until("both to be logged", () => why().length === 2);
  expect(why()).toEqual([expect.stringContaining("it speaks TLS"), expect.stringContaining("it speaks HTTP")]);
});

test("a connection that does not finish its handshake counts as unauthenticated, and is closed in time", async () => {
  const limits = { authTimeoutS: 1, unauthenticatedMax: 4 };
  await using server = await TestServer.start({ tls: await selfTls(), limits });
  const honest = await Honest.start(server);
  const silent = await Raw.open(plain(server.address));
  const half = await Raw.open(plain(server.address));
  // The header of a record that never comes.
  half.send(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]));
  await silent.end(6_000);
  await half.end(6_000);
  const why = server.logged("dropped").map(({ fields }) => fields?.why);
  expect(why.filter((one) => one === "it did not authenticate in time")).toHaveLength(2);
  const flood = await Promise.all(Array.from({ length: 60 }, () => Raw.open(plain(server.address))));
  const raw = await server.open();
  expect((await raw.ok("stats")).connections.unauthenticated).toBeGreaterThan(0);
  await Promise.all(flood.map((one) => one.end(10_000)));
  await until("all to be gone", async () => (await raw.ok("stats")).connections.open === 2);
  await honest.stop();
}, 120_000);

test("silent connections do not stay because others complete their handshakes", async () => {
  const limits = { authTimeoutS: 120, unauthenticatedMax: 4 };
  await using server = await TestServer.start({ tls: await selfTls(), limits });
  const silent = await Promise.all(Array.from({ length: 30 }, () => Raw.open(plain(server.address))));
  let isOver = false;
  const others = (async () => {
    while (!isOver) (await server.open()).close();
  })();
  const closed = () => silent.filter(({ isClosed }) => isClosed).length;
  await until("those beyond the limit to be closed", () => closed() >= 26, 40_000).finally(() => {
    isOver = true;
  });
  await others;
}, 60_000);

test("500 that authenticate after their handshake get in, though the server is busy when they come", async () => {
  await using server = await TestServer.start({ tls: await selfTls() });
  // Bun carries on five handshakes in one turn of the event loop, and each takes two: with these turns they take more
  // than four seconds, twice as long as a client has.
  const busy = setInterval(() => Bun.sleepSync(20), 1);
  const script = `
    const { ask, Raw } = await import(${JSON.stringify(join(import.meta.dir, "raw.ts"))});
    const [address, token] = process.argv.slice(1);
    const auth = ask("auth", undefined, { token });
    const one = async () => {
      const raw = await Raw.open(address);
      raw.send(auth);
      return (await raw.next(30_000)) ?? "closed";
    };
    const replies = await Promise.all(Array.from({ length: 250 }, one));
    console.log(JSON.stringify(replies.filter((reply) => !reply?.ok)));
    process.exit(0);`;
  const crowd = () => Bun.spawn([process.execPath, "-e", script, server.address, TOKEN], { stderr: "inherit" });
  try {
    const refused = [crowd(), crowd()].map(({ stdout }) => new Response(stdout).text());
    expect(await Promise.all(refused)).toEqual(["[]\n", "[]\n"]);
  } finally {
    clearInterval(busy);
  }
  expect(server.logged("dropped")).toEqual([]);
}, 60_000);

test("a server without a place says so over TLS", async () => {
  await using server = await TestServer.start({ tls: await selfTls(), limits: { connectionsMax: 1 } });
  await server.open();
  await expect(connect(server.address, { token: TOKEN })).rejects.toThrow("the server has 1 connections, its limit");
});

test("bytes that are not TLS, after the handshake, end that connection alone", async () => {
  await using server = await TestServer.start({ tls: await selfTls() });
  const honest = await Honest.start(server);
  const { promise, resolve } = Promise.withResolvers<void>();
  const events = { data() {}, close: () => resolve(), error() {} };
  const bare = await Bun.connect({ hostname: "127.0.0.1", port: portOf(server.address), socket: events });
  const shaken = Promise.withResolvers<void>();
  const upper = { ...events, handshake: () => shaken.resolve() };
  const [raw] = bare.upgradeTLS({ tls: { rejectUnauthorized: false }, socket: upper });
  await shaken.promise;
  raw.write(Buffer.from("17030300200000000000000000000000000000000000000000000000000000000000000000", "hex"));
  await promise;
  await until("the log to have it", () => server.logged("tls_failed").length === 1);
  expect(server.logged("internal_error")).toEqual([]);
  await honest.stop();
});

test("oversized and malformed frames end as without TLS", async () => {
  await using server = await TestServer.start({ tls: await selfTls() });
  const early = await server.bare();
  early.send(frame("x".repeat(5000)));
  expect(await early.next()).toEqual({ ok: false, error: "bad request" });
  await early.end();
  const raw = await server.open();
  raw.send(frame("x", 0x7fffffff));
  expect(await raw.next()).toEqual({ ok: false, error: "bad request" });
  await raw.end();
});

test("a changed certificate is what new connections get, and open ones stay", async () => {
  const events: LogEvent[] = [];
  const files = new PairFiles(pairOf());
  await using server = await TestServer.start({ tls: files.tls((event) => void events.push(event)) });
  const raw = await server.open();
  const before = await fingerprint(server.address);
  const next = pairOf("localhost");
  files.write(next);
  await until("the new one to be shown", async () => (await fingerprint(server.address)) !== before);
  expect(await raw.ok("ping")).toEqual({ pong: true });
  const after = await fingerprint(server.address);
  expect(events.map(({ level, event }) => `${level} ${event}`)).toEqual(["info certificate_read"]);

  writeFileSync(files.key, pairOf().key);
  await until("the warning", () => events.length === 2);
  expect(events[1]).toMatchObject({ level: "warn", event: "certificate_refused" });
  expect(events[1]!.message).toContain(`--tls-key: '${files.key}' is not the key of the first certificate in`);
  rmSync(files.cert);
  await until("the next warning", () => events.length === 3);
  expect(events[2]!.message).toContain(`there is no file '${files.cert}'`);
  files.write(authority.expired("localhost"));
  await until("the last warning", () => events.length === 4);
  expect(events[3]!.message).toContain("expired on 2021-01-01");
  expect(await fingerprint(server.address)).toBe(after);
  files.write(next);
  await until("it to be read", () => events.length === 5);
  expect(await raw.ok("ping")).toEqual({ pong: true });
}, 120_000);

test("with a client CA, a client needs a certificate of it and the token", async () => {
  const other = new PrivateAuthority("Another Root");
  const pair = new PairFiles(pairOf());
  await using server = await TestServer.start({ tls: pair.tls(undefined, fileOf(authority.cert)) });
  const how = (tls: { cert?: string; key?: string }, token = TOKEN) =>
    connect(server.address, { token, tls: { ca: authority.cert, ...tls } });
  await using client = await how(authority.issueClient("ada"));
  await client.ping();
  await expect(how(authority.issueClient("ada"), "wrong")).rejects.toThrow("unauthorized");
  await expect(how({})).rejects.toThrow(/refuses this client's certificate, or requires one/);
  for (const wrong of [other.issueClient("eve"), authority.issue("not-for-clients"), authority.expired("late")]) {
    await expect(how(wrong)).rejects.toThrow(/--client-ca/);
  }
  const bare = await Raw.open(server.address);
  bare.send(ask("auth", undefined, { token: TOKEN }));
  expect(await bare.next()).toBeUndefined();
  const why = server.logged("tls_failed").map(({ fields }) => fields?.why);
  expect(why).toContain("PEER_DID_NOT_RETURN_A_CERTIFICATE");
});
