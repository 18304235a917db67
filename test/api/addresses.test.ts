/** An address where a folder belongs is refused in calls of programs, and no folder of that name is made. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { LocalStore } from "../../src/api/local-store.ts";
import { errorLine } from "../../src/errors.ts";
import { localStore } from "./fixture.ts";

const failureOf = (call: Promise<unknown>) => call.then(() => "nothing failed", errorLine);
const HERE = "is an address, not a folder: give a folder of this machine";

test("to open, back up, restore and copy", async () => {
  await using store = await localStore();
  const c = await store.createCollection("c", { dim: 2 });
  await c.add([[1, 0]]);
  const env = { SVC_MEMORY_PATH: "tcp://of-a-test:1" };
  const served = "; a memory that 'svc serve' has is used with --remote, or by connect(address) in a program";
  expect(await failureOf(LocalStore.open("tcp://of-a-test:1"))).toBe(
    `ValueError: path: 'tcp://of-a-test:1' ${HERE}${served}`,
  );
  expect(await failureOf(LocalStore.open(undefined, { env }))).toBe(
    `ValueError: SVC_MEMORY_PATH: 'tcp://of-a-test:1' ${HERE}${served}`,
  );
  for (const call of ["backup", "restore"] as const)
    expect(await failureOf(store[call]("tcp://of-a-test:1"))).toBe(`ValueError: dir: 'tcp://of-a-test:1' ${HERE}`);
  expect(await failureOf(c.snapshot("tcp://of-a-test:1"))).toContain(`ValueError: dir: 'tcp://of-a-test:1' ${HERE}`);
  expect(existsSync("tcp:")).toBe(false);
});
