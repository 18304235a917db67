/** The clock against the latest time seen: what a jump ahead and a step back mean for the licence and the memory. */
import { describe, expect, test } from "bun:test";
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { PermissionError } from "../../../src/errors.ts";
import { accountPaths } from "../../../src/paths.ts";
import { readClock, resetClock } from "../../../src/trust/account/clock.ts";
import type { License } from "../../../src/trust/account/license/license.ts";
import { changeGuard, checkLicense } from "../../../src/trust/account/license/license-check.ts";
import { failure, goodClaims, homeWithDevice, LICENSE_PUBLIC_PEM, LOCAL_BUILD, newHome, signed } from "./helpers.ts";

const DAY = 86_400;
const NOW = Date.UTC(2027, 0, 15, 8) / 1000;
const markOf = (home: string) => Number(readFileSync(accountPaths(home).clock, "utf8"));
const AHEAD = "the clock says 2029-01-14 08:00, more than a year after the latest time seen here, 2027-01-15 08:00";
const REMEDY = ": set it, or run 'svc login' if it is right";

/** A home that was last used at NOW, and a licence of its device that ends so many days later, the grace included. */
async function usedHome(days: number) {
  const { home, device } = await homeWithDevice();
  resetClock(home, NOW);
  const jwt = await signed({ ...goodClaims(device.thumbprint, NOW - 1), exp: NOW + (days - 30) * DAY });
  const env = { SVC_LICENSE_PUBKEY: LICENSE_PUBLIC_PEM };
  const check = (now: number): Promise<License> => checkLicense(home, env, jwt, { now, build: LOCAL_BUILD });
  return { home, check };
}

describe("the latest time seen", () => {
  test("moves once an hour, and not with a clock that jumped more than a year ahead", () => {
    const home = newHome();
    expect(readClock(home, NOW)).toEqual({ now: NOW, latest: NOW });
    readClock(home, NOW + 3599);
    expect(markOf(home)).toBe(NOW);
    readClock(home, NOW + 3600);
    expect(markOf(home)).toBe(NOW + 3600);
    resetClock(home, NOW);
    expect(readClock(home, NOW + 366 * DAY).warning).toBeUndefined();
    resetClock(home, NOW);
    const far = NOW + 730 * DAY;
    expect(readClock(home, far)).toEqual({ now: far, latest: far, aheadOf: NOW, warning: AHEAD + REMEDY });
    expect(markOf(home)).toBe(NOW);
    resetClock(home, far);
    expect(readClock(home, far)).toEqual({ now: far, latest: far });
  });

  test("that cannot be read, or says nothing, is not a reason for anything", () => {
    const home = newHome();
    for (const text of ["", "soon", "-5", "1e99", "9".repeat(5000)]) {
      writeFileSync(accountPaths(home).clock, text, { mode: 0o600 });
      expect(readClock(home, NOW)).toEqual({ now: NOW, latest: NOW });
    }
    rmSync(accountPaths(home).clock, { force: true });
    chmodSync(home, 0o500);
    expect(readClock(home, NOW).warning).toBeUndefined();
    chmodSync(home, 0o700);
  });
});

describe("a clock that jumped ahead", () => {
  test("ends no licence: it becomes read-only, with both times and what to do", async () => {
    const { home, check } = await usedHome(400);
    const license = await check(NOW + 730 * DAY);
    expect(license.readOnly).toBe(true);
    expect(license.warnings).toEqual([
      "by this clock the licence ended on 2028-02-19: reading and exporting work, changes are refused",
      AHEAD + REMEDY,
    ]);
    let now = NOW + 730 * DAY;
    const refuse = changeGuard(home, license, () => now)!;
    const error = await failure(refuse, PermissionError);
    expect(error.message).toBe(
      `changes are refused, as by this clock the licence ended on 2028-02-19: ${AHEAD}${REMEDY}`,
    );
    // Set again, it refuses nothing any more, without a restart.
    now = NOW + DAY;
    refuse();
    now = NOW + 730 * DAY;
    await failure(refuse);
    resetClock(home, now);
    refuse();
  });

  test("only warns under a licence that it does not end", async () => {
    const { home, check } = await usedHome(3650);
    const license = await check(NOW + 730 * DAY);
    expect(license).toMatchObject({ readOnly: false, warnings: [AHEAD + REMEDY] });
    expect(changeGuard(home, license)).toBeUndefined();
  });

  test("does not revive a licence that had ended before, nor one that time ended step by step", async () => {
    const { check } = await usedHome(-1);
    expect((await failure(() => check(NOW + 730 * DAY))).message).toContain("days of grace ended");
    const other = await usedHome(400);
    for (const days of [200, 399]) expect((await other.check(NOW + days * DAY)).readOnly).toBe(false);
    expect((await failure(() => other.check(NOW + 401 * DAY))).message).toContain("days of grace ended");
  });

  test("does not make a licence of the future valid, nor hide another fault", async () => {
    const { home, device } = await homeWithDevice();
    resetClock(home, NOW);
    const env = { SVC_LICENSE_PUBKEY: LICENSE_PUBLIC_PEM };
    const foreign = await signed({ ...goodClaims("ed25519:another", NOW), exp: NOW + DAY });
    const later = { now: NOW + 730 * DAY, build: LOCAL_BUILD };
    expect((await failure(() => checkLicense(home, env, foreign, later))).message).toContain("another device");
    const early = await signed({ ...goodClaims(device.thumbprint, NOW + 800 * DAY) });
    expect((await failure(() => checkLicense(home, env, early, later))).message).toContain("not valid yet");
  });
});

test("a clock that went back warns, and the licence stays as it is", async () => {
  const { check } = await usedHome(400);
  const license = await check(NOW - 3 * DAY);
  expect(license).toMatchObject({
    readOnly: false,
    warnings: ["the clock is 3 days behind the latest time seen here: set it, or run 'svc login' if it is right"],
  });
});
