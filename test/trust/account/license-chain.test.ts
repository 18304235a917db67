/** LICENSE keys that follow the one a machine trusts. */
import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { PermissionError, ValueError } from "../../../src/errors.ts";
import { LICENSE_KEYS_MAX } from "../../../src/limits.ts";
import { verifyLicense } from "../../../src/trust/account/license/license.ts";
import { STATEMENT_TYPE, UntrustedKey, verifySuccessors } from "../../../src/trust/account/license/license-chain.ts";
import { testKey } from "../../keys.ts";
import { random } from "../../random.ts";
import { failure, goodClaims, signed, signedText } from "./helpers.ts";
import { idOf, statementOf } from "./statements.ts";

const DEVICE = `ed25519:${"A".repeat(43)}`;
const NOW = 1_800_000_000;
const CLOCK = { now: NOW };
const [ONE, TWO, THREE, OTHER] = ["license", "license-two", "license-three", "license-other"].map((name) =>
  testKey(name),
) as [Key, Key, Key, Key];
type Key = ReturnType<typeof testKey>;

/** The statement that `next` follows `key`, with claims or parts of the header changed. */
const state = (key: Key, next: Key, claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
  statementOf(key, next, { claims: { iat: NOW, ...claims }, header });
const follow = (...statements: string[]) => verifySuccessors(ONE.publicPem, statements, CLOCK);
const refusal = async (...statements: string[]) => {
  const error = await failure(() => follow(...statements), UntrustedKey);
  expect(error.message).toStartWith("the authority's chain of licence keys is refused: ");
  expect(error.message).not.toMatch(/[^\x20-\x7e]/);
  return error.message;
};

describe("statements about keys", () => {
  test("lead from any key to the latest one", async () => {
    const chain = [await state(ONE, TWO), await state(TWO, THREE)];
    expect(await follow(...chain)).toEqual([TWO.publicPem, THREE.publicPem]);
    expect(await verifySuccessors(TWO.publicPem, chain, CLOCK)).toEqual([THREE.publicPem]);
    expect(await verifySuccessors(THREE.publicPem, chain, CLOCK)).toEqual([]);
    expect(await follow()).toEqual([]);
    expect(await failure(() => verifySuccessors("hello", chain, CLOCK))).toBeInstanceOf(ValueError);
  });

  test("with a gap, in another order, or in a loop are refused", async () => {
    const [first, second] = [await state(ONE, TWO), await state(TWO, THREE)];
    expect(await refusal(first, await state(THREE, OTHER))).toContain('statement 2 is by "');
    expect(await refusal(second, first)).toContain("not by the key before it");
    expect(await refusal(first, first)).toContain("statement 2 is by");
    expect(await refusal(first, await state(TWO, ONE))).toContain("stands in it twice");
    expect(await refusal(await state(ONE, ONE))).toContain("stands in it twice");
    expect(await refusal(first, second, await state(THREE, TWO))).toContain("stands in it twice");
  });

  test("of another authority are refused, and those by another key in the name of this one", async () => {
    const foreign = await refusal(await state(OTHER, TWO), await state(TWO, THREE));
    expect(foreign).toContain(`none of its statements is by the key that this machine trusts (SHA256:${idOf(ONE)})`);
    const forged = await statementOf(OTHER, TWO, { claims: { iat: NOW }, header: { kid: idOf(ONE) } });
    expect(await refusal(forged)).toContain("its signature is not by the key");
    const late = await statementOf(OTHER, THREE, { claims: { iat: NOW }, header: { kid: idOf(TWO) } });
    expect(await refusal(await state(ONE, TWO), late)).toContain("its signature is not by the key");
  });

  test("beyond a bound are refused before any is verified", async () => {
    const one = await state(ONE, TWO);
    const error = await refusal(...Array<string>(1000).fill(one));
    expect(error).toContain(`it has 1000 statements, at most ${LICENSE_KEYS_MAX} are read`);
    expect(await refusal("x".repeat(20_000))).toContain("a statement is longer than 8192 bytes");
  });

  const spoiled: [string, Parameters<typeof state>[2], Parameters<typeof state>[3], RegExp][] = [
    ["alg none", {}, { alg: "none" }, /signed with "none", only RS256/],
    ["alg RS512", {}, { alg: "RS512" }, /signed with "RS512"/],
    ["crit", {}, { crit: ["x"], x: 1 }, /asks for extensions \('crit'\)/],
    ["the type of a licence", {}, { typ: "JWT" }, /its type is "JWT"/],
    ["no type", {}, { typ: undefined }, /its type is nothing/],
    ["no kid", {}, { kid: undefined }, /none of its statements is by the key/],
    ["a kid that is not one", {}, { kid: 5 }, /'kid' is 5/],
    ["another issuer", { iss: "someone" }, {}, /its issuer is "someone"/],
    ["no key", { key: undefined }, {}, /has no key/],
    ["a private key", { key: TWO.privatePem }, {}, /is a private key/],
    ["a key that is not one", { key: "hello" }, {}, /not a public key in PEM/],
    ["a weak key", { key: testKey("license-weak", 2048).publicPem }, {}, /2048 bits, at least 3072/],
    ["another key's id", { kid: idOf(THREE) }, {}, /which is not its id/],
    ["control characters", { kid: "\u001b[31m\u202e" }, {}, /which is not its id/],
    ["no time", { iat: undefined }, {}, /when it was made/],
    ["a time as text", { iat: "1" }, {}, /when it was made/],
    ["a time to come", { iat: NOW + 301 }, {}, /made in the future \(is the clock right/],
    ["a beginning to come", { nbf: NOW + 301 }, {}, /made in the future/],
    ["an end that has passed", { exp: NOW }, {}, /has expired \(is the clock right/],
    ["an end that is not one", { exp: "never" }, {}, /has expired/],
  ];
  test.each(spoiled)("with %s are refused", async (_, claims, header, message) => {
    expect(await refusal(await state(ONE, TWO, claims, header))).toMatch(message);
  });

  test("with a key that stands twice, or by HS256 with the public key as the secret, are refused", async () => {
    const header = JSON.stringify({ alg: "RS256", typ: STATEMENT_TYPE, kid: idOf(ONE) });
    const claims = JSON.stringify({ iss: "svc-authority", iat: NOW, key: TWO.publicPem, kid: idOf(TWO) });
    expect(await follow(await signedText(claims, header, ONE.privatePem))).toHaveLength(1);
    const twice = claims.replace("{", `{"kid":"${idOf(OTHER)}",`);
    expect(await refusal(await signedText(twice, header, ONE.privatePem))).toContain(
      "in its content a key stands twice",
    );
    const other = header.replace("{", '{"alg":"none",');
    expect(await refusal(await signedText(claims, other, ONE.privatePem))).toContain(
      "in its header a key stands twice",
    );
    for (const alg of ["HS256", "RS256"]) {
      const input = [header.replace("RS256", alg), claims].map((one) => Buffer.from(one).toString("base64url"));
      const mac = createHmac("sha256", ONE.publicPem).update(input.join(".")).digest("base64url");
      expect(await refusal(`${input.join(".")}.${mac}`)).toMatch(/only RS256|not by the key/);
    }
  });

  test("outlive a clock that was set back", async () => {
    const chain = [await state(ONE, TWO)];
    const back = { now: NOW - 400 * 86_400 };
    expect((await failure(() => verifySuccessors(ONE.publicPem, chain, back))).message).toContain("in the future");
    expect(await verifySuccessors(ONE.publicPem, chain, { ...back, latest: NOW })).toHaveLength(1);
  });
});

describe("a licence", () => {
  const licence = (key: Key, kid?: unknown) => signed(goodClaims(DEVICE, NOW), { alg: "RS256", kid }, key.privatePem);
  const check = (jwt: string, successors?: string[]) =>
    verifyLicense(jwt, { publicKeyPem: ONE.publicPem, deviceThumbprint: DEVICE, ...CLOCK, successors });

  test("is by the trusted key or a later one, which it names", async () => {
    const chain = [await state(ONE, TWO), await state(TWO, THREE)];
    for (const key of [ONE, TWO, THREE])
      expect((await check(await licence(key, idOf(key)), chain)).tier).toBe("community");
    expect((await check(await licence(ONE), chain)).tier).toBe("community");
    expect((await check(await licence(ONE, idOf(ONE)))).tier).toBe("community");
  });

  test("by a key that is not trusted differs from one that is invalid", async () => {
    const chain = [await state(ONE, TWO)];
    for (const jwt of [await licence(THREE, idOf(THREE)), await licence(OTHER, idOf(OTHER))]) {
      const error = await failure(() => check(jwt, chain), UntrustedKey);
      expect(error.message).toContain("its signature is not by the key that this machine trusts");
    }
    expect(await failure(async () => check(await licence(TWO, idOf(TWO))))).toBeInstanceOf(UntrustedKey);
    // What names no key, or a wrong one, is by none that a chain could lead to.
    for (const [key, kid] of [
      [TWO, undefined],
      [TWO, idOf(ONE)],
      [ONE, idOf(TWO)],
    ] as const) {
      const error = await failure(async () => check(await licence(key, kid), chain), PermissionError);
      expect(error).not.toBeInstanceOf(UntrustedKey);
      expect(error.message).toContain("its signature is not by the key");
    }
  });

  test("is not a statement, and a statement no licence", async () => {
    expect((await failure(async () => check(await state(ONE, TWO)))).message).toContain("it is for nothing");
    expect(await refusal(await licence(ONE, idOf(ONE)))).toContain("its type is nothing");
  });

  test("by the trusted key may name it otherwise, as other issuers do", async () => {
    const chain = [await state(ONE, TWO)];
    for (const kid of [
      "key-1",
      "",
      " ",
      "../../x",
      "\u0000",
      "__proto__",
      `${idOf(ONE)} `,
      idOf(OTHER),
      "x".repeat(900),
    ]) {
      expect((await check(await licence(ONE, kid), chain)).tier).toBe("community");
      expect(await failure(async () => check(await licence(OTHER, kid), chain))).toBeInstanceOf(UntrustedKey);
    }
  });

  test("whose kid is not text, or too long, is refused with a reason", async () => {
    const id = idOf(ONE);
    const chain = [await state(ONE, TWO)];
    for (const kid of ["x".repeat(20_000), null, 0, -1, true, [], [id], {}, { [id]: id }]) {
      const error = await failure(async () => check(await licence(ONE, kid), chain), PermissionError);
      expect(error.message).toStartWith("the licence is refused: ");
      expect(error.message).not.toMatch(/[^\x20-\x7e]/);
    }
  });

  test("is not verified by a chain that is broken before its key", async () => {
    const jwt = await licence(TWO, idOf(TWO));
    const broken = [await state(ONE, TWO, { iss: "someone" })];
    expect((await failure(() => check(jwt, broken))).message).toContain('its issuer is "someone"');
    expect((await check(await licence(ONE, idOf(ONE)), broken)).tier).toBe("community");
    // Nor does it keep from one by the trusted key, whatever its issuer calls that.
    for (const chain of [broken, [await state(OTHER, TWO)]])
      expect((await check(await licence(ONE, "our-first-key"), chain)).tier).toBe("community");
  });
});

/**
 * Headers of a licence: members of any name and value, so that `kid` stands first, last, twice, escaped, or not at all.
 */
function oddHeader(next: () => number): string {
  const pick = <T>(of: readonly T[]) => of[Math.floor(next() * of.length)]!;
  const id = idOf(ONE);
  const names = [
    '"kid"',
    '"k\\u0069d"',
    '"KID"',
    '"alg"',
    '"typ"',
    '"crit"',
    '"jwk"',
    '"x5c"',
    '"jku"',
    '"b64"',
    '"__proto__"',
  ];
  const jwk = JSON.stringify(OTHER.publicKey.export({ format: "jwk" }));
  const values = [
    `"${id}"`,
    `"${idOf(TWO)}"`,
    `"${idOf(OTHER)}"`,
    `"${id} "`,
    '"RS256"',
    '"none"',
    '"JWT"',
    `"${STATEMENT_TYPE}"`,
  ];
  const others = [
    "null",
    "1e999",
    "-0",
    "[]",
    "{}",
    `["${id}"]`,
    jwk,
    '"\\u0000"',
    '"\\ud800"',
    `"${"k".repeat(3000)}"`,
  ];
  const members = Array.from(
    { length: Math.floor(next() * 5) },
    () => `${pick(names)}:${pick([...values, ...others])}`,
  );
  if (next() < 0.8) members.splice(Math.floor(next() * (members.length + 1)), 0, '"alg":"RS256"');
  if (next() < 0.5) members.push(`"kid":"${pick([id, idOf(TWO), idOf(OTHER)])}"`);
  return `{${members.join(",")}}`;
}

test("whatever a header says, only the key that it names counts, or else the trusted one", async () => {
  const chain = [await state(ONE, TWO)];
  const claims = JSON.stringify(goodClaims(DEVICE, NOW));
  const next = random(Number(process.env.SVC_FUZZ_SEED ?? 20));
  let accepted = 0;
  for (let i = 0; i < Number(process.env.SVC_FUZZ_TRIES ?? 1000); i++) {
    const header = oddHeader(next);
    const signer = [ONE, TWO, OTHER][Math.floor(next() * 3)]!;
    const jwt = await signedText(claims, header, signer.privatePem);
    const outcome = await verifyLicense(jwt, {
      ...{ publicKeyPem: ONE.publicPem, deviceThumbprint: DEVICE, ...CLOCK, successors: chain },
    }).catch((error: Error) => error);
    if (outcome instanceof Error) {
      expect(outcome).toBeInstanceOf(PermissionError);
      expect(outcome.message).not.toMatch(/[^\x20-\x7e]/);
      continue;
    }
    accepted += 1;
    const { alg, kid, crit } = JSON.parse(header);
    expect([alg, crit, header.split(/"k(?:i|\\u0069)d"/).length <= 2]).toEqual(["RS256", undefined, true]);
    // A name that is not a known key's may be what the issuer calls the trusted one.
    expect(signer).toBe(kid === idOf(TWO) ? TWO : ONE);
  }
  expect(accepted).toBeGreaterThan(20);
});
