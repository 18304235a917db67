/** A login that is killed at each of its steps. */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { SvcError } from "../../../src/errors.ts";
import { accountPaths } from "../../../src/paths.ts";
import { requireLogin } from "../../../src/trust/account/license/credentials.ts";
import { login } from "../../../src/trust/account/login/login.ts";
import { licenseAnchor } from "../../../src/trust/account/trusted/anchors.ts";
import { readPin } from "../../../src/trust/account/trusted/pin.ts";
import { organisation } from "./front.ts";
import { authorityIn, facesOf, LOCAL_BUILD, newHome } from "./helpers.ts";
import { chosen, forEachOf, killedLogin, leftIn, stepsOf } from "./kills.ts";
import { enter, fingerprint, flagsOf } from "./organisation-login.ts";

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

/** The numbers of the steps that put a file in its place or remove it: with KILLS=all those of all steps. */
const replacing = (steps: readonly string[]) =>
  steps
    .map((step, index) => ({ step, at: index + 1 }))
    .filter(({ step }) => process.env.KILLS === "all" || /^(renameSync|linkSync|unlinkSync)/.test(step))
    .map(({ at }) => at);

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
    await forEachOf(replacing(steps), async (at) => {
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

describe("a login at another authority killed at each of its steps", () => {
  test("leaves licence, key and address of one authority, and the next login ends it", async () => {
    const [one, two] = [await organisation(), await organisation({ key: "foreign" })];
    const toTwo = { authority: two.url, key: fingerprint(two.publicPem) };
    // From this machine's local authority, from another one, and to the one that is pinned already.
    const begins = {
      own: { begin: next, issuer: undefined },
      pinned: { begin: (home: string) => enter(home, flagsOf(one)), issuer: one.url },
      same: { begin: (home: string) => enter(home, flagsOf(two)), issuer: two.url },
    };
    const seen = new Set<string>();
    for (const [name, { begin, issuer: before }] of Object.entries(begins)) {
      const trial = newHome();
      await begin(trial);
      const steps = await stepsOf(trial, toTwo);
      expect(steps).toContain("renameSync authority.next.json");
      await forEachOf(replacing(steps), async (at) => {
        const home = newHome();
        await begin(home);
        expect(await killedLogin(home, toTwo, at)).toBe(true);
        const issuer = readPin(home)?.issuer ?? undefined;
        expect([before, two.url]).toContain(issuer);
        expect(licenseAnchor(home, {}, LOCAL_BUILD).source).toBe(issuer === undefined ? "local authority" : "pinned");
        await good(home);
        seen.add(`${name} ${issuer === before ? "before" : "after"}`);
        await (issuer === undefined ? next(home) : enter(home));
        await good(home);
        expect(readPin(home)?.issuer ?? undefined).toBe(issuer);
        expect(leftIn(home)).toEqual([]);
        expect(existsSync(accountPaths(home).nextPin)).toBe(false);
      });
    }
    expect([...seen].sort()).toEqual(["own after", "own before", "pinned after", "pinned before", "same before"]);
  });
});
