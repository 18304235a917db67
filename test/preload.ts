/** Loaded before the first test file: what every test ends with. */
import { afterEach } from "bun:test";
import { endOfTest } from "./complete-check.ts";

afterEach(() => {
  const wrong = endOfTest();
  if (wrong.length > 0) throw new Error(`the test left a collection that does not hold together\n${wrong.join("\n")}`);
});
