/** Logs and leases on a real server. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Head } from "../../src/replication/engine.ts";
import {
  chunk,
  commit,
  contentOf,
  database,
  faultOf,
  generationsOf,
  headOf,
  NODE,
  open,
  server,
  useServer,
  WAIT_MS,
} from "./nodes.ts";
import { hasPostgres, NEEDS } from "./server.ts";

describe.skipIf(!hasPostgres)("with a server", () => {
  useServer();

  describe("a log", () => {
    test(`is what was committed, on every node ${NEEDS}`, async () => {
      const [a, b] = [await open(), await open()];
      expect([await a.head("notes"), (await a.generations()).size]).toEqual([undefined, 0]);
      await a.put("notes", chunk("base", 0, "one"));
      await a.put("notes", chunk("base", 3, "two"));
      const first = await commit(a, { base: "base", delta: "delta" }, [chunk("delta", 0, "+1")]);
      expect(await b.head("notes")).toEqual(first);
      const second = await commit(b, { base: "base", delta: "delta" }, [chunk("delta", 2, "+2")]);
      expect(await a.head("notes")).toEqual(second);
      const odd = `Ünïcode "quoted" 'a''b' \\' back\\\\slash; $1 --`;
      const kept = await commit(b, {}, [], odd);
      const lease = await a.lease(odd, WAIT_MS);
      expect(lease.head).toEqual(kept);
      await lease.release();
      expect(generationsOf(await a.generations())).toEqual(
        new Map([
          ["notes", 2],
          [odd, 1],
        ]),
      );
      expect([await contentOf(a, "base"), await contentOf(a, "base", 2), await contentOf(a, "base", 3)]).toEqual([
        "0:one 3:two",
        "0:one 3:two",
        "3:two",
      ]);
      expect([await contentOf(a, "base", 6), await contentOf(a, "delta", 2), await contentOf(a, "gone")]).toEqual([
        "",
        "2:+2",
        "",
      ]);
    });

    test(`has chunks of every size and place, and many of them ${NEEDS}`, async () => {
      const engine = await open();
      const large = crypto.getRandomValues(new Uint8Array(65_536));
      const whole = Buffer.concat(Array.from({ length: 64 }, () => large));
      for (const at of [0, 1, 2]) await engine.put("notes", { file: "large", at: at * (4 << 20), bytes: whole });
      await engine.put("notes", chunk("far", 5_000_000_000_000, "x"));
      let place = 0;
      for await (const { at, bytes } of engine.get("notes", "large", 0, 12 << 20)) {
        expect([at, whole.equals(bytes)]).toEqual([place, true]);
        place += bytes.length;
      }
      expect(place).toBe(12 << 20);
      expect(await contentOf(engine, "far", 4_999_999_999_999)).toBe("5000000000000:x");
      await server.query(
        "insert into svc.svc_chunk select 'notes', 'many', n, 'x' from generate_series(0, 9999) as n",
        database,
      );
      let count = 0;
      for await (const { at } of engine.get("notes", "many", 0, 10_000)) expect(at).toBe(count++);
      expect(count).toBe(10_000);
      for await (const { at } of engine.get("notes", "many", 9, 12)) expect(at).toBe(count++ - 10_000 + 9);
      expect(count).toBe(10_003);
      const [row] = await server.query(
        "select attstorage::text as storage from pg_attribute where attrelid = 'svc.svc_chunk'::regclass and attname = 'bytes'",
        database,
      );
      expect(row!.storage).toBe("e");
    });

    test(`accepts an upload again, but other bytes in its place from a commit only ${NEEDS}`, async () => {
      const engine = await open();
      await engine.put("notes", chunk("base", 0, "one"));
      await engine.put("notes", chunk("base", 0, "one"));
      expect(await faultOf(engine.put("notes", chunk("base", 0, "two")))).toStartWith("refused: other bytes");
      expect(await contentOf(engine, "base")).toBe("0:one");
      const lease = await engine.lease("notes", WAIT_MS);
      await lease.swap(headOf(1, { base: "base" }), [chunk("base", 0, "two")]);
      expect(await contentOf(engine, "base")).toBe("0:two");
    });

    test(`sends hints to all other nodes that listen ${NEEDS}`, async () => {
      const [a, b] = [await open({ node: crypto.randomUUID() }), await open()];
      const hints: string[] = [];
      await b.listen((collection) => hints.push(collection));
      await commit(b, {}, [], "own");
      await commit(a, {}, [], "one");
      await a.drop("one");
      // A process that ends after its commit sends the hint first.
      await commit(a, {}, [], "two");
      await a.close();
      for (let tries = 0; hints.length < 3 && tries < 100; tries++) await Bun.sleep(20);
      expect(hints).toEqual(["one", "one", "two"]);
    });
  });

  describe("a lease", () => {
    test(`is one node's at a time, also where there is no collection yet ${NEEDS}`, async () => {
      const [a, b] = [await open(), await open()];
      for (const generation of [1, 2]) {
        const lease = await a.lease("notes", WAIT_MS);
        const waiting = b.lease("notes", WAIT_MS);
        await Bun.sleep(50);
        const next = headOf(generation);
        await lease.swap(next, []);
        const second = await waiting;
        expect(second.head).toEqual(next);
        await second.release();
      }
    });

    test(`is waited for as long as the caller says ${NEEDS}`, async () => {
      const [a, b] = [await open(), await open()];
      for (const _ of [1, 2]) {
        const lease = await a.lease("notes", WAIT_MS);
        const begun = performance.now();
        expect(await faultOf(b.lease("notes", 200))).toStartWith("again");
        expect(performance.now() - begun).toBeLessThan(2000);
        await (await b.lease("other", 200)).release();
        await lease.swap(headOf((lease.head?.generation ?? 0) + 1), []);
      }
    });

    test(`of many nodes gives each commit a generation ${NEEDS}`, async () => {
      const nodes = await Promise.all([1, 2, 3, 4].map(() => open()));
      const commits = await Promise.all(
        nodes.map(async (node) => {
          const made: Head[] = [];
          for (let i = 0; i < 10; i++) made.push(await commit(node, {}));
          return made;
        }),
      );
      const generations = commits.flat().map(({ generation }) => generation);
      expect(generations.sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
      const rows = await server.query("select commit::text from svc.svc_commit", database);
      expect(rows.map((row) => row.commit).sort()).toEqual(
        commits
          .flat()
          .map((head) => head.commit)
          .sort(),
      );
    });

    test(`is kept while a change takes longer than sessions may be idle ${NEEDS}`, async () => {
      const [slow, other] = [await open({ deadlines: { idle: 300 } }), await open()];
      await commit(other, {});
      const lease = await slow.lease("notes", WAIT_MS);
      const waiting = commit(other, {});
      await Bun.sleep(1000);
      await lease.swap(headOf(2, { d: "d" }), [chunk("d", 0, "kept")]);
      expect((await waiting).generation).toBe(3);
      expect(await contentOf(other, "d")).toBe("0:kept");
    });

    test(`of a process that is frozen passes to another node, and commits nothing afterwards ${NEEDS}`, async () => {
      const other = await open();
      const child = Bun.spawn([process.execPath, join(import.meta.dir, "frozen-node.ts"), server.url(database)], {
        stdin: "pipe",
        stderr: "inherit",
      });
      const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
      expect((await lines.read()).value).toBe("leased\n");
      child.kill("SIGSTOP");
      child.stdin.write("go on\n");
      child.stdin.end();
      const next = await commit(other, {});
      child.kill("SIGCONT");
      expect((await lines.read()).value).toBe("again\n");
      await child.exited;
      expect(await other.head("notes")).toEqual(next);
      expect(await contentOf(other, "d")).toBe("");
    });

    test(`whose session the server ends commits nothing ${NEEDS}`, async () => {
      const engine = await open();
      const lease = await engine.lease("notes", WAIT_MS);
      await server.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'svc ${NODE}'`,
        database,
      );
      expect(await faultOf(lease.swap(headOf(1), []))).toStartWith("again");
      await commit(engine, {});
    });

    test(`commits also where the server's defaults are others ${NEEDS}`, async () => {
      await server.query(
        `alter database ${database} set default_transaction_isolation = 'serializable';
         alter database ${database} set synchronous_commit = off;
         alter database ${database} set search_path = ''`,
      );
      const nodes = [await open(), await open()];
      await Promise.all(nodes.map((node) => commit(node, {})));
      expect((await nodes[0]!.head("notes"))!.generation).toBe(2);
    });
  });
});
