/** Many clients that connect at once: those with the token get in, silent ones take no place from them for long. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { errorLine } from "../../../src/errors.ts";
import { connect } from "../../../src/remote/client/client.ts";
import { ask, type Raw, TestServer, TOKEN, until } from "./raw.ts";

const RAW = JSON.stringify(join(import.meta.dir, "raw.ts"));

/**
 * A process whose clients connect at once, and send their tokens when all of them have connected and some time has
 * passed, as on a machine that is busy with so many. It prints the refusals, then keeps its connections.
 */
function crowd(address: string, count: number) {
  const script = `
    import { ask, Raw } from ${RAW};
    const auth = ask("auth", undefined, { token: process.argv[2] });
    const raws = await Promise.all(Array.from({ length: ${count} }, () => Raw.open(process.argv[1])));
    await Bun.sleep(500);
    for (const raw of raws) raw.send(auth);
    const replies = await Promise.all(raws.map(async (raw) => (await raw.next(30_000)) ?? "closed"));
    console.log(JSON.stringify(replies.filter((reply) => !reply?.ok)));
    setInterval(() => {}, 1000);`;
  const command = [process.execPath, "-e", script, address, TOKEN];
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "inherit" });
  const refused = async () => {
    const { value } = await child.stdout.getReader().read();
    return JSON.parse(new TextDecoder().decode(value));
  };
  return { refused: refused(), [Symbol.dispose]: () => child.kill("SIGKILL") };
}

/** Silent connections that are there once this resolves. */
async function silent(server: TestServer, count: number): Promise<Raw[]> {
  const raws: Raw[] = [];
  while (raws.length < count) raws.push(...(await Promise.all(Array.from({ length: 50 }, () => server.bare()))));
  return raws;
}

test("500 with the token get in at once, beside 300 silent ones, though the server is busy when they come", async () => {
  await using server = await TestServer.start({ tcp: true });
  const others = await silent(server, 300);
  // As large requests of others do, which keep the event loop: what arrives meanwhile lies unread.
  const busy = setInterval(() => Bun.sleepSync(150), 1);
  using one = crowd(server.address, 250);
  using two = crowd(server.address, 250);
  try {
    expect(await Promise.all([one.refused, two.refused])).toEqual([[], []]);
  } finally {
    clearInterval(busy);
  }
  const raw = await server.open();
  const connections = async () => (await raw.ok("stats")).connections;
  // Where the crowd comes late, the silent ones are the oldest of all, and fewer of them stay.
  const isThinned = async () => (await connections()).unauthenticated <= 128;
  await until("the oldest silent ones to be dropped", isThinned);
  const { unauthenticated, refused, dropped } = await connections();
  expect([refused, dropped]).toEqual([0, 300 - unauthenticated]);
  const closed = () => others.filter(({ isClosed }) => isClosed).length;
  await until("them to be closed", () => closed() === dropped);
}, 60_000);

test("where silent connections have every place, a new one gets that of the oldest, which gets the reason", async () => {
  await using server = await TestServer.start({ tcp: true, limits: { connectionsMax: 40, unauthenticatedMax: 40 } });
  const others = await silent(server, 50);
  for (let i = 0; i < 20; i++) await (await server.open()).ok("ping");
  expect(others.map(({ isClosed }) => isClosed)).toEqual(Array.from({ length: 50 }, (_, i) => i < 30));
  const error =
    "RuntimeError: the server has 40 connections, its limit, and this one did not authenticate: try again later";
  for (const raw of others.slice(0, 30)) expect(await raw.next()).toEqual({ ok: false, error });
});

test("a client that is dropped gets the reason", async () => {
  await using server = await TestServer.start({ tcp: true, limits: { unauthenticatedMax: 2 } });
  const why =
    /^RuntimeError: this connection did not authenticate within 2 seconds, and the server has more than 2 such connections, its limit: connect again and send auth at once$/;
  const others = [await server.bare(), await server.bare(), await server.bare()];
  const first = await others[0]!.next(15_000);
  expect(first).toEqual({ ok: false, error: expect.stringMatching(why) });
  // What it sends afterwards is read, so that no reset overtakes the reason, and not carried out.
  others[0]!.send(ask("auth", undefined, { token: TOKEN }), ask("ping"));
  expect(await others[0]!.next()).toBeUndefined();
  expect(server.logged("dropped").map(({ fields }) => fields?.why)).toEqual([
    "too many connections did not authenticate yet",
  ]);
});

test("the client's error has the reason of a server that has no place", async () => {
  await using server = await TestServer.start({ tcp: true, limits: { connectionsMax: 1 } });
  await server.open();
  const error = await connect(server.address, { token: TOKEN }).catch(errorLine);
  expect(error).toBe("RuntimeError: the server has 1 connections, its limit: try again later");
});
