/**
 * POST /v1/svc/enroll, attacked: keys that are not good, proofs that are another's, many devices at once, odd bodies.
 */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { ValueError } from "../../../src/errors.ts";
import { authorityPaths } from "../../../src/paths.ts";
import { newEnrollKey } from "../../../src/trust/account/enroll-key.ts";
import { verifyLicense } from "../../../src/trust/account/license/license.ts";
import { createEnrollKey, revokeEnrollKey } from "../../../src/trust/authority/organisation/enroll-key-actions.ts";
import { authorityIn, failure, newHome } from "../account/helpers.ts";
import { Device, outcome, post } from "./device.ts";
import { ADMINISTRATOR, DAY, organisation } from "./enrolling.ts";

const HOUR = 3_600_000;

describe("an enrolment", () => {
  test("gives token, API key and licence, and records the device with what its key says", async () => {
    const { url, ledger, newKey, clock, licensePublicKeyPem, home } = await organisation();
    const { text, key } = newKey({ tags: ["ci", "berlin"], account: "build farm", label: "runners" });
    const device = new Device();
    const response = await device.enroll(url, text, { name: "runner 1" });
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("pragma")).toBe("no-cache");
    const answer = (await response.json()) as Record<string, string>;
    expect(answer).toMatchObject({ token_type: "Bearer", expires_in: 7_776_000, account: "build farm" });
    const trust = { publicKeyPem: licensePublicKeyPem, deviceThumbprint: device.thumbprint };
    expect(await verifyLicense(answer.license!, trust)).toMatchObject({ account: "build farm" });

    const { thumbprint, publicKey } = device;
    const entry = { thumbprint, publicKey, account: "build farm", name: "runner 1", enrolledBy: key.id };
    expect(ledger.devices.get(device.id)).toMatchObject({
      ...entry,
      tags: ["ci", "berlin"],
      licensedAt: expect.anything(),
    });
    const owner = { account: "build farm", thumbprint, deviceId: device.id, revoked: false };
    expect(ledger.access.tokenOwner(answer.access_token!, clock.now)).toEqual(owner);
    const asked = { device_id: device.id, key_thumbprint: thumbprint };
    expect(await outcome(post(`${url}/v1/device/nonce`, answer.api_key, asked))).toBe("200");

    const events = ledger.audit.list({ limit: 4 }).map(({ event, actor, device: about }) => [event, actor, about]);
    expect(events).toEqual([
      ["license_issued", device.id, device.id],
      ["device_enrolled", key.id, device.id],
      ["enroll_key_used", key.id, device.id],
      ["enroll_key_created", "test", undefined],
    ]);
    // Neither the key nor what it gave can be read in the ledger, its write-ahead log or the audit log.
    const path = authorityPaths(home).ledger;
    const kept = [path, `${path}-wal`].map((file) => readFileSync(file).toString("latin1")).join("");
    for (const secret of [text, text.slice(17), answer.access_token!, answer.api_key!])
      expect(kept).not.toContain(secret);
  });

  test("of fifty devices with one key at the same time is one", async () => {
    const { url, ledger, newKey } = await organisation();
    const { text, key } = newKey();
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => outcome(new Device().enroll(url, text))));
    expect(outcomes.filter((one) => one === "200")).toHaveLength(1);
    expect(outcomes.filter((one) => one === "403 enroll_key_used")).toHaveLength(49);
    expect(ledger.devices.count()).toEqual({ all: 1, revoked: 0 });
    expect(ledger.enrollKeys.get(key.id)?.uses).toBe(1);
  });

  test("takes a key as often as it says, until it ends or is revoked, by the authority's clock", async () => {
    const { url, ledger, newKey, clock } = await organisation();
    const few = newKey({ usesMax: 3 });
    const many = newKey({ usesMax: null, expiresAt: clock.now + HOUR });
    for (const _ of [1, 2, 3]) expect(await outcome(new Device().enroll(url, few.text))).toBe("200");
    expect(await outcome(new Device().enroll(url, few.text))).toBe("403 enroll_key_used");
    for (const _ of [1, 2, 3, 4]) expect(await outcome(new Device().enroll(url, many.text))).toBe("200");
    // A clock that goes an hour wrong ends the key, and one that is set right again does not.
    clock.now += HOUR;
    expect(await outcome(new Device().enroll(url, many.text))).toBe("403 enroll_key_expired");
    clock.now -= 1;
    expect(await outcome(new Device().enroll(url, many.text))).toBe("200");
    expect(revokeEnrollKey(ledger, many.key.id, ADMINISTRATOR, clock.now)).toBe(true);
    expect(revokeEnrollKey(ledger, many.key.id, ADMINISTRATOR, clock.now)).toBe(false);
    expect(await outcome(new Device().enroll(url, many.text))).toBe("403 enroll_key_revoked");
    const forever = newKey({ usesMax: null, expiresAt: null });
    clock.now += 3000 * DAY;
    expect(await outcome(new Device().enroll(url, forever.text))).toBe("200");
  });

  test("refuses a key of another organisation, one that is not one, and none", async () => {
    const { url, ledger } = await organisation();
    const other = await organisation();
    for (const key of [
      other.newKey().text,
      newEnrollKey().text,
      "sve_0",
      "svt_0",
      `sve_${"0".repeat(12)}_${"A".repeat(43)}`,
    ]) {
      const response = await new Device().enroll(url, key);
      expect(response.headers.get("www-authenticate")).toBe('Bearer realm="svc", error="invalid_token"');
      expect(await outcome(response)).toBe("401 invalid_enroll_key");
    }
    const without = await post(`${url}/v1/svc/enroll`, undefined, {});
    expect(without.headers.get("www-authenticate")).toBe('Bearer realm="svc"');
    expect(await outcome(without)).toBe("401 invalid_enroll_key");
    expect(ledger.devices.count().all).toBe(0);
    const local = await authorityIn(newHome());
    expect(await outcome(new Device().enroll(local.url, newEnrollKey().text))).toBe("404 not_found");
  });

  test("is answered again to its own device for ten minutes, without a further use", async () => {
    const { url, ledger, newKey, clock, home, stop } = await organisation();
    const { text, key } = newKey();
    const device = new Device();
    const first = (await (await device.enroll(url, text)).json()) as Record<string, string>;
    clock.now += 9 * 60_000;
    const again = (await (await device.enroll(url, text)).json()) as Record<string, string>;
    expect(again.license).toBeString();
    expect(ledger.enrollKeys.get(key.id)?.uses).toBe(1);
    expect(ledger.audit.list({ limit: 9, event: "device_enrolled" })).toHaveLength(1);
    // The API key of the answer that was lost has ended.
    expect(ledger.access.ownerOfApiKey(first.api_key!)).toBeUndefined();
    expect(ledger.access.ownerOfApiKey(again.api_key!)?.deviceId).toBe(device.id);
    expect(await outcome(new Device().enroll(url, text))).toBe("403 enroll_key_used");
    clock.now += 10 * 60_000;
    expect(await outcome(device.enroll(url, text))).toBe("403 enroll_key_used");

    // The authority may have been killed before it answered: another process answers again, once it runs.
    const [{ text: last }, late] = [newKey(), new Device()];
    expect(await outcome(late.enroll(url, last))).toBe("200");
    await stop();
    const { url: elsewhere } = await authorityIn(home, { organisation: true, now: () => clock.now });
    expect(await outcome(late.enroll(elsewhere, last))).toBe("200");
    expect(await outcome(new Device().enroll(elsewhere, last))).toBe("403 enroll_key_used");
  });

  test("is not answered again once its key is revoked", async () => {
    const { url, ledger, newKey, clock } = await organisation();
    const [revoked, device] = [newKey(), new Device()];
    expect(await outcome(device.enroll(url, revoked.text))).toBe("200");
    revokeEnrollKey(ledger, revoked.key.id, ADMINISTRATOR, clock.now);
    expect(await outcome(device.enroll(url, revoked.text))).toBe("403 enroll_key_revoked");
  });

  test("removes the tokens that have expired, where no person logs in either", async () => {
    const { url, ledger, newKey, clock } = await organisation();
    const { text } = newKey({ usesMax: null, expiresAt: null });
    const tokens = () => ledger.access.db.query<{ count: number }, []>("SELECT count(*) AS count FROM tokens").get();
    for (const _ of [1, 2, 3]) await new Device().enroll(url, text);
    expect(tokens()?.count).toBe(3);
    clock.now += 91 * DAY;
    await new Device().enroll(url, text);
    expect(tokens()?.count).toBe(1);
  });

  test("leaves the key unused where the device is refused", async () => {
    const { url, ledger, newKey, clock } = await organisation();
    const device = new Device();
    expect(await outcome(device.enroll(url, newKey().text))).toBe("200");
    const { text, key } = newKey();
    const taken = new Device().proof("enroll", text, device.id);
    expect(await outcome(device.enroll(url, text, taken))).toBe("409 device_conflict");
    ledger.devices.revoke(device.id, "test", clock.now);
    expect(await outcome(device.enroll(url, text))).toBe("403 device_revoked");
    // With the same key under another id too.
    const renamed = device.proof("enroll", text, "0".repeat(32));
    expect(await outcome(device.enroll(url, text, renamed))).toBe("403 device_revoked");
    expect(ledger.enrollKeys.get(key.id)).toMatchObject({ uses: 0, usedAt: null });
    expect(await outcome(new Device().enroll(url, text))).toBe("200");
  });

  test("of a device that is there takes it over, with its name", async () => {
    const { url, ledger, newKey } = await organisation();
    const device = new Device();
    await device.enroll(url, newKey({ tags: ["old"] }).text, { name: "first" });
    const { text, key } = newKey({ tags: ["new"], account: "others" });
    expect(await outcome(device.enroll(url, text, { name: "second" }))).toBe("200");
    const entry = { name: "first", tags: ["new"], account: "others", enrolledBy: key.id };
    expect(ledger.devices.get(device.id)).toMatchObject(entry);
    expect(ledger.devices.count().all).toBe(1);
  });
});

