/** Access tokens are one device's: what a copied token file is worth, and what onboarding asks for. */
import { expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PermissionError } from "../../../src/errors.ts";
import { accountPaths } from "../../../src/paths.ts";
import { ensureDevice } from "../../../src/trust/account/device.ts";
import { login } from "../../../src/trust/account/login/login.ts";
import { facesOf, failure, LICENSE_PUBLIC_PEM, LOCAL_BUILD, newHome } from "../account/helpers.ts";
import { newCode, poll } from "./client.ts";
import { Device, outcome, post } from "./device.ts";
import { DAY, organisation } from "./enrolling.ts";

const env = { SVC_LICENSE_PUBKEY: LICENSE_PUBLIC_PEM };
const enter = (home: string, url: string, token?: string) =>
  login({ home, env, endpoints: facesOf(url), build: LOCAL_BUILD, token });
const read = (path: string) => readFileSync(path, "utf8").trim();
const BOUND = /^the token is another device's: run 'svc login' without it, or with an enrolment key/;

/** A token that a client of another make got by the device flow: bound to no key. */
async function unboundToken(url: string): Promise<string> {
  const { device_code } = await newCode(url);
  return String((await poll(url, device_code)).access_token);
}

test("a copied token file enrols no further device, with the device id or without it", async () => {
  const { url, ledger } = await organisation({ approve: "yes" });
  const home = newHome();
  await enter(home, url);
  const apiKey = read(accountPaths(home).apiKey);
  for (const files of [["token"], ["token", "deviceId"]] as const) {
    const copy = newHome();
    for (const file of files) copyFileSync(accountPaths(home)[file], accountPaths(copy)[file]);
    const refused = await failure(() => enter(copy, url, read(accountPaths(copy).token)), PermissionError);
    expect(refused.message).toMatch(files.length === 1 ? BOUND : /^the device id is registered with another key/);
  }
  expect(ledger.devices.count().all).toBe(1);
  // What was refused took nothing away from the device, which can go on with its token.
  expect(ledger.access.ownerOfApiKey(apiKey)).toBeDefined();
  await enter(home, url, read(accountPaths(home).token));
  expect(ledger.access.ownerOfApiKey(apiKey)).toBeUndefined();
  expect(ledger.devices.count().all).toBe(1);
  // All of the files, the device's key among them, are that device.
  const whole = newHome();
  for (const file of ["token", "deviceId", "deviceKey"] as const)
    copyFileSync(accountPaths(home)[file], accountPaths(whole)[file]);
  await enter(whole, url, read(accountPaths(whole).token));
  expect(ledger.devices.count().all).toBe(1);
});

