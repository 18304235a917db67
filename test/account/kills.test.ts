/** A login that is killed at each of its steps. */
import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { requireLogin } from "../../src/account/credentials.ts";
import { login } from "../../src/account/login.ts";
import { SvcError } from "../../src/errors.ts";
import { authorityIn, facesOf, LOCAL_BUILD, newHome } from "./helpers.ts";
import { chosen, forEachOf, killedLogin, leftIn, stepsOf } from "./kills.ts";

const FILES = [
  ".login.lock",
  "api_key",
  "authority",
  "clock",
  "device_id",
  "device_key.pem",
  "login_license.jwt",
  "token",
];
const good = (home: string) => requireLogin(home, {}, { build: LOCAL_BUILD });

/** The next login, in this process. */
async function next(home: string): Promise<void> {
  const authority = await authorityIn(home, { approve: "yes" });
  await login({ home, env: {}, endpoints: facesOf(authority.url), build: LOCAL_BUILD });
  await authority.stop();
}

async function expectWhole(home: string): Promise<void> {
  await good(home);
  expect(leftIn(home)).toEqual([]);
  expect(readdirSync(home).sort()).toEqual(FILES);
}

describe("a login killed at each of its steps", () => {
  test("is done by the next one, which leaves none of its files, whether it came later or was there already", async () => {
    const steps = await stepsOf(join(newHome(), "home"), "account");
    const kinds = ["mkdirSync", "openSync", "writeSync", "linkSync", "renameSync", "ask", "answered", "ledger"];
    expect([...new Set(steps.map((step) => step.split(" ")[0]!))]).toEqual(expect.arrayContaining(kinds));
    const leftBehind: string[] = [];
    await forEachOf(chosen(steps), async (at) => {
      const home = join(newHome(), "home");
      // Every second one beside another login: neither removes what the other is about to use.
      if (at % 2 === 0) {
        await Promise.all([killedLogin(home, "account", at), next(home)]);
        await good(home);
      } else {
        expect(await killedLogin(home, "account", at)).toBe(true);
        const before = await good(home).catch((error) => error);
        if (before instanceof Error) expect(before).toBeInstanceOf(SvcError);
        if (before instanceof Error) expect(before.message).toMatch(/run 'svc login'/);
        leftBehind.push(...leftIn(home));
      }
      await next(home);
      await expectWhole(home);
    });
    // The kills were where they hurt.
    expect(new Set(leftBehind.map((name) => name.replace(/\.[0-9a-f]{8,}/, ""))).size).toBeGreaterThan(5);
  });

  test("leaves an earlier login as good as it was", async () => {
    const homes = await Promise.all([1, 2, 3].map(async () => join(newHome(), "home")));
    for (const home of homes) await next(home);
    const steps = await stepsOf(homes[0]!, "account");
    expect(steps.length).toBeGreaterThan(30);
    const free = [...homes];
    await forEachOf(chosen(steps), async (at) => {
      const home = free.pop()!;
      expect(await killedLogin(home, "account", at)).toBe(true);
      await good(home);
      free.push(home);
    });
    for (const home of homes) {
      await next(home);
      await expectWhole(home);
    }
  });
});
