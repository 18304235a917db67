/** `max_seconds` bounds everything that a call waits for; what does not fit is left to the next call. */
import { expect, test } from "bun:test";
import { realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RepoCollections } from "../../src/memory/repos/collections.ts";
import { repoIdOf } from "../../src/repo/chunks/identity.ts";
import { Deadline } from "../../src/repo/files/deadline.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { native, openStore, scratchDir, TestMemory } from "../fixture.ts";
import { commitAll, git, MemorySink, project, rootWith } from "../repo/helpers.ts";
import { runsOver } from "../repo/indexing/runs.ts";

test("a change of another process is waited for no longer than that, and the search answers from what is there", async () => {
  const root = project(3);
  const dir = scratchDir();
  const m = await TestMemory.open(dir, root);
  await m.call("index_repo");
  writeFileSync(join(root, "file-1.ts"), "export const changed = 1;\n");
  // Another store of the same directory is another writer.
  const store = await openStore(dir);
  const other = store.open("repo_symbols");
  await other.stage((t) => t.delete([`${repoIdOf(root)}:file-2.ts:0`]));
  const found = await m.call("repo_search", { query: "value0", max_seconds: 0.05 });
  expect(found).toMatchObject({ partial: true, hits: [{ metadata: { path: "file-0.ts" } }, {}, {}] });
  expect(await m.call("index_repo", { max_seconds: 0.05 })).toMatchObject({ truncated: true, chunks_added: 0 });
  await other.save();
  await store.close();
  const after = await m.call("index_repo");
  expect(after).toMatchObject({ status: "refreshed", files_tracked: 3 });
  expect(after).not.toHaveProperty("truncated");
  expect((await m.call("repo_search", { query: "changed", top_k: 1 })).hits[0].metadata.path).toBe("file-1.ts");
});

test("a run of the same process is waited for no longer than that", async () => {
  const { sink, run } = runsOver(rootWith({ "a.ts": "1", "b.ts": "2" }), new MemorySink());
  await run();
  let release = () => {};
  const held = new Promise<void>((done) => {
    release = done;
  });
  const replace = sink.replace.bind(sink);
  sink.replace = async (repoId, change) => {
    await held;
    return replace(repoId, change);
  };
  const running = run({ force: true });
  let paths: readonly string[] = [];
  const late = await run({
    deadline: new Deadline(0.01),
    onIndexed(indexed) {
      paths = indexed;
    },
  });
  expect(late).toMatchObject({ status: "hit", files_tracked: 2, truncated: true });
  expect([...paths].sort()).toEqual(["a.ts", "b.ts"]);
  release();
  expect(await running).toMatchObject({ status: "built", files_tracked: 2 });
  // The turn of the late one is over as well.
  expect(await run()).toMatchObject({ status: "hit" });
});

test("files that are gone are removed in parts", async () => {
  const files = Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`file-${i}.ts`, `${i}`]));
  const root = rootWith(files);
  const { sink, run } = runsOver(root, new MemorySink());
  await run();
  for (let i = 1; i < 6; i++) rmSync(join(root, `file-${i}.ts`));
  expect(await run({ deadline: new Deadline(1e-9) })).toMatchObject({ files_removed: 1, truncated: true });
  expect(sink.rows.size).toBe(5);
  for (let left = 5; left > 1; left--) await run({ deadline: new Deadline(1e-9) });
  expect(sink.ids).toEqual(["file-0.ts:0"]);
  expect(await run()).not.toHaveProperty("truncated");
});

/** A deadline of so many milliseconds in all that has passed. */
function passed(ms: number): Deadline {
  return Object.defineProperty(new Deadline(ms / 1000), "msLeft", { value: -1 });
}

test("a merge that the time does not allow is left to the next call, unless that would have none left", async () => {
  const store = await openStore();
  const collections = new RepoCollections(store, new MultigramEmbedder((await native()).kernel));
  const collection = collections.open("repo_symbols");
  const root = project(0);
  const { run } = runsOver(root, collections.sink(collection, undefined));
  const put = (name: string, lines: number) => {
    writeFileSync(join(root, name), "line\n".repeat(lines));
    return run({ windowLines: 1, windowOverlapLines: 0 });
  };
  const rows = () => {
    const { base_rows, delta_rows } = collection.stats();
    return [base_rows, delta_rows];
  };
  await put("a.ts", 50);
  await put("b.ts", 1500);
  await collections.afterRun(collection, {}, passed(10_000));
  expect(rows()).toEqual([50, 1500]);
  // A process would need most of such a call to read what lies beside the base.
  await collections.afterRun(collection, {}, passed(10));
  expect(rows()).toEqual([1550, 0]);
  await put("c.ts", 1950);
  await collections.afterRun(collection, {});
  expect(rows()).toEqual([3500, 0]);
});

test("the rows of a work tree that is gone are left to a call that has time", async () => {
  const root = project(2);
  git(root, "init", "-q");
  commitAll(root);
  const linked = join(realpathSync(scratchDir()), "linked");
  git(root, "worktree", "add", "-q", linked);
  const m = await TestMemory.open(undefined, root);
  await m.call("index_repo", { path: linked });
  await m.call("index_repo");
  git(root, "worktree", "remove", linked);
  const count = async () => (await m.call("count", { collection: "repo_symbols" })).count;
  await m.call("index_repo", { max_seconds: 1e-9 });
  expect(await count()).toBe(4);
  await m.call("index_repo");
  expect(await count()).toBe(2);
});

test("a run over the same root into another collection is waited for no longer than that", async () => {
  const root = rootWith({ "a.ts": "1", "b.ts": "2" });
  const [one, other] = [runsOver(root, new MemorySink()), runsOver(root, new MemorySink())];
  let release = () => {};
  const held = new Promise<void>((done) => {
    release = done;
  });
  const replace = one.sink.replace.bind(one.sink);
  one.sink.replace = async (repoId, change) => {
    await held;
    return replace(repoId, change);
  };
  const running = one.run();
  expect(await other.run({ deadline: new Deadline(0.01) })).toMatchObject({ truncated: true, files_tracked: 0 });
  release();
  expect(await running).toMatchObject({ files_tracked: 2 });
  expect(await other.run()).toMatchObject({ status: "built", files_tracked: 2 });
});
