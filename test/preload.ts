/** Loaded before the first test file: what every test begins and ends with. */
import { afterEach, beforeEach } from "bun:test";
import { endOfTest } from "./complete-check.ts";
import { beginTest, closeOpened } from "./opened.ts";

beforeEach(beginTest);

afterEach(async () => {
  let wrong: readonly string[] = [];
  try {
    await closeOpened();
  } finally {
    wrong = endOfTest();
  }
  if (wrong.length > 0) throw new Error(`the test left a collection that does not hold together\n${wrong.join("\n")}`);
});
