/** Several requests on one connection, and what becomes of them when it is lost. */
import { expect, test } from "bun:test";
import { type ConnectOptions, connect } from "../../../src/remote/client/client.ts";
import { encodeFrame } from "../../../src/remote/wire/frame.ts";
import { answer, failure, healthy, isWho, type Peer, type Script, ScriptedServer } from "./server.ts";

async function opened(script: Script, options: ConnectOptions = {}) {
  const server = new ScriptedServer(script);
  const client = await connect(server.address, options);
  const collection = await client.openCollection("c");
  return { server, client, collection };
}

/** A script that answers `open_collection`, and leaves everything else to the test. */
function script(onRequest: (op: string, peer: Peer) => void): Script {
  return {
    onRequest(request, peer) {
      if (request.op === "open_collection") peer.reply(answer(request));
      else onRequest(request.op, peer);
    },
  };
}

const ROW: [number[][], { ids: string[] }] = [[[1, 2]], { ids: ["x"] }];

test("replies are matched in the order of the requests, however they are cut", async () => {
  const { server, client, collection } = await opened({
    onRequest({ op, args }, peer) {
      const { ids } = (args ?? {}) as { ids?: string[] };
      const bytes = encodeFrame(JSON.stringify({ ok: true, result: op === "upsert" ? ids : null, id: "not needed" }));
      peer.raw(bytes.subarray(0, 3));
      setTimeout(() => {}, 0);
      peer.raw(bytes.subarray(3));
    },
  });
  const calls = Array.from({ length: 2000 }, (_, i) => collection.upsert([[i, 0]], { ids: [`id-${i}`] }));
  expect(await Promise.all(calls)).toEqual(Array.from({ length: 2000 }, (_, i) => [`id-${i}`]));
  expect(server.peers.length).toBe(1);
  await client.close();
  server[Symbol.dispose]();
});

test("an error of one request is that of a local call and leaves the others alone", async () => {
  const { server, client, collection } = await opened(
    script((op, peer) => {
      if (op === "add") peer.fail("KeyError: 'x' exists");
      else if (op === "save") peer.fail("OSError: the disk is full");
      else if (op === "stats") peer.fail("something else");
      else peer.reply(null);
    }),
  );
  const calls = [collection.add(...ROW), collection.save(), collection.stats(), client.ping()];
  const results = await Promise.allSettled(calls);
  expect(results.map((result) => (result.status === "rejected" ? String(result.reason) : result.value))).toEqual([
    "KeyError: 'x' exists",
    "OSError: the disk is full",
    "RuntimeError: something else",
    undefined,
  ]);
  await client.close();
  server[Symbol.dispose]();
});

test("a frame larger than the system's buffers is sent in parts, and the next frames follow", async () => {
  const { server, client, collection } = await opened(healthy);
  const floats = new Float32Array(4_000_000).map((_, i) => i % 97);
  const ids = Array.from({ length: 2_000_000 / 20 }, (_, i) => `${i}`);
  const [added] = await Promise.all([collection.add(floats, { ids }), client.ping(), collection.save()]);
  expect(added).toEqual(ids);
  expect(server.ops).toEqual(["open_collection", "stats", "add", "ping", "save"]);
  const { vectors } = server.requests[2]!.args as { vectors: { f32: string; shape: number[] } };
  expect(vectors.shape).toEqual([ids.length, 40]);
  expect(Buffer.from(vectors.f32, "base64").equals(Buffer.from(floats.buffer))).toBe(true);
  await client.close();
  server[Symbol.dispose]();
});

test("a connection that was closed while idle is replaced without an error", async () => {
  const closed = Promise.withResolvers<void>();
  const { server, client, collection } = await opened({
    onRequest(request, peer) {
      peer.reply(answer(request));
      if (peer.number === 0) peer.end();
    },
    onClose: () => closed.resolve(),
  });
  await closed.promise;
  await Bun.sleep(5);
  expect(await collection.add(...ROW)).toEqual(["x"]);
  expect(server.peers.length).toBe(2);
  await client.close();
  server[Symbol.dispose]();
});

test("a read is sent again, a change that was sent is not", async () => {
  const { server, client, collection } = await opened(
    script((op, peer) => {
      // All seven are here before the connection goes.
      if (peer.number === 0 && op === "stats") peer.terminate();
      else if (peer.number > 0) peer.reply(answer({ op, args: { ids: ["x"] } }));
    }),
  );
  const results = await Promise.allSettled([
    collection.search([1, 2]),
    collection.add(...ROW),
    collection.ids(),
    collection.save(),
    collection.delete(["x"]),
    client.ping(),
    collection.stats(),
  ]);
  expect(results.map(({ status }) => status)).toEqual([
    "fulfilled",
    "rejected",
    "fulfilled",
    "rejected",
    "rejected",
    "fulfilled",
    "fulfilled",
  ]);
  const { reason } = results[1] as PromiseRejectedResult;
  expect(reason).toMatchObject({ type: "OSError" });
  expect(reason.message).toContain("was lost after 'add'");
  expect(reason.message).toContain("whether it was applied is not known");
  expect(server.peers[1]!.requests.map(({ op }) => op)).toEqual(["search", "ids", "ping", "stats"]);
  await client.close();
  server[Symbol.dispose]();
});

