/** Runs over a folder of a repository, between runs over all of it. */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { repoIdOf } from "../../../src/repo/chunks/identity.ts";
import { Deadline } from "../../../src/repo/files/deadline.ts";
import { isIn } from "../../../src/repo/files/relative.ts";
import type { IndexOptions } from "../../../src/repo/indexing/options.ts";
import { random } from "../../random.ts";
import {
  age,
  commitAll,
  forgetLogs,
  git,
  gitRoot,
  MemorySink,
  plain,
  put,
  type Row,
  rootWith,
  temporary,
} from "../helpers.ts";
import { bench, indexRepo } from "../indexing/runs.ts";
import { lookAt } from "./look.ts";

const FILES = {
  "README.md": "a project\n",
  "src/a.ts": "a\n",
  "src/net/b.ts": "b\n",
  "src-2/c.ts": "c\n",
  "test/d.ts": "d\n",
};

/** A repository that git knows or does not, and runs over all of it or a folder of it. */
function benchOf(files: Record<string, string | Uint8Array> = FILES, isCheckout = true) {
  const all = bench(isCheckout ? gitRoot(files) : rootWith(files));
  const { root, repoId } = all;
  const run = (below?: string, options: Partial<IndexOptions> = {}) =>
    all.run({ workspace: { root, repoId, ...(below === undefined ? {} : { below }) }, ...options });
  return { ...all, run, note: () => all.note()! };
}

for (const isCheckout of [true, false]) {
  describe(isCheckout ? "in a checkout" : "without git", () => {
    test("the first run finds only what lies below the folder", async () => {
      const { root, run, sink, expectExact } = benchOf(FILES, isCheckout);
      expect(await run("src")).toMatchObject({ status: "built", workspace: root, folder: "src", files_tracked: 2 });
      expect(sink.ids).toEqual(["src/a.ts:0", "src/net/b.ts:0"]);
      expect(await run("src/net")).toMatchObject({ status: "hit", files_tracked: 1 });
      expect(await run("test")).toMatchObject({ status: "refreshed", files_changed: 1, files_tracked: 1 });
      expect(await run()).toMatchObject({ status: "refreshed", files_changed: 2, files_tracked: 5 });
      expect((await run()).folder).toBeUndefined();
      await expectExact();
    });

    test("changes outside of the folder stay for a later run, changes inside do not", async () => {
      const { root, run, sink, settle, records, expectExact } = benchOf(FILES, isCheckout);
      await run();
      settle();
      const before = new Map(records());
      put(root, "src/net/b.ts", "b changed\n");
      put(root, "src/new.ts", "new\n");
      rmSync(join(root, "src/a.ts"));
      put(root, "test/d.ts", "d changed\n");
      put(root, "test/new.ts", "new\n");
      rmSync(join(root, "src-2"), { recursive: true });
      const counts = { files_tracked: 2, files_changed: 2, files_removed: 1, chunks_added: 2, chunks_deleted: 1 };
      expect(await run("src")).toMatchObject({ status: "refreshed", ...counts });
      expect(sink.ids).toEqual(["README.md:0", "src-2/c.ts:0", "src/net/b.ts:0", "src/new.ts:0", "test/d.ts:0"]);
      for (const path of ["README.md", "src-2/c.ts", "test/d.ts"])
        expect(records().get(path)).toEqual(before.get(path));
      expect(await run()).toMatchObject({ files_changed: 2, files_removed: 1, files_tracked: 5 });
      await expectExact();
    });

    test("a folder whose files are all gone loses its rows, and only its", async () => {
      const { root, run, sink, expectExact } = benchOf(FILES, isCheckout);
      await run();
      rmSync(join(root, "src"), { recursive: true });
      mkdirSync(join(root, "src"));
      expect(await run("src")).toMatchObject({ files_removed: 2, files_tracked: 0 });
      expect(sink.ids).toEqual(["README.md:0", "src-2/c.ts:0", "test/d.ts:0"]);
      await expectExact();
    });

    test("the rules of the folders above apply", async () => {
      const files = {
        ...FILES,
        ".gitignore": "*.log\n/src/net/\n",
        "src/x.log": "x\n",
        "src/.gitignore": "!y.log\n",
        "src/y.log": "y\n",
      };
      const { run, sink, expectExact } = benchOf(files, isCheckout);
      await run("src");
      expect(sink.ids).toEqual(["src/.gitignore:0", "src/a.ts:0", "src/y.log:0"]);
      await run();
      await expectExact();
    });

    test("force begins again in the folder only", async () => {
      const { run, expectExact } = benchOf(FILES, isCheckout);
      await run();
      expect(await run("src", { force: true })).toMatchObject({ status: "built", files_changed: 2, chunks_added: 2 });
      await expectExact();
    });
  });
}

