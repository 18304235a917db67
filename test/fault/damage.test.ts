/**
 * Damage aimed at every structure of every file: no answer is wrong without saying so, no process dies, and damage of
 * what can be derived costs no row. `npm run test:soak` tries every case.
 */
import { expect, test } from "bun:test";
import { native } from "../fixture.ts";
import { badOf, countsOf, lineOf, tryDamage } from "./damage.ts";

const MOST = 45;

test("damage is noticed, named and confined", async () => {
  const seed = Number(process.env.SVC_TEST_SEED ?? Date.now() % 1_000_000);
  const judged = await tryDamage(await native(), { most: MOST, seed, processes: 2 });
  console.log(`seed ${seed}\n${countsOf(judged)}`);
  expect(badOf(judged).map(lineOf)).toEqual([]);
}, 600_000);
