/** The rows of a repository are written into a base, and their words inverted, once: with the first save or at the end. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchDir, TestMemory } from "../fixture.ts";

/** A repository with a file of so many windows of one line. */
function repository(rows: number): string {
  const root = scratchDir();
  writeFileSync(join(root, "all.txt"), Array.from({ length: rows }, (_, i) => `line number ${i}\n`).join(""));
  return root;
}

async function indexed(m: TestMemory, path: string, rows: number) {
  // A run with a limit, which is not reached here, makes several transactions of what others make one.
  const lines = { mode: "windowed", window_lines: 1, window_overlap_lines: 0, max_files: 10 };
  expect(await m.call("index_repo", { path, ...lines })).toMatchObject({ chunks_added: rows });
  return (await m.call("stats", { collection: "repo_symbols" })).stats;
}

test("a repository of few rows is saved once, with an index for search by word", async () => {
  const m = await TestMemory.open();
  const figures = await indexed(m, repository(300), 300);
  expect(figures).toMatchObject({ generation: 1, base_rows: 300, delta_rows: 0, lexical_index: { k1: 1.2, b: 0.6 } });
  const found = await m.call("search_lexical", { collection: "repo_symbols", query: "number 123", top_k: 1 });
  expect(found.hits[0].metadata).toMatchObject({ start_line: 124 });
});

test("rows beside the base are merged into it once they are more", async () => {
  const m = await TestMemory.open();
  // An empty base, two transactions of rows, and the rewrite.
  expect(await indexed(m, repository(2500), 2500)).toMatchObject({ generation: 4, base_rows: 2500, delta_rows: 0 });
  expect(await indexed(m, repository(2400), 2400)).toMatchObject({ base_rows: 2500, delta_rows: 2400 });
  const merged = await indexed(m, repository(1100), 1100);
  expect(merged).toMatchObject({ base_rows: 6000, delta_rows: 0, lexical_index: { k1: 1.2, b: 0.6 } });
});
