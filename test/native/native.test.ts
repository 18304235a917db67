/** The C tests, linked with the shipped code, asserts on. Under sanitizers they run with `npm run test:native`. */
import { test } from "bun:test";
import { buildTest, PROGRAMS, runTest } from "./programs.ts";

test.each(PROGRAMS)(
  "%s",
  async (words) => {
    const [name, ...args] = words.split(" ");
    await runTest([await buildTest(name!), ...args]);
  },
  600_000,
);
