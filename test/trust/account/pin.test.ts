import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { PermissionError } from "../../../src/errors.ts";
import { accountPaths } from "../../../src/paths.ts";
import { withLoginLock } from "../../../src/trust/account/login/login-lock.ts";
import { licenseAnchor } from "../../../src/trust/account/trusted/anchors.ts";
import {
  addSuccessors,
  type Pin,
  readPin,
  settlePin,
  stagePin,
  writePin,
} from "../../../src/trust/account/trusted/pin.ts";
import { testKey } from "../../keys.ts";
import { failure, LICENSE_PUBLIC_PEM, LOCAL_BUILD, newHome } from "./helpers.ts";

const PIN: Pin = {
  issuer: "https://svc.example",
  licenseKey: LICENSE_PUBLIC_PEM,
  ca: "-----BEGIN CERTIFICATE-----",
  successors: ["a.b.c"],
  pinnedAt: 1_700_000_000,
};
const OTHER: Pin = { ...PIN, issuer: "https://other.example", licenseKey: testKey("foreign").publicPem, ca: null };

describe("a pin", () => {
  test("is a private file, read as it was written", () => {
    const home = newHome();
    expect(readPin(home)).toBeUndefined();
    writePin(home, PIN);
    expect(readPin(home)).toEqual(PIN);
    expect(statSync(accountPaths(home).pin).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(accountPaths(home).pin, "utf8"))).toEqual({
      format: 1,
      issuer: PIN.issuer,
      license_key: PIN.licenseKey,
      ca: PIN.ca,
      successors: PIN.successors,
      pinned_at: PIN.pinnedAt,
    });
  });

  test("is the key that licences are checked by, after the environment's and before this machine's own", async () => {
    const home = newHome();
    writePin(home, PIN);
    const pinned = { publicKeyPem: LICENSE_PUBLIC_PEM, source: "pinned", successors: ["a.b.c"] };
    expect(licenseAnchor(home, {}, LOCAL_BUILD)).toEqual(pinned as never);
    const env = { SVC_LICENSE_PUBKEY: OTHER.licenseKey! };
    expect(licenseAnchor(home, env, LOCAL_BUILD)).toMatchObject({
      source: "SVC_LICENSE_PUBKEY",
      successors: ["a.b.c"],
    });
    chmodSync(home, 0o777);
    expect((await failure(() => licenseAnchor(home, {}, LOCAL_BUILD))).message).toContain(
      "others can write to SVC_HOME",
    );
  });

  test("that is damaged is refused with what to do", async () => {
    const home = newHome();
    const path = accountPaths(home).pin;
    writePin(home, PIN);
    const good = readFileSync(path, "utf8");
    const fields = JSON.parse(good);
    const bad = [
      "",
      "null",
      "[]",
      good.slice(0, -3),
      good.replace('"format":1', '"format":2'),
      good.replace('{"format":1', '{"format":1,"issuer":"https://evil.example"'),
      ...Object.keys(fields).map((name) => JSON.stringify({ ...fields, [name]: undefined })),
      ...Object.entries({ issuer: "file:///x", license_key: "x", ca: "", successors: [1], pinned_at: "1" }).map(
        ([name, value]) => JSON.stringify({ ...fields, [name]: value }),
      ),
    ];
    for (const text of bad) {
      writeFileSync(path, text, { mode: 0o600 });
      const error = await failure(() => readPin(home), PermissionError);
      expect(error.message).toMatch(/^authority\.json is damaged: .*'svc login --authority .*'svc logout --forget'$/);
    }
    writePin(home, PIN);
    chmodSync(path, 0o644);
    expect((await failure(() => readPin(home))).message).toContain("chmod 600");
  });

  test("remembers statements about later keys, and without a pin those alone", () => {
    const home = newHome();
    writePin(home, PIN);
    addSuccessors(home, ["a.b.c", "d.e.f"]);
    expect(readPin(home)).toEqual({ ...PIN, successors: ["a.b.c", "d.e.f"] });
    const { mtimeMs } = statSync(accountPaths(home).pin);
    addSuccessors(home, ["a.b.c", "d.e.f"]);
    expect(statSync(accountPaths(home).pin).mtimeMs).toBe(mtimeMs);
    const vendors = newHome();
    addSuccessors(vendors, ["a.b.c"]);
    expect(readPin(vendors)).toMatchObject({ issuer: null, licenseKey: null, ca: null, successors: ["a.b.c"] });
  });
});

describe("a staged pin", () => {
  const store = (home: string, jwt: string) => writeFileSync(accountPaths(home).license, `${jwt}\n`, { mode: 0o600 });

  test("counts from the moment on that its licence is stored, also before it is in its place", async () => {
    const home = newHome();
    writePin(home, PIN);
    store(home, "old");
    stagePin(home, OTHER, "new");
    expect(readPin(home)).toEqual(PIN);
    store(home, "x".repeat(20_000));
    expect(readPin(home)).toEqual(PIN);
    store(home, "new");
    expect(readPin(home)).toEqual(OTHER);
    // It is settled before the licence is changed again.
    await withLoginLock(home, () => store(home, "renewed"));
    expect(readPin(home)).toEqual(OTHER);
    expect(existsSync(accountPaths(home).nextPin)).toBe(false);
  });

  test("of a login that did not come to its end is dropped", () => {
    const home = newHome();
    stagePin(home, PIN, "new");
    expect(readPin(home)).toBeUndefined();
    settlePin(home);
    expect(existsSync(accountPaths(home).nextPin)).toBe(false);
    store(home, "new");
    expect(readPin(home)).toBeUndefined();
  });
});
