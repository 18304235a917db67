/** Untrusted bytes: mutations of what the parsers of both sides read in use. `npm run test:soak` is the long one. */
import { expect, test } from "bun:test";
import { buildFuzzer, runFuzzer } from "./fuzzer.ts";
import { targetsOf, tryTarget } from "./parsers.ts";

const seed = Number(process.env.SVC_TEST_SEED ?? Date.now() % 1_000_000);
const targets = targetsOf();

test.each(Object.keys(targets))("%s", (name) => {
  console.log(`seed ${seed}`);
  tryTarget(name, targets[name]!, 4000, seed);
});

// The soak has the counters that guide it.
test("the files of a store", async () => {
  const { out, code } = await runFuzzer(await buildFuzzer("asserting"), seed, 1500);
  console.log(out);
  expect(out).toMatch(/^[1-9]\d* passed, 0 failed$/m);
  expect(code).toBe(0);
}, 300_000);
