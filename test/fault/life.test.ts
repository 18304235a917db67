/** Random operations through two stores on one directory, against a model. */
import { expect, test } from "bun:test";
import { native } from "../fixture.ts";
import { live } from "./life.ts";

const LIVES = 12;
const STEPS = 120;

test("random operations of two stores on one directory", async () => {
  const first = Number(process.env.SVC_TEST_SEED ?? Date.now() % 1_000_000);
  console.log(`lives of seeds ${first} to ${first + LIVES - 1}`);
  for (let seed = first; seed < first + LIVES; seed++) {
    const { counts } = await live(await native(), seed, STEPS);
    expect(Object.keys(counts).length).toBeGreaterThan(5);
  }
}, 300_000);
