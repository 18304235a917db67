/** A dry run as a person reads it. */
import { expect, test } from "bun:test";
import { renderDryRun } from "../../../src/cli/mem/render/dry-run.ts";

const PAYLOAD = {
  ...{ status: "dry_run" as const, collection: "repo_symbols", repo_id: "0", workspace: "/repo" },
  ...{ files_tracked: 2, files: 3, bytes: 1500 },
  languages: [
    { language: "python", files: 2, bytes: 1000 },
    { language: "yaml", files: 1, bytes: 500 },
  ],
  changes: { new: { count: 6, paths: ["a", "b", "c", "d", "e\u001b[31m"] } },
  left_out: { too_large: { count: 1, paths: ["big.sql"] } },
};

test("counts, languages, changes and reasons, a line each, without control characters", () => {
  expect(renderDryRun(PAYLOAD).split("\n")).toEqual([
    "would index 3 files (2 KB) into repo_symbols, which has 2 of this repository",
    "  2 python, 1 yaml",
    "new: 6 (a, b, c, d, e\\x1b[31m, …)",
    "left out, too large: 1 (big.sql)",
  ]);
});

test("a look that the time limit ended says so", () => {
  const lines = renderDryRun({ ...PAYLOAD, changes: {}, left_out: {}, truncated: true }).split("\n");
  expect(lines.at(-1)).toBe("stopped at the time limit: there may be more");
});
