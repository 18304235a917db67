/** A revoked device is refused whatever it shows, at once and in the middle of what it does; the real client stops. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { accountPaths } from "../../../src/paths.ts";
import { givenEnrollKey } from "../../../src/trust/account/enroll-key.ts";
import { readCredentials, requireLogin } from "../../../src/trust/account/license/credentials.ts";
import { DeviceRevoked } from "../../../src/trust/account/license/revocation.ts";
import { type LoginOptions, login } from "../../../src/trust/account/login/login.ts";
import { fetchBundle } from "../../../src/trust/account/login/packages.ts";
import { renewByConsent, settleConsent } from "../../../src/trust/account/login/renewal.ts";
import { allowDevice, revokeDevice } from "../../../src/trust/authority/organisation/device-actions.ts";
import { facesOf, failure, newHome } from "../account/helpers.ts";
import { BUILD } from "../account/member.ts";
import { Device, outcome, post } from "./device.ts";
import { ADMINISTRATOR, organisation } from "./enrolling.ts";

const BUNDLE = "/runtime/1.0.0/linux-x86_64.bundle";

/** A device that is enrolled, and its requests by name. */
async function enrolled() {
  const bytes = crypto.getRandomValues(new Uint8Array(5000));
  const authority = await organisation({ bundle: () => bytes, approve: "yes" });
  const { url, ledger, newKey, clock } = authority;
  const device = new Device();
  const key = newKey({ usesMax: null });
  const { access_token: token, api_key: apiKey } = (await (await device.enroll(url, key.text)).json()) as Record<
    string,
    string
  >;
  const identity = { device_id: device.id, key_thumbprint: device.thumbprint };
  const nonce = () => post(`${url}/v1/device/nonce`, apiKey, identity);
  const register = async (given: string) =>
    post(`${url}/v1/device/register`, apiKey, {
      ...identity,
      public_key: device.publicKey,
      platform: "linux-x86_64",
      host_hash: `sha256:${"0".repeat(64)}`,
      nonce: given,
      signature: device.sign(new TextEncoder().encode(given)),
    });
  const headers = { authorization: `Bearer ${apiKey}` };
  const requests: Record<string, () => Promise<Response>> = {
    onboard: () => post(`${url}/v1/svc/onboard`, token, device.proof("onboard", token!)),
    "onboard without a proof": () => post(`${url}/v1/svc/onboard`, token, {}),
    nonce,
    "register with a nonce that was not given": () => register("n".repeat(43)),
    "enroll again": () => device.enroll(url, key.text),
    "enroll with another key": () => device.enroll(url, newKey().text),
    "a new approval": () =>
      fetch(`${url}/oauth/device/code`, {
        method: "POST",
        body: new URLSearchParams({ client_id: "svc", key_thumbprint: device.thumbprint }),
      }),
    bundle: () => fetch(url + BUNDLE, { headers }),
    "a bundle that is not there": () => fetch(`${url}/runtime/9.9.9/no.bundle`, { headers }),
  };
  const revoke = () => revokeDevice(ledger, device.id, ADMINISTRATOR, clock.now);
  const allow = () => allowDevice(ledger, device.id, ADMINISTRATOR, clock.now);
  return {
    ...authority,
    device,
    key,
    token: token!,
    apiKey: apiKey!,
    nonce,
    register,
    requests,
    headers,
    revoke,
    allow,
  };
}

test("every endpoint answers 403 device_revoked at once, until the device is allowed again", async () => {
  const { requests, revoke, allow, ledger, device } = await enrolled();
  revoke();
  for (const [name, ask] of Object.entries(requests))
    expect([name, await outcome(ask())]).toEqual([name, "403 device_revoked"]);
  const licences = ledger.audit.list({ event: "license_issued", limit: 100 }).length;
  expect(licences).toBe(1);
  allow();
  // Those that give another API key come last.
  for (const name of ["nonce", "bundle", "a new approval", "onboard", "enroll with another key"])
    expect([name, (await requests[name]!()).status]).toEqual([name, 200]);
  expect(ledger.devices.get(device.id)?.revokedAt).toBeNull();
});

test("a machine that has taken another id is refused under both", async () => {
  const { url, newKey, device, apiKey, revoke, allow } = await enrolled();
  const other = "0".repeat(32);
  const key = newKey().text;
  const asOther = { ...device.enrollment(key), ...device.proof("enroll", key, other) };
  const { api_key: second } = (await (await post(`${url}/v1/svc/enroll`, key, asOther)).json()) as { api_key: string };
  const ask = (bearer: string) => fetch(url + BUNDLE, { headers: { authorization: `Bearer ${bearer}` } });
  revoke();
  for (const bearer of [apiKey, second]) expect(await outcome(ask(bearer))).toBe("403 device_revoked");
  allow();
  for (const bearer of [apiKey, second]) expect((await ask(bearer)).status).toBe(200);
});

