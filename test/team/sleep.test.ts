/** A laptop that sleeps in the middle of a call: its svc is stopped and continued, and the network may have forgotten it. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { servers } from "../e2e/served.ts";
import { Client } from "../mcp/client.ts";
import { TcpProxy } from "../remote/proxy.ts";
import { until } from "../remote/server/raw.ts";
import { SDK_1 } from "./makers.ts";
import { type Entry, joined, Office } from "./office.ts";

const start = servers();
let office: Office;
let proxy: TcpProxy;
let asleep: Entry;
let awake: Entry;

beforeAll(async () => {
  office = await Office.open(start);
  const invitations = [await office.invitation("ada"), await office.invitation("ben")];
  await office.start();
  [asleep, awake] = (await Promise.all(invitations.map(joined))) as [Entry, Entry];
  proxy = new TcpProxy(office.port);
  const place = (word: string) => word.replace(`127.0.0.1:${office.port}`, `127.0.0.1:${proxy.port}`);
  asleep = { ...asleep, args: asleep.args.map(place) };
});
afterAll(() => proxy[Symbol.dispose]());

const row = (id: string) => ({ collection: "team", texts: [`The kettle ${id} is broken.`], ids: [id] });
const KETTLE = { collection: "team", query: "which kettle is broken", top_k: 1 };
const stored = () => office.audited().flatMap(({ ids = [], failed }) => (failed ? [] : ids));

/** Opens the laptop's client, and stops its process while the server's answer to a write is on its way. */
async function stoppedInCall(id: string) {
  const client = new Client(asleep.env, [asleep.command, ...asleep.args]);
  await client.request("initialize", { protocolVersion: "2025-06-18", capabilities: {} });
  expect((await client.call("svc_add", row(`${id}-before`))).isError).toBe(false);
  proxy.hold();
  const written = client.call("svc_add", row(id));
  const searched = client.call("svc_search", KETTLE);
  await until("the write to be carried out and answered", () => proxy.held > 0 && stored().includes(id));
  client.process.kill("SIGSTOP");
  // The others go on.
  const other = await SDK_1.open(awake);
  expect((await other.call("svc_add", row(`${id}-other`))).isError).toBe(false);
  await other.close();
  return { client, written, searched };
}

test("its calls are answered once it wakes, and the row is there once", async () => {
  const { client, written, searched } = await stoppedInCall("short");
  proxy.release();
  client.process.kill("SIGCONT");
  expect(await written).toEqual({ text: expect.stringContaining('"added":1'), isError: false });
  expect((await searched).isError).toBe(false);
  expect(await client.close()).toBe(0);
  expect(stored().filter((id) => id === "short")).toHaveLength(1);
});

test("where the network has forgotten its connection, the write says that it may be done, and searches are sent again", async () => {
  const { client, written, searched } = await stoppedInCall("long");
  proxy.reset();
  client.process.kill("SIGCONT");
  const { text, isError } = await written;
  expect([text, isError]).toEqual([expect.stringMatching(/^OSError: .*whether it was applied is not known/), true]);
  expect((await searched).isError).toBe(false);
  // The client can find out, and goes on.
  const { text: got } = await client.call("svc_get", { collection: "team", ids: ["long"] });
  expect(JSON.parse(got).rows[0].found).toBe(true);
  expect((await client.call("svc_add", row("long-after"))).isError).toBe(false);
  expect(await client.close()).toBe(0);
});
