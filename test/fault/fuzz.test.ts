/** Untrusted bytes: the native parsers guided by coverage, those of this side by mutations of what they read in use. */
import { expect, test } from "bun:test";
import { buildFuzzer, runFuzzer } from "./fuzzer.ts";
import { targetsOf, tryTarget } from "./parsers.ts";

const seed = Number(process.env.SVC_TEST_SEED ?? Date.now() % 1_000_000);
const targets = targetsOf();

test.each(Object.keys(targets))("%s", (name) => {
  console.log(`seed ${seed}`);
  tryTarget(name, targets[name]!, 4000, seed);
});

test("the files of a store, guided by coverage", async () => {
  const { out, code } = await runFuzzer(await buildFuzzer(), seed, 1500);
  console.log(out);
  expect(out).toMatch(/^[1-9]\d* passed, 0 failed$/m);
  // Without counters an input never is new.
  expect(out).toMatch(/^\d+ tries, [1-9]\d+ inputs, [1-9]\d{3,} edges$/m);
  expect(code).toBe(0);
}, 300_000);
