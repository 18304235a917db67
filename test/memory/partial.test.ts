/** What answers say of an index that a limit ended early, in the call itself and until a run gets to the end. */
import { expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchDir, TestMemory } from "../fixture.ts";
import { project } from "../repo/helpers.ts";

const IN_NO_TIME = { max_seconds: 1e-9 };

test("every answer says that an index is partial, also in another process, until it is whole", async () => {
  const root = project(5);
  const dir = scratchDir();
  const first = await TestMemory.open(dir, root);
  const indexed = await first.call("index_repo", { max_files: 2 });
  expect(indexed).toMatchObject({ truncated: true, files_tracked: 2, files_done: 2 });
  expect(indexed.files_found).toBeGreaterThanOrEqual(2);
  await first.close();

  const m = await TestMemory.open(dir, root);
  const partial = { partial: true, files_done: 2, files_found: indexed.files_found };
  expect(await m.call("workspace_info")).toMatchObject({ files_tracked: 2, ...partial });
  expect((await m.repos()).repositories).toMatchObject([{ root, files: 2, ...partial }]);
  const found = await m.call("repo_search", { query: "value3", ...IN_NO_TIME });
  expect(found).toMatchObject({ partial: true, files_done: 3 });
  expect(await m.call("workspace_info")).toMatchObject({ partial: true, files_done: 3 });

  expect(await m.call("repo_search", { query: "value3" })).not.toHaveProperty("files_done");
  for (const answer of [await m.call("workspace_info"), (await m.repos()).repositories[0]!]) {
    for (const name of ["partial", "files_done", "files_found"]) expect(answer).not.toHaveProperty(name);
  }
});

test("a run that a limit ends makes a whole index partial, the next one makes it whole", async () => {
  const root = project(4);
  const m = await TestMemory.open(undefined, root);
  await m.call("index_repo");
  rmSync(join(root, "file-0.ts"));
  for (const i of [1, 2, 3]) writeFileSync(join(root, `file-${i}.ts`), "export const other = 1;\n".repeat(i));
  const answer = await m.call("index_repo", { max_files: 1 });
  expect(answer).toMatchObject({ truncated: true, files_changed: 1 });
  expect(answer.files_found).toBeGreaterThanOrEqual(3);
  expect(await m.call("workspace_info")).toMatchObject({ partial: true });
  expect(await m.call("index_repo")).not.toHaveProperty("files_found");
  expect(await m.call("workspace_info")).toMatchObject({ files_tracked: 3 });
});

test("a run over a folder does not make the whole repository whole", async () => {
  const root = project(3);
  Bun.spawnSync(["git", "init", "-q", root]);
  const below = join(root, "to-the-end");
  writeFileSync(join(root, "file-9.ts"), "export {};\n");
  await Bun.write(join(below, "inner.ts"), "export const inner = 1;\n");
  const dir = scratchDir();
  const m = await TestMemory.open(dir, root);
  await m.call("index_repo", { max_files: 1 });
  const folder = await m.call("index_repo", { path: below });
  expect(folder).toMatchObject({ folder: "to-the-end", files_tracked: 1 });
  expect(folder).not.toHaveProperty("truncated");
  expect(await m.call("workspace_info")).toMatchObject({ files_tracked: 2, partial: true });
  await m.call("index_repo");
  expect(await m.call("workspace_info")).not.toHaveProperty("partial");
});
