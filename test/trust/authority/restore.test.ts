/** A backup that is made while devices enrol, put back as the page about it says. */
import { expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { authorityFiles } from "../../../src/paths.ts";
import { verifyLicense } from "../../../src/trust/account/license/license.ts";
import { openData } from "../../../src/trust/authority/organisation/data.ts";
import { createEnrollKey } from "../../../src/trust/authority/organisation/enroll-key-actions.ts";
import { startAuthority } from "../../../src/trust/authority/server/server.ts";
import { svc } from "../../cli/support.ts";
import { newHome } from "../account/helpers.ts";
import { Device, outcome, post } from "./device.ts";

interface Enrolled {
  readonly api_key: string;
  readonly license: string;
}

test("an authority goes on from a backup: its devices are known, and what came later is not", async () => {
  const home = newHome();
  const data = join(home, "first");
  const first = await startAuthority({ home, data });
  const ledger = openData(data, home);
  const { text } = createEnrollKey(ledger, { usesMax: null, expiresAt: null }, { by: "test" }, Date.now());
  const enrolled: { device: Device; answer: Enrolled }[] = [];
  const file = join(newHome(), "backup.sqlite");
  let isBackedUp = false;
  const enrollOn = async () => {
    // One more after the backup, at least.
    for (let after = 0; after < 1; ) {
      if (isBackedUp) after++;
      const device = new Device();
      enrolled.push({ device, answer: (await (await device.enroll(first.url, text)).json()) as Enrolled });
    }
  };
  const load = Promise.all([enrollOn(), enrollOn(), enrollOn()]);
  while (enrolled.length < 10) await Bun.sleep(5);
  const before = enrolled.map(({ device }) => device.id);
  const backup = await svc(["authority", "backup", "--json", "--data", data, file]);
  isBackedUp = true;
  await load;
  ledger.close();
  await first.stop();
  const { devices } = JSON.parse(backup.stdout) as { devices: number };
  expect(backup.code).toBe(0);

  const restored = join(home, "second");
  mkdirSync(restored, { mode: 0o700 });
  copyFileSync(file, authorityFiles(restored).ledger);
  const second = await startAuthority({ home, data: restored });
  expect(second.licensePublicKeyPem).toBe(first.licensePublicKeyPem);
  const known: string[] = [];
  for (const { device, answer } of enrolled) {
    const trust = { publicKeyPem: second.licensePublicKeyPem, deviceThumbprint: device.thumbprint };
    await verifyLicense(answer.license, trust);
    const asked = { device_id: device.id, key_thumbprint: device.thumbprint };
    const got = await outcome(post(`${second.url}/v1/device/nonce`, answer.api_key, asked));
    expect(["200", "401 invalid_token"]).toContain(got);
    if (got === "200") known.push(device.id);
    // With the same key it is in again.
    expect(await outcome(device.enroll(second.url, text))).toBe("200");
  }
  for (const id of before) expect(known).toContain(id);
  expect(known).toHaveLength(devices);
  expect(known.length).toBeLessThan(enrolled.length);
  const again = openData(restored, home);
  expect(again.devices.list({ limit: 1000 }).every(({ licensedAt }) => licensedAt !== null)).toBe(true);
  expect(again.devices.count().all).toBe(enrolled.length);
  again.close();
  await second.stop();
  expect(readdirSync(restored).sort()).toEqual(["approval_code", "ledger.sqlite", "license_key.pub.pem", "serve.lock"]);
});
