/** Connecting, authenticating, closing. */
import { expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { join } from "node:path";
import { connect } from "../../../src/remote/client/client.ts";
import { openRemoteVerbs } from "../../../src/remote/client/verbs.ts";
import { revokeToken } from "../../../src/remote/tokens/token-file.ts";
import { scratchDir } from "../../fixture.ts";
import { TestServer, until } from "../server/raw.ts";
import { Site } from "../server/site.ts";
import { answer, failure, healthy, ScriptedServer } from "./server.ts";

const TOKEN = "correct-horse";

test("a client talks over a Unix socket and over TCP", async () => {
  for (const where of [{}, { tcp: true } as const]) {
    using server = new ScriptedServer(healthy, where);
    await using client = await connect(server.address);
    await client.ping();
    expect(await client.collections()).toEqual(["a", "b"]);
    expect(await client.stats()).toMatchObject({ version: "0" });
    expect(server.ops).toEqual(["ping", "collections", "stats"]);
  }
});

test("what is not there is an OSError that says what to do", async () => {
  const path = join(scratchDir(), "none.sock");
  const absent = await failure(connect(path));
  expect(absent).toMatchObject({ type: "OSError" });
  expect(absent.message).toBe(
    `cannot connect to unix://${path} (ENOENT): there is no such socket; is \`svc serve\` running?`,
  );
  const server = new ScriptedServer(healthy, { tcp: true });
  server[Symbol.dispose]();
  const refused = await failure(connect(server.address));
  expect(refused).toMatchObject({ type: "OSError" });
  expect(refused.message).toContain(`${server.address} (ECONNREFUSED): nothing listens there`);
});

test("a token goes first, and again on a new connection", async () => {
  using server = new ScriptedServer(
    {
      onRequest(request, peer) {
        peer.reply(answer(request));
        if (request.op === "collections" && peer.number === 0) peer.end();
      },
    },
    { tcp: true },
  );
  await using client = await connect(server.address, { token: TOKEN });
  await client.collections();
  await client.ping();
  expect(server.requests[0]).toEqual({ op: "auth", args: { token: TOKEN } });
  expect(server.ops).toEqual(["auth", "collections", "auth", "ping"]);
});

test("a token from a function is read for each connection, and checked each time", async () => {
  using server = new ScriptedServer(
    {
      onRequest(request, peer) {
        peer.reply(answer(request));
        if (request.op === "collections") peer.end();
      },
    },
    { tcp: true },
  );
  let token: string | undefined = "first-token";
  await using client = await connect(server.address, { token: async () => token });
  await client.collections();
  token = "second-token";
  await client.collections();
  const sent = () => server.requests.filter(({ op }) => op === "auth").map(({ args }) => args);
  await until("both connections to end", () => server.requests.length === 4);
  expect(sent()).toEqual([{ token: "first-token" }, { token: "second-token" }]);
  token = "";
  expect((await failure(client.ping())).message).toContain("token has 0 bytes");
  expect(sent()).toHaveLength(2);
});

test("a token that is replaced while the connection is idle is the one of the next request", async () => {
  const dir = scratchDir();
  await using site = await Site.start({ dir });
  let token = await site.token("ada");
  await using client = await connect(site.server.address, { token: () => token });
  await client.ping();
  await revokeToken(dir, "ada");
  const refused = await failure(
    (async () => {
      for (;;) await client.ping();
    })(),
  );
  expect(refused).toMatchObject({ type: "PermissionError", reason: "unauthorized" });
  token = await site.token("grace");
  await client.ping();
});

test("a call of a verb leaves no listener on its signal", async () => {
  await using server = await TestServer.start();
  const { verbs, close } = await openRemoteVerbs({ address: server.address, local: () => Promise.reject() });
  const { signal } = new AbortController();
  await verbs.list_collections({} as never, { signal });
  await failure(verbs.count({ collection: "gone" } as never, { signal }));
  expect(getEventListeners(signal, "abort")).toEqual([]);
  const ended = AbortSignal.abort();
  expect(await failure(verbs.list_collections({} as never, { signal: ended }))).toMatchObject({
    type: "CancelledError",
  });
  await close();
});

test("a wrong token and a missing one are PermissionErrors without the token", async () => {
  using server = new ScriptedServer({
    onRequest({ op }, peer) {
      peer.fail(op === "auth" ? "unauthorized" : "unauthorized: send auth first");
      peer.end();
    },
  });
  const wrong = await failure(connect(server.address, { token: TOKEN }));
  expect(wrong).toMatchObject({ type: "PermissionError" });
  expect(wrong.message).not.toContain(TOKEN);

  await using client = await connect(server.address);
  const calls = [client.ping(), client.collections(), client.ping()];
  for (const error of await Promise.all(calls.map(failure))) {
    expect(error).toMatchObject({ type: "PermissionError" });
    expect(error.message).toContain("requires a token");
  }
  expect(server.peers.length).toBe(2);
});

test("a server that does not answer auth is a TimeoutError", async () => {
  using server = new ScriptedServer({});
  const error = await failure(connect(server.address, { token: TOKEN, timeoutMs: 30 }));
  expect(error).toMatchObject({ type: "TimeoutError" });
  expect(error.message).toContain("did not answer 'auth' in time");
});

test("a server that closes instead of answering auth is an OSError", async () => {
  using server = new ScriptedServer({ onRequest: (_, peer) => peer.terminate() });
  const error = await failure(connect(server.address, { token: TOKEN }));
  expect(error).toMatchObject({ type: "OSError" });
  expect(error.message).toContain("before it answered 'auth'");
  expect(server.peers.length).toBe(3);
});

test("a connection lost before auth was answered is tried again, and waiting requests are sent once", async () => {
  const closed = Promise.withResolvers<void>();
  using server = new ScriptedServer({
    onRequest(request, peer) {
      // Every second connection holds; the first that holds is closed when it is idle.
      if (peer.number % 2 === 0) return peer.terminate();
      peer.reply(answer(request));
      if (request.op === "collections") peer.end();
    },
    onClose(peer) {
      if (peer.number === 1) closed.resolve();
    },
  });
  await using client = await connect(server.address, { token: TOKEN });
  await client.collections();
  await closed.promise;
  await Bun.sleep(5);
  const collection = await client.openCollection("c");
  await collection.save();
  expect(server.peers.map(({ requests }) => requests.map(({ op }) => op))).toEqual([
    ["auth"],
    ["auth", "collections"],
    ["auth"],
    ["auth", "open_collection", "save"],
  ]);
});

test("a connection that is lost before auth went out is tried again", async () => {
  using server = new ScriptedServer({
    onOpen: (peer) => peer.number < 2 && peer.terminate(),
    onRequest: healthy.onRequest!,
  });
  await using client = await connect(server.address, { token: TOKEN });
  await client.ping();
  expect(server.ops).toEqual(["auth", "ping"]);
});

test.skipIf(process.platform !== "linux")(
  "a server that never accepts is a TimeoutError (needs Linux, which lets a full backlog wait)",
  async () => {
    const script = `const { port } = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
      require("node:fs").writeSync(1, port + "\\n");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`;
    const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
    try {
      const { value } = await child.stdout.getReader().read();
      const port = Number(new TextDecoder().decode(value));
      // The kernel accepts connections for the server, 513 with Bun's backlog of 512; those time out after `auth`.
      const behindAuth = await failure(connect(`127.0.0.1:${port}`, { token: TOKEN, timeoutMs: 50 }));
      expect(behindAuth).toMatchObject({ type: "TimeoutError" });
      const ignored = { data() {}, error() {}, connectError() {} };
      for (let i = 0; i < 600; i++) Bun.connect({ hostname: "127.0.0.1", port, socket: ignored }).catch(() => {});
      const error = await failure(connect(`127.0.0.1:${port}`, { timeoutMs: 50 }));
      expect(error).toMatchObject({ type: "TimeoutError" });
      expect(error.message).toStartWith(`no connection to tcp://127.0.0.1:${port} within 50 ms`);
    } finally {
      child.kill("SIGKILL");
      await child.exited;
    }
  },
);

test("the error of a server with too many connections goes to the first request", async () => {
  const full = "RuntimeError: this server has 4 connections, as many as it allows; try again later";
  using server = new ScriptedServer({
    onOpen(peer) {
      if (peer.number > 0) return;
      peer.fail(full);
      peer.end();
    },
    onRequest: healthy.onRequest!,
  });
  await using client = await connect(server.address);
  // Until the error has come for certain, and the connection is gone.
  await Bun.sleep(20);
  expect(await failure(client.ping())).toMatchObject({ type: "RuntimeError", message: full.slice(14) });
  await client.ping();
  expect(server.peers.length).toBe(2);

  using another = new ScriptedServer(server.script);
  await using eager = await connect(another.address);
  expect(await failure(eager.ping())).toMatchObject({ type: "RuntimeError" });
  using third = new ScriptedServer(server.script);
  expect(await failure(connect(third.address, { token: TOKEN }))).toMatchObject({ type: "RuntimeError" });
  expect(third.peers.length).toBe(1);
});

test("options outside their domain are refused", async () => {
  expect(await failure(connect("nowhere"))).toMatchObject({ type: "ValueError" });
  expect(await failure(connect("./s", { timeoutMs: Infinity }))).toMatchObject({ type: "ValueError" });
  expect(await failure(connect("./s", { requestTimeoutMs: 0 }))).toMatchObject({ type: "ValueError" });
  const long = await failure(connect("./s", { token: "secret".repeat(1000) }));
  expect(long.message).toContain("token has 6000 bytes");
  expect(long.message).not.toContain("secret");
});

test("close waits for what is under way and refuses what comes later", async () => {
  const asked = Promise.withResolvers<() => void>();
  const closed = Promise.withResolvers<void>();
  using server = new ScriptedServer({
    onRequest: (request, peer) => asked.resolve(() => peer.reply(answer(request))),
    onClose: () => closed.resolve(),
  });
  const client = await connect(server.address);
  const order: string[] = [];
  const ping = client.ping().then(() => order.push("ping"));
  const closing = client.close().then(() => order.push("close"));
  expect(await failure(client.ping())).toMatchObject({ type: "RuntimeError" });
  expect((await failure(client.collections())).message).toContain("this client is closed");
  (await asked.promise)();
  await Promise.all([ping, closing]);
  expect(order).toEqual(["ping", "close"]);
  await closed.promise;
  await client.close();
});

test("close waits for a reconnection too, and for its failure", async () => {
  const server = new ScriptedServer({
    onRequest(_, peer) {
      server[Symbol.dispose]();
      peer.terminate();
    },
  });
  const client = await connect(server.address);
  const ping = failure(client.ping());
  await client.close();
  expect(await ping).toMatchObject({ type: "OSError" });
});
