/** A server that vanishes without closing its connections, as seen through a proxy that stops forwarding. */
import { expect, test } from "bun:test";
import { connect } from "../../../src/remote/client/client.ts";
import { openRemoteVerbs } from "../../../src/remote/client/verbs.ts";
import { TestServer, TOKEN } from "../server/raw.ts";

type Peer = { other: Bun.Socket<Peer> | undefined; early: Buffer[] };

/** Forwards bytes until it is stalled; connections stay open, and new ones are accepted, as by a dead network. */
function proxyTo(address: string) {
  const port = Number(address.split(":").at(-1));
  const state = { isStalled: false, passed: 0, accepted: 0 };
  const forward = (socket: Bun.Socket<Peer>, bytes: Buffer) => {
    if (state.isStalled) return;
    state.passed += bytes.length;
    if (socket.data.other) socket.data.other.write(bytes);
    else socket.data.early.push(Buffer.from(bytes));
  };
  const close = (socket: Bun.Socket<Peer>) => void (state.isStalled || socket.data.other?.end());
  const listener = Bun.listen<Peer>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      async open(socket) {
        state.accepted++;
        socket.data = { other: undefined, early: [] };
        const handlers = { data: forward, close };
        const data = { other: socket, early: [] };
        const other = await Bun.connect<Peer>({ hostname: "127.0.0.1", port, data, socket: handlers });
        socket.data.other = other;
        for (const bytes of socket.data.early) other.write(bytes);
      },
      data: forward,
      close,
    },
  });
  return { state, address: `127.0.0.1:${listener.port}`, [Symbol.dispose]: () => listener.stop(true) };
}

const LIMITS = { token: TOKEN, timeoutMs: 1_000, silenceMs: 200, searchMs: 300 };

test("calls to a server that has vanished fail, and say whether they may have been applied", async () => {
  await using server = await TestServer.start({ tcp: true });
  using proxy = proxyTo(server.address);
  const client = await connect(proxy.address, LIMITS);
  await client.createCollection("notes", { dim: 2 });
  proxy.state.isStalled = true;
  const change = client.callTool("svc_add", { collection: "team", texts: ["x"] });
  await expect(change).rejects.toMatchObject({ type: "OSError", reason: "outcome_unknown" });
  await expect(change).rejects.toThrow(/nothing came for .*whether it was applied is not known/);
  await expect(client.collections()).rejects.toThrow(/did not answer 'auth' in time/);
  // Once the network is back the same client works.
  proxy.state.isStalled = false;
  await client.ping();
  await client.close();
});

test("the verbs of svc mcp --remote end as well", async () => {
  await using server = await TestServer.start({ tcp: true });
  using proxy = proxyTo(server.address);
  const local = () => Promise.reject(new Error("not here"));
  const { verbs } = await openRemoteVerbs({ address: proxy.address, ...LIMITS, local });
  await verbs.list_collections({} as never, {});
  proxy.state.isStalled = true;
  await expect(verbs.add({ collection: "team", texts: ["x"] } as never, {})).rejects.toThrow("is not known");
});

test("a server that works on a long call is left to it", async () => {
  await using server = await TestServer.start({ tcp: true });
  const [slow, fast] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { store } = server;
  const collections = store.collections.bind(store);
  store.collections = async () => {
    fast.resolve();
    await slow.promise;
    return collections();
  };
  using proxy = proxyTo(server.address);
  await using client = await connect(proxy.address, LIMITS);
  const call = client.collections();
  await fast.promise;
  while (proxy.state.accepted < 4) await Bun.sleep(10);
  slow.resolve();
  expect(await call).toEqual([]);
});

test.each([
  ["silenceMs", 0],
  ["searchMs", -1],
  ["silenceMs", Number.NaN],
])("%s of %p is refused", async (name, value) => {
  await expect(connect("127.0.0.1:1", { [name]: value })).rejects.toThrow(name);
});
