import { describe, expect, test } from "bun:test";
import { createHmac, createPublicKey, generateKeyPairSync } from "node:crypto";
import { PermissionError, ValueError } from "../../../src/errors.ts";
import { renewableFrom, verifyLicense } from "../../../src/trust/account/license/license.ts";
import { testKey } from "../../keys.ts";
import { failure, goodClaims, LICENSE_KEY_PEM, LICENSE_PUBLIC_PEM, signed, signedText } from "./helpers.ts";

const DEVICE = `ed25519:${"A".repeat(43)}`;
const NOW = 1_800_000_000;
const DAY = 86_400;
const check = (jwt: string, more: { now?: number; latest?: number } = {}) =>
  verifyLicense(jwt, { publicKeyPem: LICENSE_PUBLIC_PEM, deviceThumbprint: DEVICE, now: NOW, ...more });
const claims = (more: Record<string, unknown> = {}) => ({ ...goodClaims(DEVICE, NOW), ...more });

describe("a licence", () => {
  test("that is valid is accepted", async () => {
    const license = await check(await signed(claims()));
    expect(license).toMatchObject({
      tier: "community",
      features: ["memory", "mcp", "repo", "serve"],
      account: "local",
      expiresAt: NOW + DAY,
    });
    expect(license.warnings).toEqual([]);
  });

  const spoiled: [string, Record<string, unknown>, RegExp][] = [
    ["issuer", { iss: "someone" }, /issuer is "someone"/],
    ["audience", { aud: "svc-web" }, /it is for "svc-web"/],
    ["audience, missing", { aud: undefined }, /it is for nothing/],
    ["version", { ver: 1 }, /version is 1, not 2/],
    ["version as text", { ver: "2" }, /version is "2"/],
    ["expiry, missing", { exp: undefined }, /when it expires/],
    ["expiry as text", { exp: "9999999999" }, /when it expires/],
    ["grace, missing", { offline_grace_days: undefined }, /offline grace/],
    ["grace, negative", { offline_grace_days: -1 }, /offline grace/],
    ["grace, a century", { offline_grace_days: 36_500 }, /offline grace/],
    ["beginning", { nbf: NOW + 301 }, /not valid yet/],
    ["issue", { iat: NOW + 301 }, /issued in the future/],
    ["products, missing", { products: undefined }, /does not cover svc/],
    ["product, another", { products: { other: { tier: "x", features: ["y"] } } }, /does not cover svc/],
    ["tier, empty", { products: { svc: { tier: "", features: ["y"] } } }, /no tier/],
    ["features, none", { products: { svc: { tier: "x", features: [] } } }, /no features/],
    ["features, not text", { products: { svc: { tier: "x", features: [1] } } }, /no features/],
    ["device, another", { cnf: { jkt: `ed25519:${"B".repeat(43)}` } }, /another device/],
    ["device, none", { cnf: undefined }, /another device/],
  ];
  for (const [name, change, message] of spoiled) {
    test(`is refused for its ${name}`, async () => {
      const error = await failure(async () => check(await signed(claims(change))), PermissionError, message);
      expect(error.message).toContain("svc login");
    });
  }

  const NAMES: [string, (text: string) => Record<string, unknown>][] = [
    ["tier", (text) => ({ products: { svc: { tier: text, features: ["y"] } } })],
    ["features", (text) => ({ products: { svc: { tier: "x", features: ["y", text] } } })],
    ["id", (text) => ({ jti: text })],
    ["account", (text) => ({ sub: text })],
  ];
  test.each(NAMES)("is refused for control characters in its %s, which are not shown", async (name, spoil) => {
    for (const text of ["a\u001b[31mred", "a\nb", "a\u0000", "a\u009b31m", "a\u202eb", "a\u2028b"]) {
      const error = await failure(async () => check(await signed(claims(spoil(text)))), PermissionError);
      expect(error.message).toContain(`the licence is refused: control characters are in its ${name}: "a`);
      expect(error.message).not.toMatch(/[^\x20-\x7e]/);
    }
    expect((await check(await signed(claims(spoil("Zoë 雪"))))).tier).toBeString();
  });

  test("tells its life and its last third", async () => {
    const license = await check(await signed(claims({ iat: NOW - 2 * DAY, nbf: NOW - DAY, exp: NOW + DAY })));
    expect(license).toMatchObject({ issuedAt: NOW - 2 * DAY, expiresAt: NOW + DAY, graceDays: 30, readOnly: false });
    expect(renewableFrom(license)).toBe(NOW);
    const since = await check(await signed(claims({ iat: undefined, nbf: NOW - DAY, exp: NOW + DAY / 2 })));
    expect(renewableFrom(since)).toBe(NOW);
    const bare = await check(await signed(claims({ iat: undefined, nbf: undefined })));
    expect(renewableFrom(bare)).toBe(NOW + DAY);
  });

  test("may be ahead of our clock by five minutes", async () => {
    await check(await signed(claims({ nbf: NOW + 299, iat: NOW + 299 })));
  });

  test("is accepted during its days of grace with a warning, and not after them", async () => {
    const jwt = await signed(claims({ exp: NOW - DAY, offline_grace_days: 30 }));
    expect((await check(jwt)).warnings[0]).toMatch(/^the licence expired on 2027-01-14 and works until 2027-02-13/);
    const late = await failure(() => check(jwt, { now: NOW + 29 * DAY }));
    expect(late.message).toBe(
      "the licence expired on 2027-01-14 and its 30 days of grace ended on 2027-02-13: run 'svc login' to renew it",
    );
    const without = await signed(claims({ exp: NOW - 1, offline_grace_days: 0 }));
    expect((await failure(() => check(without))).message).toMatch(/^the licence expired on 2027-01-15: run/);
  });

  test("is not 'not valid yet' because the clock went back", async () => {
    const jwt = await signed(claims());
    expect((await failure(() => check(jwt, { now: NOW - 400 * DAY }))).message).toContain("not valid yet");
    expect((await check(jwt, { now: NOW - 400 * DAY, latest: NOW })).tier).toBe("community");
  });
});

