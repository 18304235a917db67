/** An organisation's LICENSE keys: made, taken, rolled over. */
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PermissionError, ValueError } from "../../../src/errors.ts";
import { verifyLicense } from "../../../src/trust/account/license/license.ts";
import { verifySuccessors } from "../../../src/trust/account/license/license-chain.ts";
import { signLicense } from "../../../src/trust/authority/keys.ts";
import { Ledger } from "../../../src/trust/authority/ledger/ledger.ts";
import { licenseJwks } from "../../../src/trust/authority/license-keys.ts";
import { ensureLedgerKey, ledgerKeys, rollOver } from "../../../src/trust/authority/organisation/key-ring.ts";
import { testKey } from "../../keys.ts";
import { failure, LICENSE_KEY_PEM, LICENSE_PUBLIC_PEM, newHome } from "../account/helpers.ts";
import { idOf } from "../account/statements.ts";

const NOW = 1_800_000_000_000;
const DEVICE = `ed25519:${"A".repeat(43)}`;
const BY = { actor: "root", now: NOW };
const GIVEN = { pem: LICENSE_KEY_PEM, name: "key.pem" };

function organisation(data = newHome()) {
  const ledger = new Ledger(join(data, "ledger.sqlite"), data);
  return {
    data,
    ledger,
    keys: ledgerKeys(ledger.licenseKeys),
    copy: () => readFileSync(join(data, "license_key.pub.pem"), "utf8"),
  };
}

describe("the first key", () => {
  test("is made once, and stays", async () => {
    const { data, ledger, keys, copy } = organisation();
    expect(await failure(() => keys.current())).toBeInstanceOf(PermissionError);
    await Promise.all([ensureLedgerKey(ledger, data, BY), ensureLedgerKey(ledger, data, BY)]);
    const { kid, publicKeyPem, privateKey } = keys.current();
    expect(privateKey.asymmetricKeyDetails?.modulusLength).toBe(3072);
    expect(copy()).toBe(publicKeyPem);
    await ensureLedgerKey(ledger, data, BY);
    expect(keys.list()).toEqual([{ kid, publicKeyPem }]);
    expect(keys.statements()).toEqual([]);
    expect(ledger.audit.list({ limit: 9 })).toMatchObject([
      { event: "license_key_added", actor: "root", detail: { key: kid, imported: false } },
    ]);
  });

  test("is the one in the folder, or a given one, and no other afterwards", async () => {
    const { data, ledger, keys } = organisation();
    writeFileSync(join(data, "license_key.pem"), LICENSE_KEY_PEM, { mode: 0o600 });
    await ensureLedgerKey(ledger, data, BY);
    expect(keys.current().kid).toBe(idOf(testKey("license")));
    expect(ledger.audit.list({ limit: 9 })).toMatchObject([{ detail: { imported: true } }]);

    const other = organisation();
    await ensureLedgerKey(other.ledger, other.data, { ...BY, given: GIVEN });
    await ensureLedgerKey(other.ledger, other.data, { ...BY, given: GIVEN });
    expect(other.keys.current().publicKeyPem).toBe(LICENSE_PUBLIC_PEM);
    await rollOver(other.ledger, other.data, BY);
    await ensureLedgerKey(other.ledger, other.data, { ...BY, given: GIVEN });
    expect(other.keys.list()).toHaveLength(2);
    const given = { pem: testKey("license-other").privatePem, name: "other.pem" };
    const error = await failure(() => ensureLedgerKey(other.ledger, other.data, { ...BY, given }), ValueError);
    expect(error.message).toStartWith("'other.pem' is another key than this authority's");
  });

  test("is refused where it is weak, public or no key, and nothing is kept", async () => {
    const { data, ledger } = organisation();
    const refused = async (pem: string) => {
      const error = await failure(() => ensureLedgerKey(ledger, data, { ...BY, given: { pem, name: "k" } }));
      expect(error).toBeInstanceOf(PermissionError);
      return error.message;
    };
    expect(await refused(testKey("license-weak", 2048).privatePem)).toBe(
      "'k' has 2048 bits, at least 3072 are needed: put a longer key in its place",
    );
    for (const pem of [LICENSE_PUBLIC_PEM, "hello"]) expect(await refused(pem)).toBe("'k' is damaged: restore it");
    expect(ledger.licenseKeys.list()).toEqual([]);
    expect(ledger.audit.list({ limit: 9 })).toEqual([]);
  });
});

