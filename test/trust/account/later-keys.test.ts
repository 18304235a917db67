/** Licences by a LICENSE key that this machine does not know yet: what it asks, believes and keeps. */
import { describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { PermissionError, RuntimeError } from "../../../src/errors.ts";
import { requireLogin } from "../../../src/trust/account/license/credentials.ts";
import { licenseAnchor } from "../../../src/trust/account/trusted/anchors.ts";
import { type Pin, readPin } from "../../../src/trust/account/trusted/pin.ts";
import { type TestKey, testKey } from "../../keys.ts";
import { failure, goodClaims, LICENSE_PUBLIC_PEM, LOCAL_BUILD, signed } from "./helpers.ts";
import { BUILD, DAY, member, NOW, REQUESTS } from "./member.ts";
import { idOf, statementOf } from "./statements.ts";

const [ONE, TWO, THREE, OTHER] = ["license", "license-two", "license-three", "license-other"].map((name) =>
  testKey(name),
) as [TestKey, TestKey, TestKey, TestKey];
const KEYS = "/v1/license-keys";

/** A member whose authority signs with `key` from now on, and states what `statements` says. */
async function rolled(key: TestKey, statements: unknown, options: Parameters<typeof member>[0] = {}) {
  const m = await member(options);
  const { thumbprint } = licensed(m.before());
  const issue = (by: TestKey) =>
    signed({ ...goodClaims(thumbprint, NOW), exp: NOW + 90 * DAY }, { alg: "RS256", kid: idOf(by) }, by.privatePem);
  const turn = (by: TestKey, stated: unknown) =>
    m.answers(async (path) => {
      if (path === REQUESTS[1]) return Response.json({ license: await issue(by) });
      if (path !== KEYS) return undefined;
      return typeof stated === "function" ? stated() : Response.json({ keys: [], statements: stated });
    });
  turn(key, statements);
  return { ...m, turn, issue };
}

function licensed(jwt: string): { thumbprint: string } {
  return { thumbprint: JSON.parse(Buffer.from(jwt.split(".")[1]!, "base64url").toString()).cnf.jkt };
}

const [FIRST, SECOND] = [await statementOf(ONE, TWO), await statementOf(TWO, THREE)];

describe("a licence by a later key", () => {
  test("is believed at a renewal for the authority's statements, which are kept", async () => {
    const { home, renew, server, before, turn, age } = await rolled(TWO, [FIRST]);
    const renewed = await renew();
    expect(server.paths).toEqual([...REQUESTS, KEYS]);
    expect(renewed?.jwt).toBe(before());
    expect(readPin(home)).toMatchObject({ issuer: null, licenseKey: null, successors: [FIRST] });
    expect((await requireLogin(home, {}, { build: BUILD })).jwt).toBe(before());

    // The next one by that key needs no statement, and one by a third key those that lead to it.
    await age();
    await renew({ now: NOW + DAY });
    expect(server.paths.slice(3)).toEqual(REQUESTS);
    await age();
    turn(THREE, [FIRST, SECOND]);
    expect(await renew({ now: NOW + 2 * DAY })).toBeDefined();
    expect(readPin(home)?.successors).toEqual([FIRST, SECOND]);
    expect((await requireLogin(home, {}, { build: BUILD })).jwt).toBe(before());
  });

  test("is believed at a login too, with the pin that the login writes or without one", async () => {
    const { home, enter, server } = await rolled(THREE, [FIRST, SECOND]);
    await enter();
    expect(readPin(home)).toMatchObject({ issuer: null, successors: [FIRST, SECOND] });
    const pin: Pin = { issuer: server.url, licenseKey: TWO.publicPem, ca: null, successors: [], pinnedAt: NOW };
    await enter(server.url, { pin, build: LOCAL_BUILD });
    expect(readPin(home)).toEqual({ ...pin, successors: [SECOND] });
    expect(licenseAnchor(home, {}, LOCAL_BUILD)).toMatchObject({ publicKeyPem: TWO.publicPem, source: "pinned" });
    expect((await requireLogin(home, {}, { build: LOCAL_BUILD })).tier).toBe("community");
  });

  test("follows one by the first key through its days of grace, which stays valid", async () => {
    const { home, renew, age, before } = await rolled(TWO, [FIRST], { began: 95 });
    const old = before();
    expect((await requireLogin(home, {}, { build: BUILD })).warnings[0]).toContain("works until");
    expect((await renew())?.jwt).not.toBe(old);
    await age(95);
    expect((await requireLogin(home, {}, { build: BUILD })).jwt).toBe(old);
  });

  test("is refused once the statements are gone, until the next login", async () => {
    const { home, paths, renew, enter } = await rolled(TWO, [FIRST]);
    await renew();
    rmSync(paths.pin);
    const error = await failure(() => requireLogin(home, {}, { build: BUILD }));
    expect(error.message).toBe(
      "the licence is refused: its signature is not by the key that this machine trusts. Run 'svc login' to get a new one",
    );
    await enter();
    expect((await requireLogin(home, {}, { build: BUILD })).tier).toBe("community");
  });
});

const refused: [string, unknown, RegExp][] = [
  ["none", [], /states no later one. Ask its administrator for its key, then run 'svc login --authority http/],
  ["no such endpoint", () => new Response("", { status: 404 }), /states no later one/],
  ["those of another authority", [await statementOf(OTHER, TWO)], /none of its statements is by the key that this/],
  ["a gap", [await statementOf(ONE, THREE), await statementOf(OTHER, TWO)], /statement 2 is by/],
  ["five hundred", Array(500).fill(FIRST), /it has 500 statements, at most 64 are read/],
  ["a key of another's making", [await statementOf(OTHER, TWO, { header: { kid: idOf(ONE) } })], /not by the key/],
  ["one that leads elsewhere", [await statementOf(ONE, THREE)], /states no later one/],
];

describe("is refused, and nothing changes, where the authority's statements are", () => {
  test.each(refused)("%s", async (_, statements, message) => {
    const { home, renew, enter, before } = await rolled(TWO, statements);
    const old = before();
    for (const action of [renew, () => enter()]) {
      await failure(action, PermissionError, message);
    }
    expect(before()).toBe(old);
    expect(readPin(home)).toBeUndefined();
    expect((await requireLogin(home, {}, { build: BUILD })).jwt).toBe(old);
  });

  const unusable: [string, () => Response][] = [
    ["busy", () => new Response("", { status: 503 })],
    ["no JSON", () => new Response("hello")],
    ["a key twice", () => new Response('{"statements":[],"statements":[]}')],
    ["no list", () => Response.json({ statements: "x" })],
    ["a list of others", () => Response.json({ statements: [1] })],
    ["nothing", () => Response.json({})],
  ];
  test.each(unusable)("%s", async (_, answer) => {
    const { renew, before } = await rolled(TWO, answer);
    const old = before();
    expect(await failure(renew)).toBeInstanceOf(RuntimeError);
    expect(before()).toBe(old);
  });

  test("made by a clock that is ahead of this one", async () => {
    const late = await statementOf(ONE, TWO, { claims: { iat: NOW + 3600 } });
    const { renew } = await rolled(TWO, [late]);
    expect((await failure(renew)).message).toContain("a statement was made in the future (is the clock right?)");
  });
});

test("an authority is asked for statements only where the key is unknown", async () => {
  const { renew, server } = await rolled(ONE, [FIRST]);
  expect((await renew())?.tier).toBe("community");
  expect(server.paths).toEqual(REQUESTS);
  expect(LICENSE_PUBLIC_PEM).toBe(ONE.publicPem);
});