test("a token that another client got belongs to the first device that shows it", async () => {
  const { url, ledger, clock } = await organisation({ approve: "yes" });
  const token = await unboundToken(url);
  expect(ledger.access.tokenOwner(token, clock.now)).toMatchObject({ thumbprint: null, deviceId: null });
  const homes = [newHome(), newHome(), newHome()];
  const tried = await Promise.allSettled(homes.map((home) => enter(home, url, token)));
  expect(tried.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
  const winner = homes[tried.findIndex(({ status }) => status === "fulfilled")]!;
  const { id, thumbprint } = await ensureDevice(winner);
  expect(ledger.access.tokenOwner(token, clock.now)).toMatchObject({ thumbprint, deviceId: id });
  await enter(winner, url, token);
  expect(ledger.devices.count().all).toBe(1);
});

test("a token of a code that named a key is that key's before it is used", async () => {
  const { url, ledger, clock } = await organisation({ approve: "yes" });
  const [device, thief] = [new Device(), new Device()];
  const body = new URLSearchParams({ client_id: "svc", key_thumbprint: device.thumbprint });
  const asked = await fetch(`${url}/oauth/device/code`, { method: "POST", body });
  const { device_code } = (await asked.json()) as { device_code: string };
  const { access_token } = await poll(url, device_code);
  const token = String(access_token);
  const unused = { thumbprint: device.thumbprint, deviceId: null };
  expect(ledger.access.tokenOwner(token, clock.now)).toMatchObject(unused);
  expect(await outcome(post(`${url}/v1/svc/onboard`, token, thief.proof("onboard", token)))).toBe("403 token_bound");
  expect(await outcome(post(`${url}/v1/svc/onboard`, token, { device_id: thief.id }))).toBe("400 invalid_request");
  expect(ledger.access.tokenOwner(token, clock.now)).toMatchObject(unused);
  expect(await outcome(post(`${url}/v1/svc/onboard`, token, device.proof("onboard", token)))).toBe("200");
});

test("a token of an enrolment is that device's too, also where the key lets in many", async () => {
  const { url, newKey } = await organisation();
  const { text } = newKey({ usesMax: null });
  const [device, other] = [new Device(), new Device()];
  const { access_token: token } = (await (await device.enroll(url, text)).json()) as { access_token: string };
  const onboard = (proof: object) => outcome(post(`${url}/v1/svc/onboard`, token, proof));
  expect(await onboard(other.proof("onboard", token))).toBe("403 token_bound");
  expect(await onboard(device.proof("onboard", token, other.id))).toBe("403 token_bound");
  expect(await onboard(device.proof("onboard", token))).toBe("200");
});

test("a client that names no key onboards by its device id, and its token is that device's", async () => {
  const { url, ledger, clock } = await organisation({ approve: "yes" });
  const [device, other] = [new Device(), new Device()];
  const onboard = (token: string, body: object) => post(`${url}/v1/svc/onboard`, token, body);
  const token = await unboundToken(url);
  expect(await outcome(onboard(token, {}))).toBe("400 invalid_request");
  const answer = await onboard(token, { device_id: device.id });
  const { api_key } = (await answer.json()) as { api_key: string };
  expect(ledger.access.tokenOwner(token, clock.now)).toMatchObject({ deviceId: device.id, thumbprint: null });
  expect(await outcome(onboard(token, { device_id: other.id }))).toBe("403 token_bound");
  expect(await outcome(onboard(token, other.proof("onboard", token)))).toBe("403 token_bound");
  expect(await outcome(device.register(url, api_key))).toBe("200");
  // Later logins of it: the same device, of the same account; never a revoked one.
  expect(await outcome(onboard(await unboundToken(url), { device_id: device.id }))).toBe("200");
  const { account } = ledger.devices.get(device.id)!;
  ledger.access.addToken("svt_bo", { account: `${account}-2` }, clock.now + DAY);
  expect(await outcome(onboard("svt_bo", { device_id: device.id }))).toBe("409 device_conflict");
  ledger.devices.revoke(device.id, "test", clock.now);
  expect(await outcome(onboard(await unboundToken(url), { device_id: device.id }))).toBe("403 device_revoked");
});

test("onboarding takes the proof of the device's key for this token, where one is named", async () => {
  const { url, ledger, clock } = await organisation({ approve: "yes" });
  const token = await unboundToken(url);
  const [device, other] = [new Device(), new Device()];
  const onboard = (body: object) => outcome(post(`${url}/v1/svc/onboard`, token, body));
  const proof = device.proof("onboard", token);
  for (const field of ["key_thumbprint", "public_key", "signature"])
    expect(await onboard({ ...proof, [field]: undefined })).toBe("400 invalid_request");
  for (const change of [
    { signature: other.proof("onboard", token).signature },
    { signature: device.proof("onboard", "svt_another").signature },
    { signature: device.proof("enroll", token).signature },
    { key_thumbprint: other.thumbprint },
    { device_id: other.id },
    { public_key: other.publicKey },
  ])
    expect(await onboard({ ...proof, ...change })).toBe("403 invalid_signature");
  expect(ledger.access.tokenOwner(token, clock.now)).toMatchObject({ deviceId: null });
  expect(await onboard(proof)).toBe("200");
  clock.now += 91 * DAY;
  const expired = await post(`${url}/v1/svc/onboard`, token, proof);
  expect(expired.headers.get("www-authenticate")).toBe('Bearer realm="svc", error="invalid_token"');
  expect(await outcome(expired)).toBe("401 invalid_token");
});

test("a revoked device is refused whatever it shows, before a person is asked", async () => {
  const { url, ledger, newKey, clock } = await organisation({ approve: "yes" });
  const home = newHome();
  await enter(home, url);
  const { id } = await ensureDevice(home);
  const paths = accountPaths(home);
  const [token, apiKey] = [read(paths.token), read(paths.apiKey)];
  ledger.devices.revoke(id, "test", clock.now);
  const enrollKey = newKey().text;
  const ways = [
    () => login({ home, env: { ...env, SVC_API_KEY: apiKey }, endpoints: facesOf(url), build: LOCAL_BUILD }),
    () => enter(home, url, token),
    () => enter(home, url),
    () => login({ home, env, endpoints: facesOf(url), build: LOCAL_BUILD, enrollKey: { id: "x", text: enrollKey } }),
  ];
  for (const way of ways) expect((await failure(way)).message).toMatch(/^this device was revoked at http/);
  const bundle = await fetch(`${url}/runtime/1.0.0/linux-arm64.bundle`, {
    headers: { authorization: `Bearer ${apiKey}` },
  });
  expect(await outcome(bundle)).toBe("403 device_revoked");
  expect(ledger.codes.openCodes(clock.now).count).toBe(0);
  ledger.devices.allow(id, clock.now);
  for (const way of ways) await way();
});

test("a request in which a parameter stands twice is refused, and a key's thumbprint of another shape", async () => {
  const { url } = await organisation({ approve: "yes" });
  const ask = (body: string) =>
    outcome(
      fetch(`${url}/oauth/device/code`, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body,
      }),
    );
  const { thumbprint } = new Device();
  expect(await ask(`client_id=svc&key_thumbprint=${thumbprint}`)).toBe("200");
  expect(await ask("client_id=svc&client_id=svc")).toBe("400 invalid_request");
  expect(await ask(`client_id=svc&key_thumbprint=${thumbprint}&key_thumbprint=`)).toBe("400 invalid_request");
  for (const other of ["x", `${thumbprint}A`, `${thumbprint}%0A`]) {
    expect(await ask(`client_id=svc&key_thumbprint=${other}`)).toBe("400 invalid_request");
  }
});