describe("a signature", () => {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

  test("by 'none' is refused, in every spelling", async () => {
    for (const alg of ["none", "None", "NONE", "", undefined]) {
      const error = await failure(() => check(`${encode({ alg })}.${encode(claims())}.`));
      expect(error.message).toMatch(/only RS256 is accepted/);
    }
  });

  test("by HS256 with the public key as the secret is refused", async () => {
    const input = `${encode({ alg: "HS256" })}.${encode(claims())}`;
    const mac = createHmac("sha256", LICENSE_PUBLIC_PEM).update(input).digest("base64url");
    expect((await failure(() => check(`${input}.${mac}`))).message).toContain('signed with "HS256"');
    const disguised = `${encode({ alg: "RS256" })}.${encode(claims())}`;
    const other = createHmac("sha256", LICENSE_PUBLIC_PEM).update(disguised).digest("base64url");
    expect((await failure(() => check(`${disguised}.${other}`))).message).toContain("its signature is not by the key");
  });

  test("by another key, or with RS512 or extensions in the header, is refused", async () => {
    const foreign = await signed(claims(), { alg: "RS256" }, testKey("license-other").privatePem);
    expect((await failure(() => check(foreign))).message).toContain("its signature is not by the key");
    const rs512 = await signed(claims(), { alg: "RS512" });
    expect((await failure(() => check(rs512))).message).toContain("only RS256");
    const crit = await signed(claims(), { alg: "RS256", crit: ["b64"], b64: true });
    expect((await failure(() => check(crit))).message).toContain("crit");
  });

  test("does not survive tampering with any part", async () => {
    const parts = (await signed(claims())).split(".");
    const richer = encode({ ...claims(), products: { svc: { tier: "enterprise", features: ["all"] } } });
    for (const jwt of [
      [parts[0], richer, parts[2]].join("."),
      [parts[0], parts[1], `${parts[2]?.startsWith("A") ? "B" : "A"}${parts[2]?.slice(1)}`].join("."),
      [encode({ alg: "RS256", typ: "x" }), parts[1], parts[2]].join("."),
    ]) {
      expect((await failure(() => check(jwt))).message).toContain("its signature is not by the key");
    }
  });

  test("covers no key that stands twice, in the header or the claims, however it is written", async () => {
    const header = { alg: "RS256" };
    const good = JSON.stringify(claims());
    for (const [text, head, where] of [
      [good.replace("{", '{"sub":"admin",'), '{"alg":"RS256"}', "content"],
      [good.replace("{", '{"s\\u0075b":"admin",'), '{"alg":"RS256"}', "content"],
      [good.replace('"tier"', '"tier":"enterprise","tier"'), '{"alg":"RS256"}', "content"],
      [good, '{"alg":"none","alg":"RS256"}', "header"],
    ] as const) {
      const error = await failure(async () => check(await signedText(text, head)), PermissionError);
      expect(error.message).toStartWith(`the licence is refused: in its ${where} a key stands twice in one object.`);
    }
    expect((await check(await signedText(good, JSON.stringify(header)))).tier).toBe("community");
  });

  test("is not checked where the text is not a token", async () => {
    for (const jwt of ["", "a", "a.b", "a.b.c.d", "{}.{}.{}", `${"x".repeat(20_000)}.a.b`]) {
      expect(await failure(() => check(jwt))).toBeInstanceOf(PermissionError);
    }
  });
});

describe("a trust anchor", () => {
  test("may be in either form of PEM for RSA keys", async () => {
    const pkcs1 = createPublicKey(LICENSE_PUBLIC_PEM).export({ format: "pem", type: "pkcs1" }).toString();
    for (const publicKeyPem of [LICENSE_PUBLIC_PEM, pkcs1, `\n${LICENSE_PUBLIC_PEM.replaceAll("\n", "\r\n")}\r\n`]) {
      const license = await verifyLicense(await signed(claims()), { publicKeyPem, deviceThumbprint: DEVICE, now: NOW });
      expect(license.tier).toBe("community");
    }
  });

  const verifyWith = async (publicKeyPem: string) =>
    failure(async () => verifyLicense(await signed(claims()), { publicKeyPem, deviceThumbprint: DEVICE, now: NOW }));

  test("must be the public half of a strong RSA key", async () => {
    const ec = generateKeyPairSync("ed25519").publicKey.export({ format: "pem", type: "spki" }).toString();
    for (const [pem, message] of [
      [LICENSE_KEY_PEM, /is a private key/],
      [ec, /not an RSA key/],
      [testKey("license-weak", 2048).publicPem, /^the licence key given has 2048 bits, at least 3072 are needed$/],
      ["hello", /not a public key/],
    ] as const) {
      const error = await verifyWith(pem);
      expect(error).toBeInstanceOf(ValueError);
      expect(error.message).toMatch(message);
    }
  });
});
