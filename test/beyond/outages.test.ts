/** A server or a connection that fails under a change of a node: it is there once, or not at all, and the caller knows. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { SmallDisk } from "../small-disk.ts";
import { hasServers, NEEDS } from "./installed.ts";
import { PostgresServer } from "./postgres.ts";
import type { Trigger } from "./proxy.ts";
import { add, expectSame, fresh, type Node, nodeOf, TIMEOUT_MS, useServer } from "./replicas.ts";

const COMMIT = /commit\0/;

describe.skipIf(!hasServers())(`a change while the database fails ${NEEDS}`, () => {
  const used = useServer();
  const disk = new SmallDisk("160m");

  test.each<[string, Trigger, boolean]>([
    ["before its commit", { sends: COMMIT, passes: false, action: "cut" }, false],
    ["before the answer to its commit", { from: "server", sends: /COMMIT\0/, passes: false, action: "cut" }, true],
    ["before its commit, unseen by the server", { sends: COMMIT, passes: false, action: "cut client" }, false],
    ["at its commit, unseen by the server", { sends: COMMIT, passes: true, action: "cut client" }, true],
  ])(
    "that is cut %s is there once or not at all, and the caller knows",
    async (_, trigger, isMade) => {
      const { server, a, b } = used;
      const rows = fresh();
      const cut = a.proxy.once(trigger);
      const outcome = await a.process.call(add(rows));
      await cut;
      if (isMade) expect(outcome).toEqual({ value: 1 });
      else if (!("value" in Object(outcome))) expect(outcome).toHaveProperty("code", "TimeoutError.locked");
      const isThere = "value" in Object(outcome);
      expect((await expectSame(server, [a, b])).includes(rows[0]!.id)).toBe(isThere);
      // The other node takes over, and the row can be added where it was not.
      if (!isThere) await b.process.value(add(rows));
      expect((await expectSame(server, [a, b])).length).toBe(81);
    },
    TIMEOUT_MS,
  );

  test(
    "of a node that is killed with the lease, unseen by the server, does not keep others out",
    async () => {
      const { server, a, b } = used;
      const reached = a.proxy.once({ sends: COMMIT, passes: false, action: "cut client" });
      const call = a.process.call(add());
      await reached;
      await a.process.killed();
      await call;
      await b.process.value(add());
      await a.process.restart();
      expect((await expectSame(server, [a, b])).length).toBe(81);
    },
    TIMEOUT_MS,
  );

  test(
    "and does not answer is refused in time, and can be repeated",
    async () => {
      const { server, a, b } = used;
      const before = await b.process.value({ call: "ask" });
      await server.freeze();
      const rows = fresh();
      expect(await a.process.call(add(rows))).toHaveProperty("code", "OSError.disconnected");
      await b.process.call({ call: "follow" });
      expect(await b.process.value({ call: "ask" })).toEqual(before);
      server.thaw();
      await a.process.value(add(rows));
      expect((await expectSame(server, [a, b])).length).toBe(81);
    },
    TIMEOUT_MS,
  );

  test.skipIf(!disk.isPossible)(
    "and has no room is refused, and leaves nothing (needs to mount a disk)",
    async () => {
      const server = await PostgresServer.start({ dir: join(disk.path, "server") });
      const [a, b] = [await nodeOf(server), await nodeOf(server)];
      await a.process.value({ call: "create" });
      await a.process.value(add(fresh(20)));
      const free = disk.fill();
      const refused = await untilRefused(a);
      expect(refused.outcome).toHaveProperty("code", "OSError.io");
      expect(JSON.stringify(refused.outcome)).toContain("the server's disk is full; free space there");
      expect((await expectSame(server, [a, b])).length).toBe(refused.rows);
      free();
      await a.process.value({ call: "compact", keepHistory: false });
      await b.process.value(add());
      expect((await expectSame(server, [a, b])).length).toBe(refused.rows + 1);
    },
    TIMEOUT_MS,
  );
});

/** Adds until the database has no room. @returns how many rows the collection has, and what the last add answered */
async function untilRefused({ process }: Node) {
  for (let rows = 20; ; rows += 1000) {
    const outcome = await process.call(add(fresh(1000)));
    if (outcome === "killed" || !("value" in outcome)) return { rows, outcome };
  }
}
