import { expect, test } from "bun:test";
import { join } from "node:path";
import { ended } from "../ended.ts";

test("the tour of `npm start` runs through", async () => {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "tour.ts")], { stdout: "pipe", stderr: "pipe" });
  const { out, err, code } = await ended(child);
  expect(err).toBe("");
  expect(code).toBe(0);
  expect(out).toContain("19 tools");
  expect(out).toContain("1. deploy-blue-green");
  expect(out).toContain('"mcpServers"');
}, 60_000);
