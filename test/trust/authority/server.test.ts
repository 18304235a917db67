import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OSError, PermissionError } from "../../../src/errors.ts";
import { authorityPaths } from "../../../src/paths.ts";
import { keyThumbprint } from "../../../src/trust/account/device.ts";
import { verifyLicense } from "../../../src/trust/account/license/license.ts";
import { login } from "../../../src/trust/account/login/login.ts";
import { ensureLicenseKey } from "../../../src/trust/authority/keys.ts";
import { startAuthority } from "../../../src/trust/authority/server/server.ts";
import { testKey } from "../../keys.ts";
import { authorityIn, facesOf, failure, homeWithDevice, LOCAL_BUILD, newHome } from "../account/helpers.ts";
import { Device } from "./device.ts";

const post = (url: string, bearer: string | undefined, body: unknown) =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...(bearer ? { authorization: `Bearer ${bearer}` } : {}) },
    body: JSON.stringify(body),
  });

/** A logged-in device whose registration can be replayed by hand. */
async function registrar() {
  const { home, device } = await homeWithDevice();
  const authority = await authorityIn(home, { approve: "yes" });
  const { apiKey } = await login({ home, env: {}, endpoints: facesOf(authority.url), build: LOCAL_BUILD });
  const identity = { device_id: device.id, key_thumbprint: device.thumbprint };
  const nonce = async () => {
    const response = await post(`${authority.url}/v1/device/nonce`, apiKey, identity);
    return ((await response.json()) as { nonce: string }).nonce;
  };
  const form = async (value: string) => ({
    ...identity,
    public_key: Buffer.from(device.publicKey).toString("base64url"),
    platform: "linux-x86_64",
    host_hash: device.hostHash,
    nonce: value,
    signature: Buffer.from(await device.sign(new TextEncoder().encode(value))).toString("base64url"),
  });
  const register = (body: unknown, bearer: string | undefined = apiKey) =>
    post(`${authority.url}/v1/device/register`, bearer, body);
  return { home, device, authority, apiKey, nonce, form, register };
}

describe("device registration", () => {
  test("licenses a device that signed the nonce, once for each nonce", async () => {
    const { device, authority, nonce, form, register } = await registrar();
    const body = await form(await nonce());
    const first = await register(body);
    expect(first.status).toBe(200);
    const { license } = (await first.json()) as { license: string };
    const options = { publicKeyPem: authority.licensePublicKeyPem, deviceThumbprint: device.thumbprint };
    expect((await verifyLicense(license, options)).tier).toBe("community");
    const replayed = await register(body);
    expect(replayed.status).toBe(400);
    expect(await replayed.json()).toEqual({ error: "invalid_nonce" });
  });

  test("refuses a signature by another key, over another nonce, and a thumbprint that is not the key's", async () => {
    const { nonce, form, register } = await registrar();
    const { device: other } = await homeWithDevice();
    const value = await nonce();
    const foreign = Buffer.from(await other.sign(new TextEncoder().encode(value))).toString("base64url");
    expect((await register({ ...(await form(value)), signature: foreign })).status).toBe(403);
    const { signature } = await form(await nonce());
    expect((await register({ ...(await form(await nonce())), signature })).status).toBe(403);
    const swapped = Buffer.from(other.publicKey).toString("base64url");
    expect((await register({ ...(await form(await nonce())), public_key: swapped })).status).toBe(403);
  });

  test("refuses a nonce that was given to another key, and an id that is not the API key's", async () => {
    const { nonce, form, register, authority, apiKey } = await registrar();
    const { device: other } = await homeWithDevice();
    const value = await nonce();
    expect((await register({ ...(await form(value)), key_thumbprint: other.thumbprint })).status).toBe(400);
    const asked = { device_id: other.id, key_thumbprint: other.thumbprint };
    expect((await post(`${authority.url}/v1/device/nonce`, apiKey, asked)).status).toBe(403);
  });

  test("binds an id to the key that it was registered with", async () => {
    const { device, authority, apiKey, register } = await registrar();
    const { device: other } = await homeWithDevice();
    const identity = { device_id: device.id, key_thumbprint: other.thumbprint };
    const asked = await post(`${authority.url}/v1/device/nonce`, apiKey, identity);
    const { nonce } = (await asked.json()) as { nonce: string };
    const response = await register({
      ...identity,
      public_key: Buffer.from(other.publicKey).toString("base64url"),
      platform: "linux-x86_64",
      host_hash: other.hostHash,
      nonce,
      signature: Buffer.from(await other.sign(new TextEncoder().encode(nonce))).toString("base64url"),
    });
    expect(response.status).toBe(409);
    expect(keyThumbprint(other.publicKey)).toBe(other.thumbprint);
  });

  test("needs the right secret for each endpoint", async () => {
    const { authority, apiKey, nonce, form, register } = await registrar();
    expect((await register(await form(await nonce()), "svk_wrong")).status).toBe(401);
    expect((await post(`${authority.url}/v1/svc/onboard`, apiKey, { device_id: "0".repeat(32) })).status).toBe(401);
    expect((await post(`${authority.url}/v1/svc/onboard`, undefined, {})).status).toBe(401);
    expect((await fetch(`${authority.url}/runtime/0.1.0/linux-x86_64.bundle`)).status).toBe(401);
  });

  test("refuses what has the wrong shape without a stack trace", async () => {
    const { authority, apiKey, register } = await registrar();
    for (const body of [null, [], "text", {}, { device_id: 5 }]) expect((await register(body)).status).toBe(400);
    const headers = { authorization: `Bearer ${apiKey}` };
    const broken = await fetch(`${authority.url}/v1/device/register`, { method: "POST", headers, body: "{" });
    expect(await broken.json()).toEqual({ error: "invalid_request" });
    const huge = await fetch(`${authority.url}/v1/device/register`, {
      method: "POST",
      headers,
      body: "x".repeat(70_000),
    });
    expect(huge.status).toBe(413);
  });
});

