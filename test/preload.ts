/** Loaded before the first test file: what every test, and every file, begins and ends with. */
import { afterAll, afterEach, beforeEach } from "bun:test";
import { endOfFile, endOfTest } from "./complete-check.ts";
import { beginTest, closeOpened, closeShared } from "./opened.ts";

beforeEach(beginTest);

afterEach(() => end("test", closeOpened, endOfTest));

// `npm test` runs this at the end of each file; `bun test` without --parallel once, at the end of all.
afterAll(() => end("file", closeShared, endOfFile));

async function end(of: string, close: () => Promise<void>, check: () => string[]): Promise<void> {
  let wrong: readonly string[] = [];
  try {
    await close();
  } finally {
    wrong = check();
  }
  if (wrong.length > 0) throw new Error(`the ${of} left a collection that does not hold together\n${wrong.join("\n")}`);
}