test("a device's name is registered with a login by code, and kept", async () => {
  const { url, ledger } = await organisation({ approve: "yes" });
  const home = join(newHome(), "home");
  mkdirSync(home, { mode: 0o700 });
  const named = (deviceName: string) => login({ home, env, endpoints: facesOf(url), build: LOCAL_BUILD, deviceName });
  await named("Ada's laptop");
  const { id } = await ensureDevice(home);
  expect(ledger.devices.get(id)?.name).toBe("Ada's laptop");
  ledger.devices.rename(id, "laptop 7");
  await named("Ada's laptop");
  expect(ledger.devices.get(id)?.name).toBe("laptop 7");
});

test("nonces that were never used go when further ones are asked for", async () => {
  const { url, ledger, newKey, clock } = await organisation();
  const { text } = newKey();
  const device = new Device();
  const { api_key: apiKey } = (await (await device.enroll(url, text)).json()) as { api_key: string };
  const asked = { device_id: device.id, key_thumbprint: device.thumbprint };
  const ask = () => post(`${url}/v1/device/nonce`, apiKey, asked);
  const kept = () => ledger.access.db.query<{ n: number }, []>("SELECT count(*) AS n FROM nonces").get()?.n;
  for (const _ of [1, 2, 3]) expect(await outcome(ask())).toBe("200");
  expect(kept()).toBe(3);
  clock.now += 3_600_000;
  expect(await outcome(ask())).toBe("200");
  expect(kept()).toBe(1);
});
