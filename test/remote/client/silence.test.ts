/** A server that vanishes without closing its connections, as seen through a proxy that stops forwarding. */
import { expect, test } from "bun:test";
import { connect } from "../../../src/remote/client/client.ts";
import { openRemoteVerbs } from "../../../src/remote/client/verbs.ts";
import { TcpProxy } from "../proxy.ts";
import { TestServer, TOKEN } from "../server/raw.ts";

const proxyTo = (address: string) => new TcpProxy(Number(address.split(":").at(-1)));
const through = ({ port }: TcpProxy) => `127.0.0.1:${port}`;

const LIMITS = { token: TOKEN, timeoutMs: 1_000, silenceMs: 200, searchMs: 300 };

test("calls to a server that has vanished fail, and say whether they may have been applied", async () => {
  await using server = await TestServer.start({ tcp: true });
  using proxy = proxyTo(server.address);
  const client = await connect(through(proxy), LIMITS);
  await client.createCollection("notes", { dim: 2 });
  proxy.isStalled = true;
  const change = client.callTool("svc_add", { collection: "team", texts: ["x"] });
  await expect(change).rejects.toMatchObject({ type: "OSError", reason: "outcome_unknown" });
  await expect(change).rejects.toThrow(/nothing came for .*whether it was applied is not known/);
  await expect(client.collections()).rejects.toThrow(/did not answer 'auth' in time/);
  // Once the network is back the same client works.
  proxy.isStalled = false;
  await client.ping();
  await client.close();
});

test("the verbs of svc mcp --remote end as well", async () => {
  await using server = await TestServer.start({ tcp: true });
  using proxy = proxyTo(server.address);
  const local = () => Promise.reject(new Error("not here"));
  const { verbs } = await openRemoteVerbs({ address: through(proxy), ...LIMITS, local });
  await verbs.list_collections({} as never, {});
  proxy.isStalled = true;
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
  await using client = await connect(through(proxy), LIMITS);
  const call = client.collections();
  await fast.promise;
  while (proxy.accepted < 4) await Bun.sleep(10);
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
