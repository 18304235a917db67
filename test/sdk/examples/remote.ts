/** The same program on a memory directory of this process and on one behind `svc serve`. */
import { strict as assert } from "node:assert";
import {
  type AtLeast,
  type CollectionApi,
  type ConnectOptions,
  connect,
  type ReadOptions,
  type ReadRow,
  type RemoteCollection,
  type RemoteTelys,
  type SearchOptions,
  type ServerStats,
  Store,
  type StoreApi,
} from "svc";

/** Works on both. */
async function remember(store: StoreApi): Promise<string[]> {
  const notes: CollectionApi = await store.createCollection("shared", { embedder: "bigram" });
  await notes.upsertTexts(["we deploy on Tuesdays"], { ids: ["deploy"] });
  // With a database, another machine that gets this generation sees the text.
  const saved: AtLeast = { atLeast: await notes.save() };
  assert.deepEqual(await notes.ids(undefined, saved), ["deploy"]);
  const textsOnly: ReadOptions = { withMetadata: false };
  const [row]: ReadRow[] = await notes.get(["deploy"], textsOnly);
  assert.deepEqual(row, { id: "deploy", found: true, text: "we deploy on Tuesdays" });
  const { hits } = await notes.searchHits("deploy", { topK: 1 });
  assert.deepEqual(
    hits.map(({ text }) => text),
    ["we deploy on Tuesdays"],
  );
  const options: SearchOptions = { topK: 1 };
  return (await notes.searchText("deploy", options)).ids;
}

const address = process.env.EXAMPLE_ADDRESS; // unix:///run/svc.sock, or host:port with a token
if (address) {
  const options: ConnectOptions = { timeoutMs: 5000 };
  await using server: RemoteTelys = await connect(address, options);
  await server.ping();
  const stats: ServerStats = await server.stats();
  assert.ok(stats.uptime_s >= 0);
  assert.deepEqual(await remember(server), ["deploy"]);
  const notes: RemoteCollection = await server.openCollection("shared");
  assert.deepEqual(await notes.ids(), ["deploy"]);
} else {
  await using store = await Store.open();
  assert.deepEqual(await remember(store), ["deploy"]);
}