test("other chunking is that of the folder at once, and of the rest with its next run", async () => {
  const { run, expectExact } = benchOf();
  await run();
  expect(await run("src", { mode: "file" })).toMatchObject({ status: "built", files_changed: 2 });
  expect(await run(undefined, { mode: "file" })).toMatchObject({ status: "refreshed", files_changed: 3 });
  await expectExact({ mode: "file" });
});

test("rows without an entry outside of the folder are found by the next run over all", async () => {
  const { root, run, sink, log, note, expectExact } = benchOf();
  await run();
  rmSync(log());
  forgetLogs();
  rmSync(join(root, "test/d.ts"));
  expect(await run("src")).toMatchObject({ files_tracked: 2 });
  // Two files have entries, five have rows: a run that took this for complete would leave test/d.ts for ever.
  expect(note().rows).toBeUndefined();
  expect(sink.ids).toContain("test/d.ts:0");
  await run();
  expect(sink.ids).not.toContain("test/d.ts:0");
  expect(note().rows).toEqual(sink.stateOf(repoIdOf(root)));
  await expectExact();
});

test("another writer's changes outside of the folder are repaired by the next run over all", async () => {
  const { root, run, sink, note, expectExact } = benchOf();
  await run();
  const lost = [...sink.rows.keys()].find((id) => id.endsWith("test/d.ts:0"))!;
  sink.rows.delete(lost);
  await run("src");
  expect(note().rows).toEqual(sink.stateOf(repoIdOf(root)));
  await run();
  await expectExact();
});

describe("what a run over a folder writes", () => {
  test("nothing, where nothing changed since the last run over it", async () => {
    const { root, run, sink, log } = benchOf();
    await run();
    // Younger than the last run over everything: with its time alone each run would read this file again.
    put(root, "src/a.ts", "a changed\n");
    await run("src");
    await Bun.sleep(2_100);
    expect(await run("src")).toMatchObject({ status: "hit", files_changed: 0 });
    const [bytes, calls] = [readFileSync(log(), "latin1"), [sink.replaces, sink.listings]];
    for (let i = 0; i < 3; i++) expect(await run("src")).toMatchObject({ status: "hit" });
    expect(readFileSync(log(), "latin1")).toBe(bytes);
    expect([sink.replaces, sink.listings]).toEqual(calls);
  });

  test("a file outside that was edited within the same stamp as an earlier run is not taken for known", async () => {
    const { root, run, records, expectExact } = benchOf();
    await run();
    const [young, old] = [{ ...records().get("test/d.ts")! }, { ...records().get("README.md")! }];
    await run("src", { force: true });
    // Too young for the first run, so the second one's time may not make them trusted; their content stays known.
    expect([young.mark, old.mark]).toEqual([0, 0]);
    expect([records().get("test/d.ts"), records().get("README.md")]).toEqual([young, old]);
    put(root, "test/d.ts", "D\n");
    expect(await run()).toMatchObject({ files_changed: 1 });
    await expectExact();
  });
});

test("runs with limits come to an end, over a folder and over all", async () => {
  const { root, run, note, expectExact } = benchOf();
  expect(await run(undefined, { maxFiles: 1 })).toMatchObject({ truncated: true, files_tracked: 1 });
  expect(await run("src", { maxFiles: 1 })).toMatchObject({ truncated: true, files_tracked: 1 });
  let calls = 0;
  while ((await run("src", { maxFiles: 1 })).truncated) expect(++calls).toBeLessThan(20);
  expect((await run("src")).files_tracked).toBe(2);
  // Where the next run over all goes on.
  await run(undefined, { maxFiles: 1 });
  const { reached } = note();
  expect(reached).not.toBeUndefined();
  expect(await run("src")).toMatchObject({ status: "hit" });
  expect(note().reached).toBe(reached);
  while ((await run(undefined, { maxFiles: 1 })).truncated) expect(++calls).toBeLessThan(20);
  await expectExact();
  put(root, "src/a.ts", "more\n");
  expect(await run("src", { deadline: new Deadline(1e-9) })).toMatchObject({ files_changed: 1 });
  await expectExact();
});