describe("a proof", () => {
  test("of another device, key, purpose or message is refused, and uses nothing", async () => {
    const { url, ledger, newKey } = await organisation();
    const [device, other] = [new Device(), new Device()];
    const [{ text, key }, second] = [newKey(), newKey({ usesMax: null })];
    const proof = device.proof("enroll", text);
    const wrong: Record<string, unknown>[] = [
      { signature: other.proof("enroll", text).signature },
      // A proof that was recorded: of the same device for another key, of another purpose, of another id.
      { signature: device.proof("enroll", second.text).signature },
      { signature: device.proof("onboard", text).signature },
      { signature: device.proof("enroll", text, other.id).signature },
      { device_id: other.id },
      { key_thumbprint: other.thumbprint },
      { public_key: other.publicKey },
      { public_key: other.publicKey, key_thumbprint: other.thumbprint },
      { signature: `${proof.signature.slice(0, -4)}AAAA` },
      { signature: "A".repeat(86) },
      { public_key: `${"A".repeat(43)}` },
    ];
    for (const change of wrong) {
      const answer = await outcome(device.enroll(url, text, change));
      expect([change, answer]).toEqual([change, "403 invalid_signature"]);
    }
    // The last character of base64url has bits that say nothing: another text for the same key.
    const last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const twin = device.publicKey.slice(0, -1) + last[last.indexOf(device.publicKey.slice(-1)) + 1];
    expect(await outcome(device.enroll(url, text, { public_key: twin }))).toBe("400 invalid_request");
    expect(ledger.devices.count().all).toBe(0);
    expect(ledger.enrollKeys.get(key.id)?.uses).toBe(0);
    expect(await outcome(device.enroll(url, text))).toBe("200");
  });

  test("with every field mutated is refused in order, and lets nothing in", async () => {
    const { url, ledger, newKey } = await organisation();
    const { text, key } = newKey({ usesMax: null });
    const good = new Device().enrollment(text, { name: "n" });
    const odd = [
      null,
      true,
      0,
      -1,
      1e308,
      "",
      " ",
      "\u0000",
      "x".repeat(10_000),
      [],
      {},
      ["a"],
      "é",
      "../..",
      "' OR 1=1",
    ];
    const bodies: string[] = [
      "",
      "{",
      "[]",
      "null",
      '"x"',
      "1",
      "\ufeff{}",
      '{"device_id":',
      "\u0000",
      "[".repeat(30_000),
    ];
    for (const field of Object.keys(good)) {
      const { [field]: value, ...rest } = good;
      if (field !== "name") bodies.push(JSON.stringify(rest));
      // A name is any text that can be seen.
      for (const other of field === "name" ? odd.slice(0, -3) : odd)
        bodies.push(JSON.stringify({ ...good, [field]: other }));
      const text = String(value);
      for (const changed of [`${text}\n`, ` ${text}`, text.toUpperCase(), text.slice(1), `${text}A`])
        if (changed !== text && field !== "name" && !(field === "platform" && /^[a-z0-9_-]+$/.test(changed)))
          bodies.push(JSON.stringify({ ...good, [field]: changed }));
      // Nothing is taken from what an object inherits.
      if (field !== "name")
        bodies.push(JSON.stringify(rest).replace("{", `{"__proto__":{"${field}":${JSON.stringify(value)}},`));
    }
    for (const body of bodies) {
      const response = await post(`${url}/v1/svc/enroll`, text, body);
      const status = await outcome(response);
      expect([body.slice(0, 300), status]).toEqual([
        body.slice(0, 300),
        expect.stringMatching(/^(400 invalid_request|403 invalid_signature)$/),
      ]);
    }
    expect(bodies.length).toBeGreaterThan(100);
    expect(ledger.enrollKeys.get(key.id)?.uses).toBe(0);
    expect(ledger.devices.count().all).toBe(0);
    const huge = await post(`${url}/v1/svc/enroll`, text, JSON.stringify({ ...good, more: "x".repeat(70_000) }));
    expect(huge.status).toBe(413);
  });
});

