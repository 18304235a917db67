/** What a dry run says, against what the run then does. */
import { expect, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { repoIdOf } from "../../../src/repo/chunks/identity.ts";
import { previewOf } from "../../../src/repo/indexing/preview.ts";
import { age, git, put } from "../helpers.ts";
import { bench } from "./runs.ts";

test("lists what would be indexed by language, what is left out and why, and writes nothing", async () => {
  const { dry, run, folder } = bench({
    "a.ts": "export {};\n",
    "b.ts": "export {};\n",
    "c.py": "pass\n",
    ".env": "KEY=1\n",
    "long.txt": "x".repeat(100),
    "build.log": "log\n",
    "out/x.js": "1\n",
    ".gitignore": "*.log\nout/\n",
  });
  const before = await dry({ maxFileBytes: 50 });
  expect(before).toMatchObject({ status: "dry_run", files: 4, bytes: 38, files_tracked: 0, files_source: "folder" });
  expect(before.languages.slice(0, 1)).toEqual([{ language: "typescript", files: 2, bytes: 22 }]);
  expect(before.changes).toEqual({ new: { count: 4, paths: [".gitignore", "a.ts", "b.ts", "c.py"] } });
  expect(before.left_out).toEqual({
    secret: { count: 1, paths: [".env"] },
    too_large: { count: 1, paths: ["long.txt"] },
    ignored: { count: 2, paths: ["build.log", "out/"] },
  });
  expect(before.settings).toEqual({ max_file_bytes: 50 });
  expect(readdirSync(folder)).toEqual([]);
  // The settings of a dry run do not stay.
  expect(await run()).toMatchObject({ files_tracked: 5, files_source: "folder" });
});

test("what is new, changed and gone, and what the last run found not to be text", async () => {
  const { root, run, dry } = bench({ "a.ts": "1", "b.ts": "2", "c.ts": "3", "d.bin": new Uint8Array([0, 1, 2]) });
  await run();
  expect((await dry()).changes).toEqual({});
  put(root, "a.ts", "changed");
  put(root, "new.ts", "5");
  rmSync(join(root, "c.ts"));
  age(root, "a.ts");
  const seen = await dry();
  expect(seen).toMatchObject({ files: 3, files_tracked: 3 });
  expect(seen.changes).toEqual({
    changed: { count: 1, paths: ["a.ts"] },
    new: { count: 1, paths: ["new.ts"] },
    gone: { count: 1, paths: ["c.ts"] },
  });
  expect(seen.left_out).toEqual({ binary: { count: 1, paths: ["d.bin"] } });
  // With other windows, or by force, all is indexed again.
  for (const options of [{ mode: "file" as const }, { force: true }]) {
    expect((await dry(options)).changes.changed?.count).toBe(3);
  }
  expect(await run()).toMatchObject({ files_changed: 2, files_removed: 1 });
});

test("a folder of a repository alone, in a checkout", async () => {
  const { root, dry } = bench({ "a.ts": "1", "src/b.ts": "2", "src/c.py": "3" });
  git(root, "init", "-q");
  const seen = await dry({ workspace: { root, repoId: repoIdOf(root), below: "src" } });
  expect(seen).toMatchObject({ folder: "src", files: 2, files_source: "git index" });
});

test("of many paths the first are shown", () => {
  const files = new Map(Array.from({ length: 20 }, (_, i) => [`${i}.md`, { size: 1 }]));
  const known = { files: new Map(), isSame: () => false, isGone: () => false };
  const { changes } = previewOf({ files, left: new Map(), ignored: [] }, known);
  expect(changes.new).toEqual({ count: 20, paths: ["0.md", "1.md", "2.md", "3.md", "4.md"] });
});
