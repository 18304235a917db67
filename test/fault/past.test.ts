/** Random changes and undos through two stores on one directory, against a model of the rows and the history. */
import { expect, test } from "bun:test";
import { native } from "../fixture.ts";
import { livePast } from "./past.ts";

const LIVES = 3;
const STEPS = 40;

test("random changes, undos and rewrites of two stores on one directory", async () => {
  const first = Number(process.env.SVC_TEST_SEED ?? Date.now() % 1_000_000);
  console.log(`pasts of seeds ${first} to ${first + LIVES - 1}`);
  for (let seed = first; seed < first + LIVES; seed++) {
    const counts = await livePast(await native(), seed, STEPS);
    expect(Object.keys(counts).length).toBeGreaterThan(4);
  }
}, 60_000);