describe("the server", () => {
  test("serves bundles from a directory and nothing beside it", async () => {
    const home = newHome();
    const dir = join(home, "bundles");
    mkdirSync(join(dir, "1.2.3"), { recursive: true });
    writeFileSync(join(dir, "1.2.3", "linux-arm64.bundle"), "bytes");
    writeFileSync(join(home, "linux-arm64.bundle"), "outside");
    const authority = await authorityIn(home, { approve: "yes", bundle: dir });
    const { apiKey } = await login({ home, env: {}, endpoints: facesOf(authority.url), build: LOCAL_BUILD });
    const get = (path: string) => fetch(authority.url + path, { headers: { authorization: `Bearer ${apiKey}` } });
    expect(await (await get("/runtime/1.2.3/linux-arm64.bundle")).text()).toBe("bytes");
    for (const path of [
      "/runtime/1.2.3/linux-x86_64.bundle",
      "/runtime/1.2.3/other.bundle",
      "/runtime/%2e%2e/linux-arm64.bundle",
      "/runtime/..%2f/linux-arm64.bundle",
      "/runtime/../linux-arm64.bundle",
      "/runtime/",
    ]) {
      expect((await get(path)).status).toBe(404);
    }
  });

  test("says 404 to unknown paths and 405 to wrong methods", async () => {
    const { url } = await authorityIn(newHome());
    expect((await fetch(`${url}/`)).status).toBe(404);
    expect((await fetch(`${url}/oauth/device/code`)).status).toBe(405);
  });

  test("answers endpoints with a secret base below it only, pages without", async () => {
    const { url, apiUrl } = await authorityIn(newHome(), { privateApi: true });
    expect(apiUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}$/);
    const ask = (base: string) =>
      fetch(`${base}/oauth/device/code`, { method: "POST", body: new URLSearchParams({ client_id: "svc" }) });
    const guess = `${url}/${"A".repeat(32)}`;
    for (const base of [url, `${url}/`, guess, apiUrl.slice(0, -1), `${apiUrl}A`]) {
      expect((await ask(base)).status).toBe(404);
      expect((await post(`${base}/v1/svc/onboard`, "svt_x", {})).status).toBe(404);
      expect((await fetch(`${base}/runtime/0.1.0/linux-x86_64.bundle`)).status).toBe(404);
    }
    const answer = (await (await ask(apiUrl)).json()) as { verification_uri_complete: string };
    expect(answer.verification_uri_complete).toStartWith(`${url}/device?user_code=`);
    expect((await fetch(answer.verification_uri_complete)).status).toBe(200);
    expect((await fetch(`${apiUrl}/device`)).status).toBe(404);
    const rebound = { method: "POST", headers: { host: "evil.example" } };
    expect((await fetch(`${apiUrl}/oauth/device/code`, rebound)).status).toBe(421);
    const second = await authorityIn(newHome(), { privateApi: true });
    expect(second.apiUrl.slice(-32)).not.toBe(apiUrl.slice(-32));
    const home = newHome();
    const own = await authorityIn(home, { privateApi: true, approve: "yes" });
    await login({ home, env: {}, endpoints: facesOf(own.apiUrl), build: LOCAL_BUILD });
  });

  test("makes its LICENSE key once, private, with the public half beside it", async () => {
    const home = newHome();
    const paths = authorityPaths(home);
    const [one, two] = await Promise.all([ensureLicenseKey(home), ensureLicenseKey(home)]);
    expect(one.publicKeyPem).toBe(two.publicKeyPem);
    expect(readFileSync(paths.licensePublicKey, "utf8")).toBe(one.publicKeyPem);
    expect((await ensureLicenseKey(home)).publicKeyPem).toBe(one.publicKeyPem);
    for (const path of [paths.licenseKey, paths.licensePublicKey]) expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(paths.dir).mode & 0o777).toBe(0o700);
    expect(one.privateKey.asymmetricKeyDetails?.modulusLength).toBe(3072);
    chmodSync(paths.licenseKey, 0o640);
    expect(await failure(() => ensureLicenseKey(home))).toBeInstanceOf(PermissionError);
  });

  test("refuses a LICENSE key that is too short or no key, with what to do", async () => {
    const home = newHome();
    const { dir, licenseKey } = authorityPaths(home);
    mkdirSync(dir, { mode: 0o700 });
    for (const [pem, message] of [
      [
        testKey("license-weak", 2048).privatePem,
        /^authority\/license_key\.pem has 2048 bits, at least 3072 are needed: put/,
      ],
      ["hello", /^authority\/license_key\.pem is damaged: restore it, or remove it and log every machine in again$/],
    ] as const) {
      writeFileSync(licenseKey, pem, { mode: 0o600 });
      await failure(() => ensureLicenseKey(home), PermissionError, message);
    }
  });

  test("keeps its ledger private, the write-ahead log too, and remembers it", async () => {
    const home = newHome();
    const path = authorityPaths(home).ledger;
    const first = await authorityIn(home, { approve: "yes" });
    await login({ home, env: {}, endpoints: facesOf(first.url), build: LOCAL_BUILD });
    for (const suffix of ["", "-wal", "-shm"]) expect(statSync(path + suffix).mode & 0o777).toBe(0o600);
    const token = readFileSync(join(home, "token"), "utf8").trim();
    await first.stop();
    const second = await startAuthority({ home });
    await login({ home, env: {}, endpoints: facesOf(second.url), build: LOCAL_BUILD, token });
    await second.stop();
    chmodSync(path, 0o644);
    expect(await failure(() => startAuthority({ home }))).toBeInstanceOf(PermissionError);
  });

  test("says that a port is taken, and stops at once", async () => {
    const home = newHome();
    const authority = await authorityIn(home);
    const port = Number(new URL(authority.url).port);
    expect(await failure(() => startAuthority({ home, port }))).toBeInstanceOf(OSError);
    const started = performance.now();
    await authority.stop();
    // Half of the time after which a server closes a connection that its client keeps.
    expect(performance.now() - started).toBeLessThan(5000);
    expect(await failure(() => fetch(authority.url))).toBeInstanceOf(Error);
  });
});

