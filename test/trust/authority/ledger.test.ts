/** The parts of an authority's ledger, each against what the others rely on. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OSError, ValueError } from "../../../src/errors.ts";
import type { NewDevice } from "../../../src/trust/authority/ledger/devices.ts";
import { Ledger } from "../../../src/trust/authority/ledger/ledger.ts";
import { LEDGER_VERSION } from "../../../src/trust/authority/ledger/schema.ts";
import { failure, newHome } from "../account/helpers.ts";

const NOW = 1_800_000_000_000;
const id = (n: number) => n.toString(16).padStart(32, "0");
const device = (n: number, more: Partial<NewDevice> = {}): NewDevice => ({
  deviceId: id(n),
  thumbprint: `ed25519:${n}`,
  publicKey: `public ${n}`,
  platform: "linux-x86_64",
  hostHash: `sha256:${n}`,
  account: "ada",
  ...more,
});

function ledgerIn(home = newHome()): Ledger {
  return new Ledger(join(home, "ledger.sqlite"), home);
}

describe("devices", () => {
  test("are registered once, by id and key", () => {
    const { devices } = ledgerIn();
    expect(devices.register(device(1, { name: "ci", tags: ["a", "b"], enrolledBy: "k1" }), NOW)).toBe("new");
    expect(devices.register(device(1, { account: "bo", name: "other", platform: "macos-arm64" }), NOW + 5)).toBe(
      "known",
    );
    expect(devices.register(device(1, { thumbprint: "ed25519:other" }), NOW + 6)).toBe("conflict");
    expect(devices.get(id(1))).toEqual({
      ...device(1),
      account: "bo",
      platform: "macos-arm64",
      name: "ci",
      tags: ["a", "b"],
      enrolledBy: "k1",
      registeredAt: NOW,
      seenAt: NOW + 5,
      licensedAt: null,
      licenseEnds: null,
      revokedAt: null,
      revokedBy: null,
    });
    expect(devices.get(id(2))).toBeUndefined();
  });

  test("a revoked one stays out, under another id too, until it is allowed", () => {
    const { devices, access } = ledgerIn();
    devices.register(device(1), NOW);
    access.setApiKey("svk_1", "ada", id(1), NOW);
    access.addToken("svt_1", { account: "ada", thumbprint: "ed25519:1" }, NOW + 1000);
    expect(devices.revoke(id(1), "eve", NOW + 1)).toBe(true);
    expect(devices.revoke(id(1), "mallory", NOW + 2)).toBe(false);
    expect(devices.get(id(1))).toMatchObject({ revokedAt: NOW + 1, revokedBy: "eve" });
    expect(devices.register(device(1), NOW + 3)).toBe("revoked");
    expect(devices.register(device(2, { thumbprint: "ed25519:1" }), NOW + 3)).toBe("revoked");
    expect(access.ownerOfApiKey("svk_1")).toEqual({ account: "ada", deviceId: id(1), revoked: true });
    expect(access.tokenOwner("svt_1", NOW)?.revoked).toBe(true);
    expect(devices.count()).toEqual({ all: 1, revoked: 1 });
    expect(devices.allow(id(1), NOW + 4)).toBe(true);
    expect(devices.allow(id(1), NOW + 5)).toBe(false);
    expect(access.ownerOfApiKey("svk_1")?.revoked).toBe(false);
    expect(access.tokenOwner("svt_1", NOW)?.revoked).toBe(false);
    expect(devices.register(device(1), NOW + 6)).toBe("known");
  });

  test("are listed by pages, newest first, and found by part of what is known of them", () => {
    const { devices } = ledgerIn();
    for (let n = 0; n < 25; n++) devices.register(device(n, { name: n % 5 ? "" : `Build_${n}%` }), NOW + (n >> 1));
    devices.revoke(id(3), "eve", NOW);
    const found: string[] = [];
    for (let after: string | undefined; ; ) {
      const page = devices.list({ after, limit: 4 });
      found.push(...page.map(({ deviceId }) => deviceId));
      after = page.at(-1)?.deviceId;
      if (page.length < 4) break;
    }
    expect(found).toEqual(Array.from({ length: 25 }, (_, n) => id(24 - n)));
    const named = (search: string) => devices.list({ search, limit: 100 }).map(({ name }) => name);
    expect(named("build_1")).toEqual(["Build_15%", "Build_10%"]);
    expect(named("%")).toHaveLength(5);
    expect(named("' OR 1 --")).toEqual([]);
    expect(devices.list({ revoked: true, limit: 9 }).map(({ deviceId }) => deviceId)).toEqual([id(3)]);
    expect(devices.list({ revoked: false, limit: 100 })).toHaveLength(24);
  });

  test("know their last licence; a key without a device can have one", () => {
    const { devices } = ledgerIn();
    devices.register(device(1), NOW);
    devices.addLicense("l1", id(1), "team", NOW, NOW + 10);
    devices.addLicense("l2", null, "team", NOW, NOW + 10);
    expect(devices.get(id(1))).toMatchObject({ licensedAt: NOW, licenseEnds: NOW + 10 });
    expect(() => devices.addLicense("l3", id(9), "team", NOW, NOW)).toThrow("FOREIGN KEY");
  });
});

test("a token is bound to the first device, or to the key that asked for it", () => {
  const { access } = ledgerIn();
  access.addToken("open", { account: "ada" }, NOW + 10);
  access.addToken("bound", { account: "ada", thumbprint: "ed25519:1" }, NOW + 10);
  expect(access.tokenOwner("open", NOW)).toEqual({ account: "ada", thumbprint: null, deviceId: null, revoked: false });
  expect(access.bindToken("open", id(1), null)).toBe(true);
  expect(access.bindToken("open", id(2), null)).toBe(false);
  expect(access.bindToken("open", id(1), "ed25519:1")).toBe(true);
  expect(access.bindToken("bound", id(2), "ed25519:2")).toBe(false);
  expect(access.bindToken("bound", id(2), null)).toBe(false);
  expect(access.bindToken("bound", id(1), "ed25519:1")).toBe(true);
  expect(access.bindToken("unknown", id(1), null)).toBe(false);
  expect(access.tokenOwner("bound", NOW)).toMatchObject({ thumbprint: "ed25519:1", deviceId: id(1) });
  expect(access.tokenOwner("bound", NOW + 10)).toBeUndefined();
});

test("what has expired is purged, a bounded number at once", () => {
  const { access } = ledgerIn();
  for (let n = 0; n < 500; n++) access.addNonce(`n${n}`, id(1), "t", NOW + n);
  for (const left of [300, 100, 100]) {
    access.purge(NOW + 400);
    expect(access.db.query("SELECT count(*) AS n FROM nonces").get()).toEqual({ n: left });
  }
  expect([access.takeNonce("n399", id(1), "t", NOW), access.takeNonce("n400", id(1), "t", NOW)]).toEqual([false, true]);
});

test("an enrolment key says why it does not let in", () => {
  const { enrollKeys } = ledgerIn();
  const key = { label: "", tags: ["ci"], account: "ci", usesMax: 1, expiresAt: NOW + 100, by: "eve" };
  enrollKeys.create({ ...key, id: "one", secret: "s1" }, NOW);
  enrollKeys.create({ ...key, id: "many", secret: "s2", usesMax: null, expiresAt: null }, NOW + 1);
  expect(enrollKeys.use("s1", NOW).kind).toBe("ok");
  expect(enrollKeys.use("s1", NOW)).toMatchObject({ kind: "used", key: { id: "one", uses: 1, usedAt: NOW } });
  expect(enrollKeys.use("s1", NOW + 100).kind).toBe("expired");
  expect(enrollKeys.use("s3", NOW)).toEqual({ kind: "unknown" });
  for (const uses of [1, 2, 3]) expect(enrollKeys.use("s2", NOW + 200)).toMatchObject({ kind: "ok", key: { uses } });
  expect(enrollKeys.revoke("many", "eve", NOW + 300)).toBe(true);
  expect(enrollKeys.revoke("many", "bob", NOW + 301)).toBe(false);
  expect(enrollKeys.use("s2", NOW + 300)).toMatchObject({ kind: "revoked", key: { revokedBy: "eve" } });
  expect(enrollKeys.list().map((entry) => entry.id)).toEqual(["many", "one"]);
});

test("a change and its record are one", () => {
  const { transaction, ...parts } = bound(ledgerIn());
  expect(() =>
    transaction(() => {
      parts.devices.register(device(1), NOW);
      parts.audit.add({ at: NOW, event: "device_registered", actor: "ada", device: id(1) });
      try {
        transaction(() => {
          parts.devices.register(device(2), NOW);
          throw new Error("inside");
        });
      } catch {}
      expect([parts.devices.get(id(1))?.account, parts.devices.get(id(2))]).toEqual(["ada", undefined]);
      throw new Error("outside");
    }),
  ).toThrow("outside");
  expect([parts.devices.count().all, parts.audit.list({ limit: 9 })]).toEqual([0, []]);
});

test("the audit log is read by pages, filtered and exported", () => {
  const { audit } = ledgerIn();
  const detail = { tier: "team", days: 30, first: true, old: null };
  for (let n = 0; n < 1234; n++)
    audit.add({
      at: NOW + n,
      event: n % 2 ? "license_issued" : "device_registered",
      actor: "ada",
      ...(n % 100 === 0 && { device: id(n), address: "::1", detail }),
    });
  expect(audit.list({ limit: 1, device: id(100) })).toEqual([
    { id: 101, at: NOW + 100, event: "device_registered", actor: "ada", device: id(100), address: "::1", detail },
  ]);
  expect(audit.list({ limit: 2, event: "license_issued", before: 100 }).map((row) => row.id)).toEqual([98, 96]);
  expect([...audit.each({ since: NOW + 30 })].map((row) => row.id)).toEqual(
    Array.from({ length: 1204 }, (_, n) => n + 31),
  );
});

test("administrators are found by their codes, LICENSE keys in their order", () => {
  const { admins, licenseKeys } = ledgerIn();
  expect([admins.add("eve", "sva_1", NOW), admins.add("eve", "sva_2", NOW)]).toEqual([true, false]);
  expect([admins.find("sva_1"), admins.find("sva_2")]).toEqual(["eve", undefined]);
  expect(admins.list()).toEqual([{ name: "eve", createdAt: NOW }]);
  expect([admins.remove("eve"), admins.remove("eve"), admins.find("sva_1")]).toEqual([true, false, undefined]);
  const keys = ["z", "a"].map((key) => ({ id: key, privatePem: "x", publicPem: "y", createdAt: NOW, statement: null }));
  for (const key of keys) licenseKeys.add(key);
  expect(licenseKeys.list()).toEqual(keys);
  expect(licenseKeys.current()?.id).toBe("a");
});

test("a backup is a private file that opens as a ledger, and replaces none", async () => {
  const home = newHome();
  const ledger = ledgerIn(home);
  ledger.devices.register(device(1), NOW);
  const path = join(newHome(), "ledger.sqlite");
  ledger.backup(path);
  ledger.devices.register(device(2), NOW);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(await failure(() => ledger.backup(path))).toBeInstanceOf(ValueError);
  const restored = new Ledger(path, home);
  expect(restored.devices.count()).toEqual({ all: 1, revoked: 0 });
});

describe("a ledger of another version", () => {
  test("of version 2 keeps its rows, also where an older executable comes between", () => {
    const home = newHome();
    const path = join(home, "ledger.sqlite");
    writeFileSync(path, "", { mode: 0o600 });
    using old = new Database(path, { strict: true });
    old.run(readFileSync(join(import.meta.dir, "ledger-2.sql"), "utf8"));
    const next = () => {
      const ledger = new Ledger(path, home);
      expect(ledger.access.ownerOfApiKey("svk_old")).toEqual({ account: "ada", deviceId: id(1), revoked: false });
      expect(ledger.access.tokenOwner("svt_old", NOW)).toMatchObject({ account: "ada", thumbprint: null });
      expect(ledger.codes.openCodes(0).count).toBe(1);
      const { licensedAt, licenseEnds, name, tags } = ledger.devices.get(id(1)) ?? {};
      expect({ name, tags }).toEqual({ name: "", tags: [] });
      ledger.devices.addLicense(crypto.randomUUID(), null, "team", 1, 2);
      ledger.close();
      return [licensedAt, licenseEnds];
    };
    expect(next()).toEqual([3000, 4000]);
    expect(next()).toEqual([3000, 4000]);
    old.run("INSERT INTO licenses VALUES ('l3', '00000000000000000000000000000001', 'team', 5000, 6000)");
    old.run("PRAGMA user_version = 2");
    expect(next()).toEqual([5000, 6000]);
  });

  test("of a later one is refused, and left as it was", async () => {
    const home = newHome();
    const path = join(home, "ledger.sqlite");
    ledgerIn(home).close();
    using db = new Database(path);
    db.run(`PRAGMA user_version = ${LEDGER_VERSION + 1}`);
    const error = await failure(() => ledgerIn(home), OSError);
    expect(error.message).toMatch(/has version 4, of a newer svc; this one knows versions up to 3: use the newer svc/);
  });
});

/** A ledger whose `transaction` can be taken out of it. */
function bound(ledger: Ledger) {
  const { devices, audit } = ledger;
  return { devices, audit, transaction: <T>(action: () => T) => ledger.transaction(action) };
}
