/** Licences that an administrator issues by hand. */
import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { PermissionError, ValueError } from "../../../src/errors.ts";
import { FEATURES } from "../../../src/trust/account/license/features.ts";
import { verifyLicense } from "../../../src/trust/account/license/license.ts";
import { Ledger } from "../../../src/trust/authority/ledger/ledger.ts";
import {
  issueByHand,
  type Licensee,
  type LicenseTerms,
} from "../../../src/trust/authority/organisation/given-license.ts";
import { ensureLedgerKey, rollOver } from "../../../src/trust/authority/organisation/key-ring.ts";
import { failure, LICENSE_KEY_PEM, LICENSE_PUBLIC_PEM, newHome } from "../account/helpers.ts";

const NOW = 1_800_000_000_000;
const TERMS: LicenseTerms = { tier: "team", features: FEATURES, licenseDays: 30, offlineGraceDays: 14 };
const thumbprint = (letter: string) => `ed25519:${letter.repeat(43)}`;
const id = (digit: string) => digit.repeat(32);

let ledger: Ledger;
let data: string;
beforeAll(async () => {
  data = newHome();
  ledger = new Ledger(join(data, "ledger.sqlite"), data);
  const given = { pem: LICENSE_KEY_PEM, name: "key" };
  await ensureLedgerKey(ledger, data, { given, actor: "root", now: NOW });
  for (const [digit, letter, name] of [
    ["1", "A", "build"],
    ["2", "B", "twin"],
    ["3", "C", "twin"],
    ["4", "D", "gone"],
  ] as const) {
    const device = { deviceId: id(digit), thumbprint: thumbprint(letter), publicKey: letter, name };
    ledger.devices.register({ ...device, platform: "linux-x86_64", hostHash: "h", account: "ada" }, NOW);
  }
  ledger.devices.revoke(id("4"), "eve", NOW);
});

const issue = (to: Licensee, terms: Partial<LicenseTerms> = {}) =>
  issueByHand(ledger, to, { ...TERMS, ...terms }, { by: "root", now: NOW });

describe("a licence by hand", () => {
  test("is for a device by its id, its name or its key, and is recorded", async () => {
    for (const to of [{ device: id("1") }, { device: "build" }, { thumbprint: thumbprint("A") }]) {
      const { jwt, id: licence } = await issue(to, { tier: "x", features: ["serve"] });
      const trust = { publicKeyPem: LICENSE_PUBLIC_PEM, deviceThumbprint: thumbprint("A"), now: NOW / 1000 };
      const verified = await verifyLicense(jwt, trust);
      expect(verified).toMatchObject({ id: licence, account: "ada", tier: "x", features: ["serve"], graceDays: 14 });
      expect(verified.expiresAt).toBe(NOW / 1000 + 30 * 86_400);
      expect(ledger.audit.list({ limit: 1 })).toMatchObject([
        {
          ...{ event: "license_issued", actor: "root", device: id("1") },
          detail: { license: licence, tier: "x", features: "serve", thumbprint: thumbprint("A"), by_hand: true },
        },
      ]);
      expect(ledger.devices.get(id("1"))).toMatchObject({ licensedAt: NOW, licenseEnds: NOW + 30 * 86_400_000 });
    }
  });

  test("is for a key that has not enrolled, too, and by the latest of the keys", async () => {
    const { jwt, device, account, id: licence } = await issue({ thumbprint: thumbprint("Z") }, { account: " ci " });
    expect({ device, account }).toEqual({ device: undefined, account: "ci" });
    expect(ledger.audit.list({ limit: 1 })[0]).toMatchObject({
      detail: { license: licence, thumbprint: thumbprint("Z") },
    });
    expect(ledger.audit.list({ limit: 1 })[0]).not.toHaveProperty("device");
    const { statement } = await rollOver(ledger, data, { actor: "root", now: NOW });
    const later = await issue({ thumbprint: thumbprint("Z") });
    const trust = { publicKeyPem: LICENSE_PUBLIC_PEM, deviceThumbprint: thumbprint("Z"), now: NOW / 1000 };
    expect((await verifyLicense(jwt, trust)).tier).toBe("team");
    expect((await verifyLicense(later.jwt, { ...trust, successors: [statement!] })).account).toBe("local");
  });

  const refused: [string, Licensee, Partial<LicenseTerms>, typeof ValueError | typeof PermissionError, RegExp][] = [
    ["a device that is not there", { device: "nobody" }, {}, ValueError, /^there is no device 'nobody'/],
    ["no device at all", { device: "" }, {}, ValueError, /^there is no device ''/],
    ["a name of two", { device: "twin" }, {}, ValueError, /^2 devices are called 'twin': name one by its id \(/],
    ["a revoked device", { device: "gone" }, {}, PermissionError, /^the device 'gone' was revoked: 'svc authority dev/],
    ["its key", { thumbprint: thumbprint("D") }, {}, PermissionError, /was revoked/],
    ["a short thumbprint", { thumbprint: "ed25519:AAA" }, {}, ValueError, /^'ed25519:AAA' is not a thumbprint/],
    ["a thumbprint with more", { thumbprint: `${thumbprint("A")}\n` }, {}, ValueError, /is not a thumbprint/],
    ["an account that hides", { device: "build" }, { account: "a\u202eb" }, ValueError, /holds a control or format/],
    ["an empty account", { device: "build" }, { account: " " }, ValueError, /is empty/],
    ["what machines would refuse", { device: "build" }, { features: [] }, PermissionError, /names no features/],
    [
      "more than fits",
      { device: "build" },
      { features: Array(5000).fill("serve") },
      PermissionError,
      /longer than 16384/,
    ],
  ];
  test.each(refused)("is refused for %s, and nothing is recorded", async (_, to, terms, type, message) => {
    const before = ledger.audit.list({ limit: 99 });
    await failure(() => issue(to, terms), type, message);
    expect(ledger.audit.list({ limit: 99 })).toEqual(before);
  });
});

test("a device that is revoked while its licence is signed gets none", async () => {
  const device = { deviceId: id("5"), thumbprint: thumbprint("E"), publicKey: "E", name: "late" };
  ledger.devices.register({ ...device, platform: "linux-x86_64", hostHash: "h", account: "ada" }, NOW);
  const before = ledger.audit.list({ limit: 99 });
  const issuing = failure(() => issue({ device: "late" }));
  ledger.devices.revoke(id("5"), "eve", NOW);
  expect((await issuing).message).toStartWith("the device 'late' was revoked");
  expect(ledger.audit.list({ limit: 99 })).toEqual(before);
});
