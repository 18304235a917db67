import { expect, test } from "bun:test";
import { createHash, createHmac, createPrivateKey, createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { PermissionError } from "../../../src/errors.ts";
import { accountPaths } from "../../../src/paths.ts";
import { readClock, resetClock } from "../../../src/trust/account/clock.ts";
import { ensureDevice, readDevice } from "../../../src/trust/account/device.ts";
import { createOnce } from "../../../src/trust/account/files.ts";
import { failure, homeWithDevice, newHome } from "./helpers.ts";

test("a device is made once: a PKCS #8 key and a uuid4, both private", async () => {
  const { home, device } = await homeWithDevice();
  const paths = accountPaths(home);
  expect(device.id).toMatch(/^[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
  expect(readFileSync(paths.deviceKey, "utf8")).toStartWith("-----BEGIN PRIVATE KEY-----\n");
  expect(statSync(paths.deviceKey).mode & 0o777).toBe(0o600);
  expect(statSync(paths.deviceId).mode & 0o777).toBe(0o600);
  expect(device.thumbprint).toBe(`ed25519:${createHash("sha256").update(device.publicKey).digest("base64url")}`);

  const again = await ensureDevice(home);
  expect({ id: again.id, thumbprint: again.thumbprint }).toEqual({ id: device.id, thumbprint: device.thumbprint });
  expect(await readDevice(home)).toEqual({ id: device.id, thumbprint: device.thumbprint, publicKey: device.publicKey });
  expect(readdirSync(home).sort()).toEqual(["device_id", "device_key.pem"]);
});

test("its signature is Ed25519 as node:crypto knows it", async () => {
  const { device } = await homeWithDevice();
  const message = new TextEncoder().encode("a nonce");
  const x = Buffer.from(device.publicKey).toString("base64url");
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  expect(verify(null, message, key, await device.sign(message))).toBe(true);
});

test("key and host name are as node:crypto writes and hashes them", async () => {
  const { home, device } = await homeWithDevice();
  const pem = readFileSync(accountPaths(home).deviceKey, "utf8");
  const key = createPrivateKey(pem);
  expect(pem).toBe(key.export({ format: "pem", type: "pkcs8" }).toString());
  const seed = Buffer.from(key.export({ format: "jwk" }).d!, "base64url");
  const salt = createHmac("sha256", seed).update("svc host salt v1").digest();
  expect(device.hostHash).toBe(`sha256:${createHmac("sha256", salt).update(hostname()).digest("hex")}`);
});

test("several first uses at once end with one device", async () => {
  const home = newHome();
  const devices = await Promise.all(Array.from({ length: 8 }, () => ensureDevice(home)));
  expect(new Set(devices.map((one) => one.thumbprint + one.id)).size).toBe(1);
  expect(readdirSync(home)).toHaveLength(2);
});

test("a file is created once and not changed after that", () => {
  const path = join(newHome(), "once");
  expect(createOnce(path, "first")).toBe(true);
  expect(createOnce(path, "second")).toBe(false);
  expect(readFileSync(path, "utf8")).toBe("first");
});

test("a damaged key or id is an error that says how to replace it", async () => {
  const { home } = await homeWithDevice();
  const paths = accountPaths(home);
  writeFileSync(paths.deviceId, "no\n");
  await failure(() => readDevice(home), Error, "device_id is damaged: run 'svc logout', then 'svc login'");
  const whole = readFileSync(paths.deviceKey, "utf8");
  const rsa = generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey;
  for (const pem of [
    "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
    whole.slice(0, -30),
    whole.replace(/.{4}\n-----END/, "\n-----END"),
    whole.replaceAll("PRIVATE", "PUBLIC"),
    `${whole}${whole}`,
    rsa.export({ format: "pem", type: "pkcs8" }).toString(),
    "",
  ]) {
    writeFileSync(paths.deviceKey, pem);
    expect([pem, (await failure(() => readDevice(home))).message]).toEqual([
      pem,
      "device_key.pem is damaged: run 'svc logout', then 'svc login'",
    ]);
  }
});

test("no key is made in a home that others can write", async () => {
  const home = newHome();
  chmodSync(home, 0o777);
  const error = await failure(() => ensureDevice(home), PermissionError);
  expect(error.message).not.toContain(home);
  expect(readdirSync(home)).toEqual([]);
});

test("the clock's high-water mark warns after a day, and a login resets it", () => {
  const home = newHome();
  const now = 1_800_000_000;
  expect(readClock(home, now)).toEqual({ now, latest: now });
  expect(readClock(home, now - 3600 * 23)).toEqual({ now: now - 3600 * 23, latest: now });
  const back = readClock(home, now - 86_400 * 3);
  expect(back.latest).toBe(now);
  expect(back.warning).toMatch(/^the clock is 3 days behind/);
  resetClock(home, now - 86_400 * 3);
  expect(readClock(home, now - 86_400 * 3).warning).toBeUndefined();
});

test("a clock file that is damaged, or cannot be written, is not a reason to fail", () => {
  const home = newHome();
  writeFileSync(accountPaths(home).clock, "tomorrow");
  expect(readClock(home, 5).latest).toBe(5);
  expect(readClock(join(home, "not", "there"), 5)).toEqual({ now: 5, latest: 5 });
});
