/** What the pages, a file of their own in the executable, take from the rest of svc. */
import { expect, test } from "bun:test";
import { isHostCurrent } from "../../src/build/ui-bundle.ts";
import { ROOT } from "../e2e/home.ts";

test("host.gen.ts has what the pages import: bun src/build/ui-bundle.ts makes it", () => {
  expect(isHostCurrent(ROOT)).toBe(true);
});
