/** A disk that is full, and a kill, at each call of a change that writes. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { newSite } from "./site.ts";

test("a change that fails or ends at any call leaves the file before or after it, and the next one goes on", () => {
  const { site, remove } = newSite();
  const child = Bun.spawnSync([process.execPath, join(import.meta.dir, "faults-child.ts"), site.home]);
  expect(child.stderr.toString()).toBe("");
  const { runs, wrong } = JSON.parse(child.stdout.toString());
  expect(wrong).toEqual([]);
  expect(runs).toBeGreaterThan(60);
  remove();
});
