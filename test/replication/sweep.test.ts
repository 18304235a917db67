/** The removal of files and collections on a real server. */
import { describe, expect, test } from "bun:test";
import {
  chunk,
  commit,
  contentOf,
  database,
  faultOf,
  generationsOf,
  headOf,
  open,
  server,
  useServer,
  WAIT_MS,
} from "./nodes.ts";
import { hasPostgres, NEEDS } from "./server.ts";

describe.skipIf(!hasPostgres)("with a server", () => {
  useServer();

  describe("the sweep", () => {
    test(`removes what no head names, after the grace period ${NEEDS}`, async () => {
      const engine = await open({ graceMs: 60_000 });
      /** Makes all that was stored and replaced so far older than the grace period. */
      const age = async () => {
        await server.query("update svc.svc_chunk set made = made - interval '2 minutes'", database);
        await server.query("update svc.svc_garbage set since = since - interval '2 minutes'", database);
      };
      for (const file of ["a", "b", "upload"]) await engine.put("notes", chunk(file, 0, file));
      await commit(engine, { base: "a" });
      await age();
      await commit(engine, { base: "b" });
      await engine.sweep("notes");
      // "a" is still being read by nodes that are behind; the upload is older than the grace period.
      expect([await contentOf(engine, "a"), await contentOf(engine, "upload")]).toEqual(["0:a", ""]);
      await age();
      await engine.put("notes", chunk("young", 0, "young"));
      await engine.sweep("notes");
      expect([await contentOf(engine, "a"), await contentOf(engine, "b")]).toEqual(["", "0:b"]);
      expect(await contentOf(engine, "young")).toBe("0:young");
      expect(await server.query("select * from svc.svc_garbage", database)).toHaveLength(0);
    });

    test(`leaves a file that a head names again ${NEEDS}`, async () => {
      const engine = await open({ graceMs: 0 });
      await engine.put("notes", chunk("a", 0, "a"));
      await commit(engine, { base: "a" });
      await commit(engine, {});
      await commit(engine, { base: "a" });
      await engine.sweep("notes");
      expect(await contentOf(engine, "a")).toBe("0:a");
    });

    test(`makes a commit that names a removed or damaged upload fail ${NEEDS}`, async () => {
      const engine = await open({ graceMs: 0 });
      await engine.put("notes", chunk("a", 0, "a"));
      await engine.sweep("notes");
      expect(await faultOf(commit(engine, { base: "a" }))).toStartWith("refused: the stored file 'a'");
      await engine.put("notes", chunk("a", 1, "b"));
      expect(await faultOf(commit(engine, { base: "a" }))).toStartWith("refused: the stored file 'a'");
      await engine.put("notes", chunk("a", 0, "a"));
      await commit(engine, { base: "a" });
      await engine.put("notes", chunk("b", 0, "b"));
      await engine.put("notes", chunk("b", 2, "b"));
      expect(await faultOf(commit(engine, { base: "b" }))).toStartWith("refused: the stored file 'b'");
      await server.query("insert into svc.svc_garbage values ('notes', 'c', '-infinity')", database);
      await engine.put("notes", chunk("c", 0, "c"));
      expect(await faultOf(commit(engine, { base: "c" }))).toStartWith("refused: the stored file 'c'");
    });

    test(`waits for a commit that names an old upload ${NEEDS}`, async () => {
      const [a, b] = [await open({ graceMs: 0 }), await open({ graceMs: 0 })];
      await a.put("notes", chunk("a", 0, "a"));
      const lease = await a.lease("notes", WAIT_MS);
      const swept = b.sweep("notes");
      await Bun.sleep(100);
      await lease.swap(headOf(1, { base: "a" }), []);
      await swept;
      expect(await contentOf(b, "a")).toBe("0:a");
    });

    test(`removes what was uploaded to a collection that is gone ${NEEDS}`, async () => {
      const engine = await open({ graceMs: 0 });
      await engine.put("gone", chunk("a", 0, "a"));
      await engine.sweep("notes");
      expect(await server.query("select * from svc.svc_chunk", database)).toHaveLength(0);
    });
  });

  test(`a collection that is dropped is gone at once, and others stay ${NEEDS}`, async () => {
    const engine = await open();
    for (let i = 0; i < 100; i++) await engine.put("notes", chunk("a", i, "a"));
    await commit(engine, { base: "a" });
    await commit(engine, { base: "b" }, [chunk("b", 0, "b")], "other");
    expect(await engine.drop("notes")).toBe(true);
    expect(await engine.drop("notes")).toBe(false);
    expect(generationsOf(await engine.generations())).toEqual(new Map([["other", 1]]));
    const rows = await server.query("select collection from svc.svc_chunk", database);
    expect(rows.map((row) => row.collection)).toEqual(["other"]);
    await commit(engine, { base: "new" }, [chunk("new", 0, "new")]);
    expect(await contentOf(engine, "new")).toBe("0:new");
  });
});