describe("a later key", () => {
  test("is stated by the one before it, and signs at once, also where another process added it", async () => {
    const { data, ledger, keys, copy } = organisation();
    await ensureLedgerKey(ledger, data, { ...BY, given: GIVEN });
    const grant = { account: "ada", deviceThumbprint: DEVICE, tier: "team", features: ["mcp"], offlineGraceDays: 1 };
    const licence = async () =>
      (await signLicense(keys.current(), { ...grant, issuedAt: NOW / 1000, expiresAt: NOW / 1000 + 60 })).jwt;
    const before = await licence();
    const elsewhere = organisation(data);
    const second = await rollOver(elsewhere.ledger, data, { actor: "eve", now: NOW + 5000 });
    await rollOver(ledger, data, BY);
    elsewhere.ledger.close();

    const after = await licence();
    const verify = (jwt: string, successors: readonly string[]) =>
      verifyLicense(jwt, { publicKeyPem: LICENSE_PUBLIC_PEM, deviceThumbprint: DEVICE, now: NOW / 1000, successors });
    expect((await verify(before, [])).tier).toBe("team");
    expect((await verify(after, keys.statements())).tier).toBe("team");
    expect((await failure(() => verify(after, keys.statements().slice(0, 1)))).message).toContain("not by the key");

    const pems = await verifySuccessors(LICENSE_PUBLIC_PEM, keys.statements(), { now: NOW / 1000 + 5 });
    expect(pems).toEqual([second.publicPem, keys.current().publicKeyPem]);
    expect(keys.list().map(({ publicKeyPem }) => publicKeyPem)).toEqual([...pems].reverse().concat(LICENSE_PUBLIC_PEM));
    expect(licenseJwks(keys).map(({ kid }) => kid)).toEqual(keys.list().map(({ kid }) => kid));
    expect(copy()).toBe(keys.current().publicKeyPem);
    expect(ledger.audit.list({ limit: 9 }).map(({ actor }) => actor)).toEqual(["root", "eve", "root"]);
  });

  test("comes once of two roll-overs at the same time", async () => {
    const { data, ledger, keys } = organisation();
    await ensureLedgerKey(ledger, data, { ...BY, given: GIVEN });
    const tries = await Promise.allSettled([rollOver(ledger, data, BY), rollOver(ledger, data, BY)]);
    expect(tries.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(String(tries.find(({ status }) => status === "rejected")!["reason" as never])).toContain(
      "has just added a key",
    );
    expect(keys.list()).toHaveLength(2);
    expect(await verifySuccessors(LICENSE_PUBLIC_PEM, keys.statements(), { now: NOW / 1000 })).toHaveLength(1);
  });

  test("that a machine could not follow any more is refused, unless it may be left behind", async () => {
    const { data, ledger, keys } = organisation();
    const old = { privatePem: "-", publicPem: "-", createdAt: NOW };
    ledger.licenseKeys.add({ ...old, id: "first", statement: null });
    for (let n = 2; n <= 63; n++) ledger.licenseKeys.add({ ...old, id: `key ${n}`, statement: "-" });
    const id = idOf(testKey("license"));
    ledger.licenseKeys.add({ ...old, id, privatePem: LICENSE_KEY_PEM, publicPem: LICENSE_PUBLIC_PEM, statement: "-" });
    await rollOver(ledger, data, BY);
    expect((await failure(() => rollOver(ledger, data, BY))).message).toStartWith("64 keys have followed SHA256:first");
    expect(keys.list()).toHaveLength(65);
    await rollOver(ledger, data, { ...BY, leaveBehind: true });
    expect((await failure(() => rollOver(ledger, data, BY))).message).toStartWith("64 keys have followed SHA256:key 2");
    ledger.close();
  });

  test("needs a first one", async () => {
    const { data, ledger } = organisation();
    expect((await failure(() => rollOver(ledger, data, BY))).message).toContain("has no LICENSE key");
  });
});
