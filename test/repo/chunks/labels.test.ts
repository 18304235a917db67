/** Windows are found by the names that they define. */
import { expect, test } from "bun:test";
import { repoIdOf } from "../../../src/repo/chunks/identity.ts";
import { MemorySink, rootWith, temporary } from "../helpers.ts";
import { indexRepo } from "../indexing/runs.ts";

async function labels(files: Record<string, string>): Promise<Record<string, readonly string[] | undefined>> {
  const root = rootWith(files);
  const sink = new MemorySink();
  const workspace = { root, repoId: repoIdOf(root) };
  await indexRepo({
    workspace,
    sink,
    folder: temporary(),
    collection: "repo_symbols",
    windowLines: 4,
    windowOverlapLines: 1,
  });
  return Object.fromEntries([...sink.rows.values()].map((row) => [row.id.slice(17), row.labels]));
}

test("each window has the names defined in its lines, overlapping ones both", async () => {
  const python =
    "class A:\n    def b(self):\n        pass\n    def c(self):\n        b = 1\n    def b(self): pass\nX = 3\n";
  expect(await labels({ "a.py": python, "notes.md": "def a():\n    pass\n" })).toEqual({
    "a.py:0": ["A", "b", "c"],
    "a.py:1": ["c", "b", "X"],
    "notes.md:0": [],
  });
});

test("a line that is cut into pieces has its names in the first", async () => {
  const found = await labels({ "a.js": `function first(a) { ${"x = 1;".repeat(30_000)} }\nfunction last() {}\n` });
  expect(Object.values(found)).toEqual([["first"], [], [], ["last"]]);
});

test("a file with NUL after its beginning, and one with names that no label can be", async () => {
  const lisp = `${"; a\n".repeat(4096)}(defun a\0b () 1)\n(defun ok () 1)\n(defun ${"x".repeat(300)} () 1)\n`;
  expect(new Set(Object.values(await labels({ "a.lisp": lisp })).flat())).toEqual(new Set(["ok"]));
});