test("a change that was not sent in full is sent again, and so are the requests after it", async () => {
  const { server, client, collection } = await opened({
    onBytes(peer) {
      // The first connection reads a little of the large frame and goes.
      if (peer.number > 0 || peer.bytes < 10_000) return false;
      peer.terminate();
      return true;
    },
    onRequest: healthy.onRequest!,
  });
  const ids = Array.from({ length: 1000 }, (_, i) => `${i}`);
  const [added, saved] = await Promise.all([collection.add(new Float32Array(8_000_000), { ids }), collection.save()]);
  expect(added).toEqual(ids);
  expect(saved).toBe(1);
  const ops = server.requests.filter((request) => !isWho(request)).map(({ op }) => op);
  expect(ops).toEqual(["open_collection", "add", "save"]);
  expect(server.peers.length).toBe(2);
  await client.close();
  server[Symbol.dispose]();
});

test("a read is not repeated for ever", async () => {
  const { server, client } = await opened(script((_, peer) => peer.terminate()));
  const error = await failure(client.ping());
  expect(error).toMatchObject({ type: "OSError" });
  expect(error.message).toContain("lost 3 times before 'ping' was answered");
  expect(server.peers.length).toBe(3);
  await client.close();
  server[Symbol.dispose]();
});

test("a server that stopped for good is an OSError for all waiting calls", async () => {
  const { server, client, collection } = await opened(
    script((_, peer) => {
      server[Symbol.dispose]();
      peer.terminate();
    }),
  );
  const errors = await Promise.all([client.ping(), collection.ids(), collection.search([1])].map(failure));
  for (const error of errors) expect(error.message).toContain("cannot connect to unix://");
  await client.close();
});

test("half a reply is a lost connection", async () => {
  const { server, client, collection } = await opened(
    script((op, peer) => {
      if (peer.number > 0) return peer.reply(answer({ op }));
      peer.raw(encodeFrame('{"ok":true,"result":null}').subarray(0, 9));
      peer.end();
    }),
  );
  expect(await failure(collection.save())).toMatchObject({ type: "OSError" });
  await client.ping();
  await client.close();
  server[Symbol.dispose]();
});

test("what is not a reply is an OSError, and the next request has a new connection", async () => {
  const garbage: (Buffer | string)[] = [
    "HTTP/1.1 400 Bad Request\r\n\r\n",
    Buffer.from([0, 0, 0, 0]),
    Buffer.from([0xff, 0xff, 0xff, 0xff]),
    encodeFrame("not json"),
    encodeFrame("[]"),
    encodeFrame("null"),
    encodeFrame('{"ok":1}'),
    encodeFrame('{"ok":false}'),
    encodeFrame('{"ok":false,"error":7}'),
    Buffer.from([0, 0, 0, 4, 0x22, 0xff, 0xfe, 0x22]),
  ];
  for (const bytes of garbage) {
    const { server, client } = await opened(
      script((op, peer) => (peer.number === 0 ? peer.raw(bytes) : peer.reply(answer({ op })))),
    );
    const error = await failure(client.ping());
    expect(error).toMatchObject({ type: "OSError" });
    expect(error.message).toContain("answered 'ping' with something that is not a reply");
    expect(await client.collections()).toEqual(["a", "b"]);
    expect(server.peers.length).toBe(2);
    await client.close();
    server[Symbol.dispose]();
  }
});

test("a reply without a request ends the connection, not the client", async () => {
  const { server, client } = await opened(
    script((op, peer) => {
      peer.reply(answer({ op }));
      if (peer.number === 0) peer.reply("one too many");
    }),
  );
  await client.ping();
  await client.ping();
  await client.ping();
  expect(server.peers.length).toBe(2);
  await client.close();
  server[Symbol.dispose]();
});

test("a frame that the server refuses before all of it came fails with the server's error", async () => {
  let refused = false;
  const { server, client, collection } = await opened({
    onBytes(peer) {
      if (refused || peer.bytes < 10_000) return refused && peer.number === 0;
      refused = true;
      peer.fail("bad request");
      return true;
    },
    onRequest: healthy.onRequest!,
  });
  const ids = ["a", "b"];
  await collection.add(...ROW);
  const error = await failure(collection.add(new Float32Array(100_000), { ids }));
  expect(error).toMatchObject({ type: "ValueError" });
  expect(error.message).toContain("bad request");
  await client.ping();
  await client.close();
  server[Symbol.dispose]();
});

test("a request that takes too long is a TimeoutError and ends the connection", async () => {
  const { server, client, collection } = await opened(
    script((op, peer) => {
      if (peer.number > 0) peer.reply(answer({ op }));
    }),
    { requestTimeoutMs: 40 },
  );
  const error = await failure(collection.save());
  expect(error).toMatchObject({ type: "TimeoutError" });
  expect(error.message).toBe("no answer to 'save' within 40 ms; whether it was applied is not known");
  await client.ping();
  expect(server.peers.length).toBe(2);
  await client.close();
  server[Symbol.dispose]();
});
