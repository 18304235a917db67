/** A save fails where acknowledged changes were lost: which `stats` requests that needs, and the caller's error. */
import { expect, test } from "bun:test";
import { parseAddress } from "../../../src/remote/client/address.ts";
import { Channel } from "../../../src/remote/client/channel.ts";
import { RemoteCollection } from "../../../src/remote/client/collection.ts";
import type { Request } from "../../../src/remote/wire/protocol.ts";
import { answer, failure, isWho, type Peer, type Script, ScriptedServer } from "./server.ts";

const STARTED_ANEW =
  "the server was started again after unsaved changes of collection 'c': they are lost unless it ended in good order; check which rows are there before you go on";
const SAVE_FAILED =
  "a save failed after unsaved changes of collection 'c' and may have dropped them: check which rows are there before you go on";

/** Rows that do not fit the system's buffers. */
const LARGE: [Float32Array, { ids: string[] }] = [
  new Float32Array(8_000_000),
  { ids: Array.from({ length: 1000 }, (_, i) => `${i}`) },
];

/** The server's answer to who it is; an Error is an error reply. */
type Who = { instance?: string; lost_saves?: number } | Error;

/** A server whose identity a test changes, and whose connections it ends. */
async function started({
  who = { instance: "1", lost_saves: 0 } as Who,
  handle = undefined as Handler | undefined,
} = {}) {
  const state = { who };
  const closed = new Map<Peer, () => void>();
  const script: Script = {
    onRequest(request, peer) {
      if (handle?.(request, peer)) return;
      if (!isWho(request)) return peer.reply(answer(request));
      if (state.who instanceof Error) peer.fail(state.who.message, request.id);
      else peer.reply({ version: "0", ...state.who });
    },
    onClose: (peer) => closed.get(peer)?.(),
  };
  const server = new ScriptedServer(script);
  const channel = await Channel.open({ address: parseAddress(server.address), timeoutMs: 1000 });
  const collection = new RemoteCollection(channel, "c", 2);
  return {
    state,
    server,
    channel,
    collection,
    /** Changes one row. */
    add: () => collection.add([[1, 2]], { ids: ["x"] }),
    /** Ends the connection as a server does, and returns when the client has seen it. */
    async cut() {
      const peer = server.peers.at(-1)!;
      const { promise, resolve } = Promise.withResolvers<void>();
      closed.set(peer, resolve);
      peer.end();
      await promise;
      await Bun.sleep(5);
    },
    /** The operations of each connection. */
    ops: () => server.peers.map(({ requests }) => requests.map(({ op }) => op).join(" ")),
    async [Symbol.asyncDispose]() {
      await channel.close();
      server[Symbol.dispose]();
    },
  };
}
/** Answers a request in another way; false where it does not. */
type Handler = (request: Request, peer: Peer) => boolean;

/** Answers the first request of that operation with an error. */
function failingOnce(op: string, error: string, code?: string): Handler {
  let isDone = false;
  return (request, peer) => {
    if (isDone || request.op !== op) return false;
    isDone = true;
    peer.fail(error, request.id, code);
    return true;
  };
}

async function expectOsError(call: Promise<unknown>, message: string): Promise<void> {
  const error = await failure(call);
  expect(error).toMatchObject({ type: "OSError", message });
}

test("one stats request precedes the first change of a connection, in the same packet, and nothing else", async () => {
  let packets = 0;
  await using it = await started();
  it.server.script.onBytes = () => {
    packets++;
    return false;
  };
  await it.collection.search([1, 2]);
  await it.collection.save();
  expect(it.ops()).toEqual(["search save"]);
  packets = 0;
  await it.add();
  expect(packets).toBe(1);
  await it.collection.delete(["x"]);
  await it.collection.addTexts(["t"]);
  await it.collection.compact();
  await it.add();
  await it.collection.save();
  expect(it.ops()).toEqual(["search save stats add delete add_texts compact add save"]);
  expect(it.server.requests[2]).toEqual({ op: "stats", id: "who" });
});

test("no call waits for the reply to stats", async () => {
  const order: string[] = [];
  await using it = await started({
    handle({ op }) {
      order.push(op);
      return false;
    },
  });
  await Promise.all([it.add(), it.collection.search([1, 2]), it.collection.save()]);
  expect(order).toEqual(["stats", "add", "search", "save"]);
});

test("a save over another connection sends stats once more, and the same server is trusted", async () => {
  await using it = await started({ who: { instance: "1", lost_saves: 3 } });
  await it.add();
  await it.cut();
  await it.collection.save();
  await it.collection.save();
  await it.add();
  await it.collection.compact();
  expect(it.ops()).toEqual(["stats add", "save stats save stats add compact"]);
});

test.each(["save", "compact"] as const)("a %s does not pass over changes that went with a server", async (op) => {
  await using it = await started();
  await it.add();
  await it.cut();
  it.state.who = { instance: "2", lost_saves: 0 };
  // What this server was given is saved; what the other one had is not there.
  await it.add();
  await expectOsError(it.collection[op](), STARTED_ANEW);
  await it.collection[op]();
  await it.add();
  await it.collection[op]();
  expect(it.ops()).toEqual(["stats add", `stats add ${op} stats ${op} add ${op}`]);
});

test.each(["save", "compact"] as const)("a %s does not pass over changes that a failed save dropped", async (op) => {
  await using it = await started();
  await it.add();
  await it.cut();
  await it.collection.search([1, 2]);
  it.state.who = { instance: "1", lost_saves: 1 };
  await expectOsError(it.collection[op](), SAVE_FAILED);
  await it.collection[op]();
  expect(it.ops()).toEqual(["stats add", `search ${op} stats ${op}`]);
});