test("the log of requests says which device came with which key, why it was refused, and no secret", async () => {
  const lines: Record<string, unknown>[] = [];
  const { url, newKey } = await organisation({
    log: (line) => void lines.push({ ...line.fields, said: line.message }),
  });
  const { text, key } = newKey();
  const [device, late] = [new Device(), new Device()];
  const answer = (await (await device.enroll(url, text)).json()) as Record<string, string>;
  await late.enroll(url, text);
  const wrong = newEnrollKey().text;
  await late.enroll(url, wrong);
  expect(lines).toMatchObject([
    { status: 200, device: device.id, enroll_key: key.id, route: "/v1/svc/enroll" },
    { status: 403, device: late.id, enroll_key: key.id, error: "enroll_key_used" },
    { status: 401, device: late.id, error: "invalid_enroll_key" },
  ]);
  expect(lines[1]!.said).toMatch(/^POST \/v1\/svc\/enroll 403 enroll_key_used in \d+ ms for 127\.0\.0\.1$/);
  const log = JSON.stringify(lines);
  for (const secret of [text, wrong, answer.access_token!, answer.api_key!, answer.license!])
    expect(log).not.toContain(secret.slice(17));
});

test("a key is made of values in their domains only", async () => {
  const { ledger, clock } = await organisation();
  const make = (wish: object) =>
    createEnrollKey(ledger, { usesMax: 1, expiresAt: null, ...wish }, ADMINISTRATOR, clock.now);
  for (const wish of [
    { usesMax: 0 },
    { usesMax: 1.5 },
    { usesMax: 1_000_001 },
    { usesMax: Number.NaN },
    { expiresAt: clock.now },
    { expiresAt: Number.NaN },
    { label: "a\u001b[2J" },
    { label: "x".repeat(65) },
    { account: "a\u202eb" },
    { account: "x".repeat(129) },
    { tags: ["a b"] },
    { tags: [""] },
    { tags: ["-x"] },
    { tags: ["x".repeat(33)] },
    { tags: Array.from({ length: 17 }, (_, n) => `t${n}`) },
  ]) {
    expect(await failure(() => make(wish))).toBeInstanceOf(ValueError);
  }
  expect(ledger.enrollKeys.list()).toEqual([]);
  expect(ledger.audit.list({ limit: 1, event: "enroll_key_created" })).toEqual([]);
  const { key } = make({ tags: ["b", "a", "b"], label: "  " });
  expect(key).toMatchObject({ label: "", tags: ["b", "a"], account: "machines", usesMax: 1, uses: 0 });
  expect(await failure(() => revokeEnrollKey(ledger, "nothing", ADMINISTRATOR, clock.now))).toBeInstanceOf(ValueError);
});
