/** The pages that are made of the program say what the program says. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { makePages } from "../../src/build/docs/make.ts";
import { ROOT } from "../e2e/home.ts";

test("pages that are made are what the program is (repair them with: bun src/build/docs/make.ts)", async () => {
  for (const [name, text] of await makePages()) expect(readFileSync(join(ROOT, "docs", name), "utf8")).toBe(text);
});