test("a change that was already saved needs no stats", async () => {
  await using it = await started();
  // The save is sent before the change is acknowledged.
  await Promise.all([it.add(), it.collection.save()]);
  await it.cut();
  it.state.who = { instance: "2" };
  await it.collection.save();
  expect(it.ops()).toEqual(["stats add save", "save"]);
});

test("a save that was sent with its changes and moved on without them does not pass over them", async () => {
  await using it = await started();
  let isAcknowledged = false;
  it.server.script.onBytes = (peer) => {
    // In the middle of the large change, after the acknowledgement of the small one.
    if (peer.number > 0 || !isAcknowledged) return false;
    it.state.who = { instance: "2" };
    peer.terminate();
    return true;
  };
  const small = it.add().then(() => {
    isAcknowledged = true;
  });
  const large = it.collection.add(...LARGE);
  const save = failure(it.collection.save());
  await small;
  expect(await large).toEqual(LARGE[1].ids);
  expect(await save).toMatchObject({ type: "OSError", message: STARTED_ANEW });
  expect(it.ops()).toEqual(["stats add", "stats add save stats"]);
});

test.each([
  ["nothing", {}],
  ["that the op is unknown", new Error("ValueError: unknown op 'stats'")],
] as [string, Who][])("a server that never sends an instance counts as the same; it says %s", async (_, who) => {
  await using it = await started({ who });
  await it.add();
  await it.cut();
  await it.collection.save();
  await it.add();
  await it.collection.save();
  expect(it.ops()).toEqual(["stats add", "save stats stats add save"]);
});

test("a server with an instance is another one than a server without", async () => {
  for (const [one, other] of [
    [{ instance: "1" }, {}],
    [{}, { instance: "1" }],
  ] as [Who, Who][]) {
    await using it = await started({ who: one });
    await it.add();
    await it.cut();
    it.state.who = other;
    await expectOsError(it.collection.save(), STARTED_ANEW);
    await it.collection.save();
  }
});

test("where the stats request of a save fails, the save does, and the next one sends it again", async () => {
  await using it = await started();
  await it.add();
  await it.cut();
  it.state.who = new Error("RuntimeError: not now");
  expect(await failure(it.collection.save())).toMatchObject({ type: "RuntimeError", message: "not now" });
  it.state.who = { instance: "2" };
  await expectOsError(it.collection.save(), STARTED_ANEW);
  await it.collection.save();
});

test("a save that fails in the server, over the connection of the changes, has reported them", async () => {
  await using it = await started({ handle: failingOnce("save", "OSError: the disk is full") });
  await it.add();
  await expectOsError(it.collection.save(), "the disk is full");
  await it.cut();
  it.state.who = { instance: "2" };
  await it.collection.save();
  expect(it.ops()).toEqual(["stats add save", "save"]);
});

test("a save that fails over another connection has reported the changes where the server is the same", async () => {
  for (const instance of ["1", "2"]) {
    await using it = await started({ handle: failingOnce("save", "OSError: the disk is full") });
    await it.add();
    await it.cut();
    it.state.who = { instance, lost_saves: 1 };
    await expectOsError(it.collection.save(), "the disk is full");
    if (instance === "2") await expectOsError(it.collection.save(), STARTED_ANEW);
    await it.collection.save();
  }
});

test("after a save that is not done, or whose reply is lost, the next save checks again", async () => {
  const errors: [Handler, type: string, isLost?: true][] = [
    [failingOnce("save", "TimeoutError: another process holds the lock"), "TimeoutError"],
    [failingOnce("save", "OSError: the disk is full", "OSError.disk_full"), "OSError"],
    [
      ({ op }, peer) => {
        if (op !== "save" || peer.number > 0) return false;
        peer.terminate();
        return true;
      },
      "OSError",
      true,
    ],
  ];
  for (const [handle, type, isLost] of errors) {
    await using it = await started({ handle });
    await it.add();
    expect(await failure(it.collection.save())).toMatchObject({ type });
    if (!isLost) await it.cut();
    it.state.who = { instance: "2" };
    await expectOsError(it.collection.save(), STARTED_ANEW);
    await it.collection.save();
  }
});

test("the changes of another collection are its own", async () => {
  await using it = await started();
  const other = new RemoteCollection(it.channel, "d", 2);
  await other.add([[1, 2]], { ids: ["x"] });
  await it.cut();
  it.state.who = { instance: "2" };
  await it.collection.save();
  expect((await failure(other.save())).message).toContain("collection 'd'");
});

test("a change that is sent on a new connection is preceded by stats of that connection", async () => {
  await using it = await started();
  it.server.script.onBytes = (peer) => {
    if (peer.number > 0 || peer.bytes < 10_000) return false;
    peer.terminate();
    return true;
  };
  await it.collection.add(...LARGE);
  await it.collection.save();
  expect(it.ops()[1]).toBe("stats add save");
});

test("the error of a server with too many connections goes to the change, not to the stats before it", async () => {
  const full = "RuntimeError: this server has 4 connections, as many as it allows; try again later";
  await using it = await started({
    handle(_, peer) {
      if (peer.number > 0) return false;
      peer.fail(full);
      peer.end();
      return true;
    },
  });
  expect(await failure(it.add())).toMatchObject({ type: "RuntimeError", message: full.slice(14) });
  await it.add();
});