test("a submodule below the folder belongs to it, another project's checkout does not", async () => {
  const library = gitRoot({ "lib.c": "int x;\n" });
  commitAll(library);
  const { root, run, sink } = benchOf();
  git(root, "submodule", "--quiet", "add", library, "src/third");
  put(root, "src/tree/x.ts", "x\n");
  git(join(root, "src/tree"), "init", "-q");
  await run("src");
  expect(sink.ids).toEqual(["src/a.ts:0", "src/net/b.ts:0", "src/third/lib.c:0"]);
  // Git lists nothing of a folder that has only another project in it, and nothing is what it has.
  put(root, "trees/one/x.ts", "x\n");
  git(join(root, "trees/one"), "init", "-q");
  expect(await run("trees")).toMatchObject({ status: "hit", files_tracked: 0 });
});

test("a look below a folder finds what a look at all finds there, from any path on", async () => {
  for (const isCheckout of [true, false]) {
    const { root } = benchOf({ ...FILES, "src/net/.env": "T=1\n", "src.ts": "x\n", "srd/x.ts": "x\n" }, isCheckout);
    for (const path of Object.keys(FILES)) age(root, path);
    const inside = (await lookAt(root)).paths.filter((path) => path.startsWith("src/"));
    for (const after of [undefined, "", "A", "src/", "src/a.ts", "src/net", "src0", "zzz"]) {
      const { paths, left, isComplete } = await lookAt(root, {
        below: "src",
        ...(after === undefined ? {} : { after }),
      });
      expect(paths).toEqual(inside);
      expect({ secret: left.secret, isComplete }).toEqual({ secret: 1, isComplete: true });
    }
  }
});

for (const seed of [1, 2, 3, 4, 5, 6]) {
  test(`after any edits a run leaves its folder exact and the rest alone (seed ${seed})`, async () => {
    const next = random(seed);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!;
    const { root, run, sink, settle, log, expectExact } = benchOf(FILES, seed % 2 === 0);
    const folders = ["src", "src/net", "src-2", "test", undefined];
    const rowsIn = (rows: Map<string, Row>, folder: string | undefined, isInside: boolean) =>
      plain(rows).filter(([, { metadata }]) => isIn(folder ?? "", String(metadata.path)) === isInside);
    for (let step = 0; step < 40; step++) {
      for (let edits = Math.floor(next() * 4); edits > 0; edits--) {
        const path = `${pick(["src", "src/net", "src-2", "test"])}/${pick(["a", "b", "c"])}.ts`;
        const ignored = `${pick(["src", "test"])}/.gitignore`;
        const kind = next();
        if (kind < 0.25) rmSync(join(root, path), { force: true });
        else if (kind < 0.35) put(root, ignored, pick(["", "a.ts\n", "b.ts\n"]));
        else put(root, path, `${pick(["x", "y", "z"])} ${step}\n`.repeat(pick([1, 60, 120])));
      }
      const at = log();
      if (next() < 0.1) {
        rmSync(at, { force: true });
        forgetLogs();
      } else if (existsSync(at) && next() < 0.5) settle();
      // What another writer does is noticed.
      if (next() < 0.1 && sink.rows.size > 0) {
        sink.rows.delete(pick([...sink.rows.keys()]));
      }
      const folder = pick(folders);
      for (const path of ["src", "src/net", "src-2", "test"]) mkdirSync(join(root, path), { recursive: true });
      const outside = rowsIn(sink.rows, folder, false);
      while ((await run(folder, next() < 0.3 ? { maxFiles: 1 } : {})).truncated);
      const oracle = new MemorySink();
      const workspace = { root, repoId: repoIdOf(root) };
      const other = { sink: oracle, folder: temporary() };
      await indexRepo({ workspace, collection: "repo_symbols", ...other });
      expect({ step, folder, rows: rowsIn(sink.rows, folder, true) }).toEqual({
        step,
        folder,
        rows: rowsIn(oracle.rows, folder, true),
      });
      expect(rowsIn(sink.rows, folder, false)).toEqual(outside);
    }
    await run();
    await expectExact();
  });
}