test("a ledger that is not a database says what to do with it", async () => {
  const home = newHome();
  mkdirSync(authorityPaths(home).dir, { mode: 0o700 });
  writeFileSync(authorityPaths(home).ledger, "x".repeat(4096), { mode: 0o600 });
  await failure(() => authorityIn(home), OSError, /ledger\.sqlite cannot be used .*: move it away and sign in again/);
});

test("an older ledger keeps its accounts and gets a new table of codes", async () => {
  const home = newHome();
  mkdirSync(authorityPaths(home).dir, { mode: 0o700 });
  writeFileSync(authorityPaths(home).ledger, "", { mode: 0o600 });
  const old = new Database(authorityPaths(home).ledger, { strict: true });
  old.run(`CREATE TABLE codes (hash TEXT PRIMARY KEY, user_hash TEXT NOT NULL UNIQUE, state TEXT NOT NULL,
    account TEXT, interval_ms INTEGER NOT NULL, expires_at INTEGER NOT NULL, polled_at INTEGER) STRICT`);
  old.run("CREATE TABLE tokens (hash TEXT PRIMARY KEY, account TEXT NOT NULL, expires_at INTEGER NOT NULL) STRICT");
  const hash = new Bun.CryptoHasher("sha256").update("svt_old").digest("hex");
  old.query("INSERT INTO tokens VALUES (?, 'ada', ?)").run(hash, Date.now() + 60_000);
  old.run("PRAGMA user_version = 1");
  old.close();
  const device = new Device();
  for (const turn of ["replaced", "kept"]) {
    const { url, stop } = await authorityIn(home);
    const proof = device.proof("onboard", "svt_old");
    expect(await (await post(`${url}/v1/svc/onboard`, "svt_old", proof)).json()).toMatchObject({ account: "ada" });
    const body = new URLSearchParams({ client_id: "svc" });
    const asked = await fetch(`${url}/oauth/device/code`, { method: "POST", body });
    expect([turn, asked.status]).toEqual([turn, 200]);
    await stop();
  }
});
