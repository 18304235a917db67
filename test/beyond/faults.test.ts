/** Single faults of nodes on a real database: what is left is whole, and the same on all nodes. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { scratchDir } from "../fixture.ts";
import { SmallDisk } from "../small-disk.ts";
import { client } from "./client.ts";
import { hasServers, NEEDS } from "./installed.ts";
import { PostgresServer } from "./postgres.ts";
import { TcpProxy } from "./proxy.ts";
import {
  add,
  committedOf,
  expectSame,
  fresh,
  generationOf,
  type Node,
  nodeOf,
  TIMEOUT_MS,
  useServer,
} from "./replicas.ts";
import { Standby } from "./standby.ts";

describe.skipIf(!hasServers())(`faults of nodes ${NEEDS}`, () => {
  const used = useServer();
  const disk = new SmallDisk("8m");

  test.skipIf(!disk.isPossible)(
    "a node whose disk is full answers from what it has, and follows once there is room (needs to mount one)",
    async () => {
      const { server, a, b } = used;
      const full = await nodeOf(server, join(disk.path, "copy"));
      const generation = await generationOf(server);
      await full.process.reach(generation);
      const before = await full.process.value({ call: "ask" });
      const free = disk.fill();
      await a.process.value(add(fresh(3000)));
      await a.process.value({ call: "compact", keepHistory: false });
      for (let i = 0; i < 3; i++) await full.process.value({ call: "follow" });
      expect(await full.process.value({ call: "ask" })).toEqual(before);
      expect(await full.process.call(add())).toMatchObject({ code: "OSError.disk_full" });
      free();
      await full.process.value(add());
      expect((await expectSame(server, [a, b, full])).length).toBe(3081);
    },
    TIMEOUT_MS,
  );

  test(
    "a kill between the uploaded files and the head leaves the old state, and the next compaction is made",
    async () => {
      const { server, a, b } = used;
      const uploaded = a.proxy.once({ sends: /svc.svc_swap/, passes: false, action: "silence" });
      const call = a.process.call({ call: "compact", keepHistory: false });
      await uploaded;
      await a.process.killed();
      expect(await call).toBe("killed");
      a.proxy.cut();
      a.proxy.pass();
      await b.process.value(add());
      await a.process.restart();
      await a.process.value({ call: "compact", keepHistory: false });
      await b.process.value(add());
      expect((await expectSame(server, [a, b])).length).toBe(82);
    },
    TIMEOUT_MS,
  );

  test(
    "compactions race adds of another node",
    async () => {
      const { server, a, b } = used;
      for (let i = 0; i < 10; i++) {
        const compact = i % 2 ? ({ call: "beside" } as const) : ({ call: "compact", keepHistory: true } as const);
        const [compacted, added] = await Promise.all([a.process.call(compact), b.process.call(add())]);
        expect(added).toEqual({ value: 1 });
        if (compacted === "killed" || !("value" in compacted))
          expect(compacted).toMatchObject({ code: "TimeoutError.locked" });
      }
      expect((await expectSame(server, [a, b])).length).toBe(90);
    },
    TIMEOUT_MS,
  );

  test(
    "of two nodes that add one id at once, one gets an error, because it is taken",
    async () => {
      const { server, a, b } = used;
      for (let i = 0; i < 20; i++) {
        const rows = fresh();
        const both = await Promise.all([a, b].map(({ process }) => process.call(add(rows))));
        const codes = both.map((one) => (one !== "killed" && "code" in one ? one.code : "made"));
        expect(codes.sort()).toEqual(["KeyError.id_exists", "made"]);
      }
      expect((await expectSame(server, [a, b])).length).toBe(100);
    },
    TIMEOUT_MS,
  );

  test(
    "two nodes that share a directory by mistake are one",
    async () => {
      const { server, a, b } = used;
      const shares = await nodeOf(server, a.process.site.dir);
      for (let i = 0; i < 10; i++) {
        const rows = fresh();
        const both = [a, shares].map(({ process }) => process.call(add(rows)));
        const compact = shares.process.call({ call: i % 2 ? "beside" : "follow" });
        const codes = (await Promise.all(both)).map((one) => (one !== "killed" && "code" in one ? one.code : "made"));
        await compact;
        expect(codes.sort()).toEqual(["KeyError.id_exists", "made"]);
        await b.process.value(add());
      }
      expect((await expectSame(server, [a, shares, b])).length).toBe(100);
    },
    TIMEOUT_MS,
  );

  test(
    "ids of every kind reach the other nodes, and one with a NUL is refused",
    async () => {
      const { server, a, b } = used;
      const nul = await a.process.call(add([{ id: "nul \0 in it", version: 0 }]));
      expect(nul).toEqual({ code: "ValueError.invalid_value", message: "an id holds a NUL" });
      const ids = ["'; drop table svc.svc_head; --", "\\", "\u{1f600}\u0301", "x".repeat(255)];
      await a.process.value(add(ids.map((id) => ({ id, version: 0 }))));
      expect(await expectSame(server, [a, b])).toEqual(expect.arrayContaining(ids));
    },
    TIMEOUT_MS,
  );

  test(
    "two nodes make one collection at once",
    async () => {
      const { server, a } = used;
      await a.process.value({ call: "drop" });
      const [c, d] = [await nodeOf(server), await nodeOf(server)];
      const both = await Promise.all([c, d].map(({ process }) => process.call({ call: "create" })));
      const codes = both.map((one) => (one !== "killed" && "code" in one ? one.code : "made"));
      // Where the other node's collection has arrived before, it is the one that is wanted.
      expect(codes).toContain("made");
      expect(codes.filter((code) => code !== "made" && code !== "TimeoutError.locked")).toEqual([]);
      for (const { process } of [c, d]) await process.call({ call: "follow" });
      for (const { process } of [c, d]) await process.value(add());
      expect((await expectSame(server, [c, d])).length).toBe(2);
    },
    TIMEOUT_MS,
  );

  test.each([
    ["before it has sent the change, for a minute", /svc.svc_swap/, 60_000],
    ["before it has sent the commit", /commit\0/, 0],
  ])(
    "a node that is frozen with the lease, %s, does not commit when it wakes",
    async (_, sends, forMs) => {
      const { server, a, b } = used;
      const rows = fresh();
      const reached = a.proxy.once({ sends, passes: false, action: "silence" });
      const call = a.process.call(add(rows));
      await reached;
      await a.process.freeze();
      const frozen = performance.now();
      // It waits until the server has ended the session that is idle.
      await b.process.value(add());
      await Bun.sleep(Math.max(0, forMs - (performance.now() - frozen)));
      a.process.thaw();
      a.proxy.pass();
      expect(await call).toHaveProperty("code");
      expect(await call).not.toHaveProperty("code", "OSError.outcome_unknown");
      const ids = await expectSame(server, [a, b]);
      expect(ids).not.toContain(rows[0]!.id);
      await a.process.value(add(rows));
      expect((await expectSame(server, [a, b])).length).toBe(82);
    },
    TIMEOUT_MS,
  );

  test.each([false, true])(
    "a collection that is dropped, and made again, is gone from the copy of a node that runs: %p",
    async (isRunning) => {
      const { server, a, b } = used;
      if (!isRunning) await b.process.killed();
      await a.process.value({ call: "drop" });
      if (isRunning) {
        await b.process.value({ call: "follow" });
        expect(existsSync(b.folder)).toBe(false);
        expect(await b.process.call(add())).toMatchObject({ code: "ValueError.no_collection" });
      }
      await a.process.value({ call: "create" });
      for (let i = 0; i < 4; i++) await a.process.value(add(fresh(3)));
      if (!isRunning) await b.process.restart();
      await b.process.value({ call: "follow" });
      await b.process.value(add());
      expect((await expectSame(server, [a, b])).length).toBe(13);
    },
    TIMEOUT_MS,
  );

  test(
    "a collection that the database lacks without having dropped it stays in the copies",
    async () => {
      const { server, a, b } = used;
      const before = committedOf(b.folder);
      await client(server.url)`delete from svc.svc_head`;
      await b.process.value({ call: "follow" });
      const c = await nodeOf(server);
      await c.process.value({ call: "create" });
      for (let i = 0; i < 9; i++) await c.process.value(add());
      await b.process.value({ call: "follow" });
      expect(await b.process.call(add())).toMatchObject({ code: "OSError.io" });
      expect(committedOf(b.folder)).toEqual(before);
      expect(committedOf(a.folder)).toEqual(before);
    },
    TIMEOUT_MS,
  );

  test(
    "a commit that the standby does not have is gone with its primary",
    async () => {
      const primary = await PostgresServer.start({ dir: join(scratchDir(), "primary") });
      const between = await TcpProxy.start(primary.port);
      const standby = await Standby.of(primary, { dir: join(scratchDir(), "standby"), primaryPort: between.port });
      const [c, d] = [await nodeOf(primary), await nodeOf(primary)];
      await c.process.value({ call: "create" });
      await c.process.value(add());
      await d.process.reach(await generationOf(primary));
      between.silence();
      const rows = fresh();
      // Of the node that has nothing else to commit: the other one sweeps what it has replaced.
      const sent = d.proxy.once({ sends: /commit\0/, passes: true, action: "cut client" });
      const call = d.process.call(add(rows));
      await sent;
      await primary.kill();
      between.cut();
      await standby.promote();
      for (const { proxy } of [c, d]) {
        proxy.to = standby.port;
        proxy.cut();
      }
      expect(await call).toMatchObject({ code: "TimeoutError.locked" });
      expect((await expectSame(standby, [c, d])).length).toBe(1);
      await c.process.value(add(rows));
      expect((await expectSame(standby, [c, d])).length).toBe(2);
    },
    TIMEOUT_MS,
  );

  test(
    "a commit that the standby has is found there, though its primary was lost before the answer",
    async () => {
      const primary = await PostgresServer.start({ dir: join(scratchDir(), "primary") });
      const standby = await Standby.of(primary, { dir: join(scratchDir(), "standby") });
      const [c, d] = [await nodeOf(primary), await nodeOf(primary)];
      await c.process.value({ call: "create" });
      await c.process.value(add());
      await d.process.reach(await generationOf(primary));
      const rows = fresh();
      const made = d.proxy.once({ from: "server", sends: /COMMIT\0/, passes: false, action: "silence" });
      const call = d.process.call(add(rows));
      await made;
      await primary.kill();
      await standby.promote();
      for (const { proxy } of [c, d]) {
        proxy.to = standby.port;
        proxy.cut();
        proxy.pass();
      }
      expect(await call).toEqual({ value: 1 });
      const taken = await c.process.call(add(rows));
      expect(taken).toHaveProperty("code", "KeyError.id_exists");
      expect((await expectSame(standby, [c, d])).length).toBe(2);
    },
    TIMEOUT_MS,
  );

  test(
    "a primary that comes back beside the server that took its place acknowledges nothing",
    async () => {
      const primary = await PostgresServer.start({ dir: join(scratchDir(), "primary") });
      const standby = await Standby.of(primary, { dir: join(scratchDir(), "standby") });
      const [c, d] = [await nodeOf(primary), await nodeOf(primary)];
      const lead = ({ proxy }: Node, server: PostgresServer) => {
        proxy.to = server.port;
        proxy.cut();
      };
      await c.process.value({ call: "create" });
      await c.process.value(add());
      // Else this node may not know the collection yet when the primary is killed.
      await d.process.value({ call: "follow" });
      await primary.kill();
      await standby.promote();
      lead(d, standby);
      await d.process.value(add());
      await primary.restart();
      lead(c, primary);
      const rows = fresh();
      const outcome = await c.process.call(add(rows));
      expect(outcome).toHaveProperty("code", "OSError.outcome_unknown");
      lead(c, standby);
      for (let i = 0; i < 3; i++) await d.process.value(add());
      const ids = await expectSame(standby, [c, d]);
      expect([ids.length, ids.includes(rows[0]!.id)]).toEqual([5, false]);
      await c.process.value(add(rows));
      expect((await expectSame(standby, [c, d])).length).toBe(6);
    },
    TIMEOUT_MS,
  );
});