test("in the middle of a registration and between two downloads of a bundle", async () => {
  const { nonce, register, revoke, ledger, url, headers } = await enrolled();
  const { nonce: given } = (await (await nonce()).json()) as { nonce: string };
  const ask = () => fetch(url + BUNDLE, { headers });
  expect((await ask()).status).toBe(200);
  revoke();
  expect(await outcome(ask())).toBe("403 device_revoked");
  expect(await outcome(register(given))).toBe("403 device_revoked");
  expect(ledger.audit.list({ event: "license_issued", limit: 100 })).toHaveLength(1);
});

test("after its approval, before it has fetched its token and after that", async () => {
  const { device, revoke, url } = await enrolled();
  const ask = (path: string, form: Record<string, string>) =>
    fetch(url + path, { method: "POST", body: new URLSearchParams({ client_id: "svc", ...form }) });
  const asked = (await (await ask("/oauth/device/code", { key_thumbprint: device.thumbprint })).json()) as {
    device_code: string;
  };
  revoke();
  const grant = { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code: asked.device_code };
  const { access_token: token = "" } = (await (await ask("/oauth/device/token", grant)).json()) as {
    access_token?: string;
  };
  expect(await outcome(post(`${url}/v1/svc/onboard`, token, device.proof("onboard", token)))).toBe(
    "403 device_revoked",
  );
});

test("another device that shows its token or key is not told that it was revoked", async () => {
  const { token, apiKey, revoke, url, ledger } = await enrolled();
  revoke();
  const other = new Device();
  expect(await outcome(post(`${url}/v1/svc/onboard`, token, other.proof("onboard", token)))).toBe("403 token_bound");
  const home = newHome();
  const enter = (more: Partial<LoginOptions>) =>
    login({ home, env: {}, endpoints: facesOf(url), build: BUILD, ...more });
  await enter({});
  expect(await failure(() => enter({ token }))).not.toBeInstanceOf(DeviceRevoked);
  // The key's device is: the answer removes nothing here.
  await failure(() => enter({ env: { SVC_API_KEY: apiKey } }));
  await requireLogin(home, {}, { build: BUILD });
  expect(ledger.devices.count()).toEqual({ all: 2, revoked: 1 });
});

test("the client loses its licence at its next renewal, login, enrolment or download, and works again once it is allowed", async () => {
  const authority = await organisation({ approve: "yes", licenseDays: 30, offlineGraceDays: 14 });
  const { url, ledger, newKey, clock } = authority;
  const home = newHome();
  const enter = (more: Partial<LoginOptions> = {}) =>
    login({ home, env: {}, endpoints: facesOf(url), build: BUILD, ...more });
  const check = () => requireLogin(home, {}, { build: BUILD });
  const { deviceId, apiKey, license } = await enter();
  const bundle = () =>
    fetchBundle({
      packages: url,
      version: "1.0.0",
      tag: "linux-x86_64",
      apiKey: readCredentials(home, {}).apiKey!,
    });
  await settleConsent(home, { wanted: true, api: url, apiKey });
  const later = license.issuedAt! + 21 * 86_400;
  const ways: [string, () => Promise<unknown>][] = [
    ["a renewal", async () => renewByConsent(home, {}, license, { now: later, build: BUILD })],
    ["a login", () => enter()],
    ["an enrolment", () => enter({ enrollKey: givenEnrollKey(newKey().text) })],
  ];
  for (const [way, ask] of ways) {
    revokeDevice(ledger, deviceId, ADMINISTRATOR, clock.now);
    await check(); // nothing was asked yet
    expect([way, (await failure(ask)).message]).toEqual([
      way,
      `this device was revoked at ${url}: ask its administrator, then 'svc login'`,
    ]);
    expect(existsSync(accountPaths(home).license)).toBe(false);
    expect(await failure(check)).toBeInstanceOf(DeviceRevoked);
    expect(await failure(bundle)).toBeInstanceOf(DeviceRevoked);
    allowDevice(ledger, deviceId, ADMINISTRATOR, clock.now);
    expect(await failure(check)).toBeInstanceOf(DeviceRevoked);
    const again = await enter();
    await settleConsent(home, { wanted: true, api: url, apiKey: again.apiKey });
    expect((await check()).jwt).toBe(readFileSync(accountPaths(home).license, "utf8").trim());
    if (way !== "a renewal") continue;
    // The renewal of the next day, by the licence of the login.
    clock.now = (later + 86_400) * 1000;
    expect(await renewByConsent(home, {}, again.license, { now: later + 86_400, build: BUILD })).toBeDefined();
    clock.now = Date.now();
  }
});
