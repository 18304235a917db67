/** The proxy between a client and a PostgreSQL server: what each side sees of a network that fails. */
import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import type { SQL } from "bun";
import { scratchDir } from "../fixture.ts";
import { until } from "../remote/server/raw.ts";
import { add, client, clientWithTable, commit, failure, isSilent, LOST, rows } from "./client.ts";
import { hasServers, NEEDS } from "./installed.ts";
import { PostgresServer } from "./postgres.ts";
import { TcpProxy, type Trigger } from "./proxy.ts";

describe.skipIf(!hasServers())("a proxy", () => {
  let server: PostgresServer;
  let proxy: TcpProxy;
  /** Connects through the proxy. */
  let sql: SQL;
  /** Connects to the server. */
  let direct: SQL;

  beforeAll(async () => {
    server = await PostgresServer.start({ dir: join(scratchDir(), "server") });
  });

  beforeEach(async () => {
    direct = client(server.url);
    await direct`drop table if exists t`;
    proxy = await TcpProxy.start(server.port);
    sql = await clientWithTable(server.urlAt(proxy.port));
  });

  test(`passes what both sides send, also much at once, and counts connections ${NEEDS}`, async () => {
    const bytes = crypto.getRandomValues(new Uint8Array(65_536));
    const large = Buffer.concat(Array.from({ length: 128 }, () => bytes));
    await sql`update t set bytes = ${large}`;
    const [row] = await sql`select bytes from t`;
    expect(large.equals(row.bytes)).toBe(true);
    expect(await rows(client(server.urlAt(proxy.port)))).toEqual([1]);
    expect([proxy.accepted, proxy.open]).toEqual([2, 2]);
    await sql.close();
    await until("the end of a connection", () => proxy.open === 1);
    expect(proxy.accepted).toBe(2);
  });

  test(`cuts all connections, and accepts others ${NEEDS}`, async () => {
    const pending = failure(sql`select pg_sleep(60)`);
    await until("the query", async () => {
      const [{ n }] =
        await direct`select count(*)::int as n from pg_stat_activity where query like 'select pg_sleep(60)%' and state = 'active'`;
      return n === 1;
    });
    proxy.cut();
    expect(await pending).toBe(LOST);
    expect(await rows(sql)).toEqual([1]);
    expect(proxy.accepted).toBe(2);
  });

  test.each<[string, Partial<Trigger>, boolean]>([
    ["before a COMMIT", { sends: /commit/i, passes: false }, false],
    ["after a COMMIT", { sends: /commit/i, passes: true }, true],
    ["before the answer to a COMMIT", { from: "server", sends: /COMMIT/, passes: false }, true],
    ["before some bytes", { sends: 10, passes: false }, false],
    ["after some bytes", { sends: 10, passes: true }, false],
  ])(`cuts %s ${NEEDS}`, async (_, trigger, isCommitted) => {
    const cut = proxy.once({ action: "cut", sends: 0, passes: false, ...trigger });
    expect(await failure(commit(sql, 2))).toBe(LOST);
    await cut;
    if (isCommitted) await until("the commit", async () => (await rows(direct)).length === 2);
    // The lock of a session that has ended is free; a row that it did not commit can be added.
    expect(await failure(add(direct, 2))).toBe(isCommitted ? "23505" : undefined);
    await commit(sql, 3);
    expect(await rows(direct)).toEqual([1, 2, 3]);
  });

  test(`is silent, and passes all of it later ${NEEDS}`, async () => {
    proxy.silence();
    const adding = add(sql, 2);
    const connecting = rows(client(server.urlAt(proxy.port)));
    expect(await isSilent(adding)).toBe(true);
    expect(await isSilent(connecting)).toBe(true);
    expect(proxy.open).toBe(2);
    expect(await rows(direct)).toEqual([1]);
    proxy.pass();
    await adding;
    await connecting;
    expect(await rows(direct)).toEqual([1, 2]);
  });

  test(`is silent after a COMMIT, which has been made ${NEEDS}`, async () => {
    const silent = proxy.once({ sends: /commit/i, passes: true, action: "silence" });
    const committing = commit(sql, 2);
    await silent;
    await until("the commit", async () => (await rows(direct)).length === 2);
    expect(await isSilent(committing)).toBe(true);
    proxy.pass();
    await committing;
  });

  test(`cuts only the client: the server keeps the session and its locks ${NEEDS}`, async () => {
    const cut = proxy.once({ sends: /commit/i, passes: false, action: "cut client" });
    expect(await failure(commit(sql, 2))).toBe(LOST);
    await cut;
    expect(proxy.open).toBe(0);
    const adding = add(direct, 2);
    expect(await isSilent(adding)).toBe(true);
    proxy.cut();
    await adding;
    expect(await rows(direct)).toEqual([1, 2]);
  });

  test(`delays each packet ${NEEDS}`, async () => {
    proxy.delay(200);
    const began = performance.now();
    await rows(sql);
    expect(performance.now() - began).toBeGreaterThan(390);
    // What is on its way when the silence begins passes after it.
    const reading = rows(sql);
    await Bun.sleep(100);
    proxy.silence();
    expect(await isSilent(reading)).toBe(true);
    proxy.pass();
    expect(await reading).toEqual([1]);
    proxy.delay(0);
    await commit(sql, 2);
    expect(await rows(direct)).toEqual([1, 2]);
  });
});

test("a proxy closes, although its server was lost during a silence", async () => {
  let accepted: (socket: Socket) => void;
  const lost = new Promise<Socket>((resolve) => {
    accepted = resolve;
  });
  const listener = createServer((socket) => accepted(socket));
  await new Promise<void>((listening) => listener.listen(0, "127.0.0.1", listening));
  const proxy = await TcpProxy.start((listener.address() as AddressInfo).port);
  const client = connect(proxy.port, "127.0.0.1").on("error", () => {});
  const server = await lost;
  proxy.silence();
  client.write("never read");
  server.write("never read");
  server.resetAndDestroy();
  await Bun.sleep(100); // the proxy sees the reset
  await proxy.close();
  client.destroy();
  listener.close();
});
