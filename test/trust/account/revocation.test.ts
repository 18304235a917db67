/** What the answer that a device is revoked does to its login, and which answers are no such answer. */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OSError, PermissionError, SvcError } from "../../../src/errors.ts";
import { accountPaths } from "../../../src/paths.ts";
import { resetClock } from "../../../src/trust/account/clock.ts";
import { requireLogin } from "../../../src/trust/account/license/credentials.ts";
import { checkStoredLicense } from "../../../src/trust/account/license/license-check.ts";
import { DeviceRevoked } from "../../../src/trust/account/license/revocation.ts";
import { logout } from "../../../src/trust/account/login/logout.ts";
import { fetchBundle } from "../../../src/trust/account/login/packages.ts";
import { readConsent, renewByConsent } from "../../../src/trust/account/login/renewal.ts";
import { testKey } from "../../keys.ts";
import { failure, fakeServer, newHome } from "./helpers.ts";
import { BUILD, DAY, type Instead, member, NOW, REQUESTS } from "./member.ts";

const revoked = () => Response.json({ error: "device_revoked" }, { status: 403 });
const check = (home: string) => requireLogin(home, {}, { build: BUILD });
const TODAY = new Date(NOW * 1000).toISOString().slice(0, 10);
const sentence = (origin: string) =>
  `this device was revoked at ${origin} on ${TODAY}: ask its administrator, then 'svc login'`;
/** The files of a home and what is in them. */
const filesOf = (home: string, ...without: string[]) =>
  Object.fromEntries(
    readdirSync(home)
      .filter((name) => ![".login.lock", "clock", ...without].includes(name) && statSync(join(home, name)).isFile())
      .map((name) => [name, readFileSync(join(home, name), "utf8")]),
  );

/** That the home refuses with the sentence, and that nothing but the licence is gone. */
async function expectRevoked(home: string, origin: string, before: Record<string, string>): Promise<void> {
  for (const refusal of [check(home), checkStoredLicense(home, {})]) {
    const error = await failure(() => refusal, PermissionError);
    expect(error).toMatchObject({ code: "PermissionError.device_revoked", message: sentence(origin) });
  }
  const { "login_license.jwt": _, ...rest } = before;
  expect(filesOf(home, "revoked.json")).toEqual(rest);
  const { revoked: record } = accountPaths(home);
  expect(JSON.parse(readFileSync(record, "utf8"))).toEqual({ format: 1, origin, at: expect.any(Number) });
  expect(statSync(record).mode & 0o777).toBe(0o600);
}

describe("a renewal with this answer", () => {
  test.each(REQUESTS)("at %s removes the licence, says where, and asks no server again", async (at) => {
    const { home, paths, server, enter, renew, answers } = await member();
    const known = await check(home);
    answers((path) => (path === at ? revoked() : undefined));
    const error = await failure(renew, DeviceRevoked);
    expect(error.message).toBe(`this device was revoked at ${server.url}: ask its administrator, then 'svc login'`);
    const before = filesOf(home, "revoked.json");
    await expectRevoked(home, server.url, { ...before, "login_license.jwt": known.jwt });
    expect(existsSync(paths.license)).toBe(false);
    const asked = server.paths.length;
    expect(await renewByConsent(home, {}, known, { now: NOW + 5 * DAY, build: BUILD })).toBeUndefined();
    expect(server.paths).toHaveLength(asked);
    // Allowed again: a login, and all is as before.
    answers(() => undefined);
    const { license } = await enter();
    expect((await check(home)).jwt).toBe(license.jwt);
    expect(existsSync(paths.revoked)).toBe(false);
    expect(readConsent(home)).toMatchObject({ api: server.url });
  });

  test("of processes that renew at the same time one asks, and all refuse afterwards", async () => {
    const { home, server, renew, answers } = await member();
    answers(revoked);
    const outcomes = await Promise.allSettled([renew(), renew(), renew()]);
    expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(1);
    expect(server.paths).toEqual([REQUESTS[0]!]);
    expect((await failure(() => check(home))).message).toBe(sentence(server.url));
  });

  test("of a process that has the earlier licence removes nothing where a login came meanwhile", async () => {
    const meanwhile: [string, (m: Awaited<ReturnType<typeof member>>) => unknown][] = [
      ["the licence", async (m) => writeFileSync(m.paths.license, `${await m.licenseOf(0, 500)}\n`)],
      ["the API key", (m) => writeFileSync(m.paths.apiKey, "svk_of-another-authority\n")],
      [
        "the consent",
        (m) => writeFileSync(m.paths.renewal, readFileSync(m.paths.renewal, "utf8").replace("127.0.0.1", "localhost")),
      ],
      ["no consent", (m) => rmSync(m.paths.renewal)],
    ];
    for (const [what, change] of meanwhile) {
      const m = await member();
      let after: Record<string, string> = {};
      m.answers(async () => {
        await change(m);
        after = filesOf(m.home, "renewal.json");
        return revoked();
      });
      expect(await failure(m.renew)).toBeInstanceOf(DeviceRevoked);
      expect([what, filesOf(m.home, "renewal.json")]).toEqual([what, after]);
      expect(existsSync(m.paths.license)).toBe(true);
      expect(existsSync(m.paths.revoked)).toBe(false);
    }
  });
});

describe("a login with this answer", () => {
  const AT = ["/v1/svc/onboard", ...REQUESTS];
  test.each(AT)("at %s by the authority of the present login removes the licence", async (at) => {
    const { home, server, enter, answers } = await member();
    const before = filesOf(home);
    answers((path) => (path === at ? revoked() : undefined));
    await failure(enter, Error, `this device was revoked at ${server.url}: ask its administrator, then 'svc login'`);
    await expectRevoked(home, server.url, before);
    // And again, where nothing is left to be removed.
    await failure(enter);
    await expectRevoked(home, server.url, before);
    answers(() => undefined);
    await enter();
    await check(home);
    expect(existsSync(accountPaths(home).revoked)).toBe(false);
  });

  test("removes that of an earlier svc, which recorded no origin, by the key of its licence", async () => {
    const { home, server, enter, answers, paths } = await member();
    rmSync(paths.loginOrigin);
    const before = filesOf(home);
    answers((path) => (path.startsWith("/v1") ? revoked() : undefined));
    // An authority of another key, and a device that SVC_API_KEY stands for.
    const foreign = { licensePublicKey: testKey("foreign").publicPem, authority: null };
    await failure(() => enter(server.url, { build: foreign }));
    await failure(() => enter(server.url, { env: { SVC_API_KEY: "svk_of-another-device" } }));
    expect(filesOf(home)).toEqual(before);
    expect(await failure(enter)).toBeInstanceOf(DeviceRevoked);
    await expectRevoked(home, server.url, before);
  });

  test("by another server removes nothing, whether a licence is good or its place is empty", async () => {
    const { home, enter } = await member();
    const other = fakeServer((_, path) => {
      if (path === "/oauth/device/code")
        return Response.json({
          ...{ device_code: "d", user_code: "BBBB-BBBB", expires_in: 600, interval: 1 },
          verification_uri: `${other.url}/device`,
        });
      return path === "/oauth/device/token" ? Response.json({ access_token: "t", token_type: "Bearer" }) : revoked();
    });
    const before = filesOf(home);
    expect((await failure(() => enter(other.url))).message).toContain(`revoked at ${other.url}:`);
    expect(filesOf(home)).toEqual(before);
    await check(home);
    const fresh = newHome();
    await failure(() => enter(other.url, { home: fresh }));
    expect((await failure(() => check(fresh))).message).toBe("not logged in: run 'svc login' once");
  });

  test("by another authority of the same host removes nothing, and the address counts without slashes at its end", async () => {
    const { home, server, enter, answers } = await member();
    answers((path) => (/^\/+other\/v1/.test(path) ? revoked() : undefined));
    expect((await failure(() => enter(`${server.url}/other`, { token: "t" }))).message).toContain(`at ${server.url}:`);
    await check(home);
    answers((path) => (path.startsWith("/v1") ? revoked() : undefined));
    await failure(() => enter(`${server.url}/`));
    expect((await failure(() => check(home))).message).toBe(sentence(server.url));
  });

  test("by the earlier authority, after a login elsewhere, removes nothing", async () => {
    const [here, there] = [await member(), await member()];
    await here.enter(there.server.url);
    here.answers(revoked);
    const before = filesOf(here.home);
    await failure(() => here.enter());
    expect(filesOf(here.home)).toEqual(before);
    await check(here.home);
  });

  test("while another login succeeds changes nothing of that one's", async () => {
    const { home, server, enter, licenseOf, answers, paths } = await member();
    answers(async (path) => {
      if (path !== "/oauth/device/token") return undefined;
      writeFileSync(paths.license, `${await licenseOf(0, 500)}\n`);
      answers(revoked);
      return undefined;
    });
    expect((await failure(enter)).message).toContain(`revoked at ${server.url}:`);
    await check(home);
  });
});

describe("an answer that is not a revocation leaves the licence as it is", () => {
  const ANSWERS: [string, Instead][] = [
    ["503", () => new Response('{"error":"temporarily_unavailable"}', { status: 503 })],
    ["503 that says so", () => Response.json({ error: "device_revoked" }, { status: 503 })],
    ["500", () => new Response("", { status: 500 })],
    ["429", () => Response.json({ error: "device_revoked" }, { status: 429 })],
    ["401 that says so", () => Response.json({ error: "device_revoked" }, { status: 401 })],
    ["200 that says so", () => Response.json({ error: "device_revoked" })],
    ["403 of another kind", () => Response.json({ error: "access_denied" }, { status: 403 })],
    ["403 without JSON", () => new Response("device_revoked", { status: 403 })],
    ["403 with a list", () => Response.json(["device_revoked"], { status: 403 })],
    ["403 with null", () => new Response("null", { status: 403 })],
    ["403 with a code that is not one", () => Response.json({ error: { device_revoked: true } }, { status: 403 })],
    ["403 with a code in other letters", () => Response.json({ error: "DEVICE_REVOKED" }, { status: 403 })],
    ["more than a megabyte", () => new Response(new Uint8Array(2_000_000), { status: 403 })],
    ["garbage", () => new Response(crypto.getRandomValues(new Uint8Array(1000)), { status: 200 })],
    ["a redirect", () => new Response(null, { status: 307, headers: { location: "https://example.org/" } })],
  ];
  test.each(ANSWERS)("%s, to renewals and to logins", async (_, answer) => {
    const { home, enter, renew, answers, before } = await member();
    const licence = before();
    answers(answer);
    expect(await failure(renew)).toBeInstanceOf(SvcError);
    answers((path) => (path.startsWith("/v1") ? answer(path) : undefined));
    expect(await failure(enter)).toBeInstanceOf(SvcError);
    expect(before()).toBe(licence);
    await check(home);
    expect(existsSync(accountPaths(home).revoked)).toBe(false);
  });

  test("no answer at all", async () => {
    const { home, renew, answers, before, paths } = await member();
    const licence = before();
    const gone = fakeServer(() => new Response());
    // The port of a server that has ended.
    const port = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
    const dead = `http://127.0.0.1:${port.port}`;
    await port.stop(true);
    writeFileSync(paths.renewal, readFileSync(paths.renewal, "utf8").replace(/http:[^"]*/, dead));
    expect(await failure(renew)).toBeInstanceOf(OSError);
    expect(gone.paths).toEqual([]);
    answers(() => undefined);
    expect(before()).toBe(licence);
    await check(home);
  });

  test("of a clock that is an hour off a new licence is good, or the old one stands and the clock is said", async () => {
    for (const hours of [-1, 1]) {
      const { renew, before } = await member();
      expect((await renew({ now: NOW + hours * 3600 }))?.jwt).toBe(before());
    }
    // By one that is a year ahead every licence that is issued has ended.
    const ahead = await member();
    expect((await failure(() => ahead.enter(undefined, { now: NOW + 366 * DAY }))).message).toMatch(
      /^the licence expired on \S+, by the clock of this machine, which says \S+, and http:\S+ has only just issued it: set/,
    );
    await check(ahead.home);
    // Where no later time was seen here.
    const { home, renew, before } = await member();
    const old = before();
    resetClock(home, NOW - 3600);
    expect((await failure(() => renew({ now: NOW - 3600 }))).message).toMatch(/is the clock right\?/);
    expect(before()).toBe(old);
    await check(home);
  });
});

describe("a download with this answer", () => {
  const ask = (url: string) => fetchBundle({ packages: url, version: "1.0.0", tag: "linux-x86_64", apiKey: "k" });
  test("says it, of this code alone", async () => {
    const server = fakeServer(revoked);
    const error = await failure(() => ask(server.url), DeviceRevoked);
    expect(error.message).toContain(`revoked at ${server.url}:`);
    for (const body of ["device_revoked", '"device_revoked"', "x".repeat(100_000), "", '{"error":"access_denied"}']) {
      const other = fakeServer(() => new Response(body, { status: 403 }));
      const error = await failure(() => ask(other.url));
      expect(error.message).toBe("the packages server refuses the API key: run 'svc login' again");
      expect(error).not.toBeInstanceOf(DeviceRevoked);
    }
  });
});

describe("the record of it", () => {
  test("refuses whatever is in it, and a login replaces it", async () => {
    const { home, paths, enter } = await member();
    for (const text of [
      "",
      "null",
      "rubbish",
      '{"format":2,"origin":"https://a.example","at":1}',
      '{"format":1,"origin":"https://a.example\\u001b[2J","at":1e99}',
      '{"format":1,"origin":7,"at":"yesterday"}',
      "x".repeat(100_000),
    ]) {
      writeFileSync(paths.revoked, text);
      await failure(() => check(home), Error, "this device was revoked: ask its administrator, then 'svc login'");
    }
    await enter();
    await check(home);
  });

  test("where it cannot be written the licence goes all the same", async () => {
    const { home, paths, renew, answers } = await member();
    mkdirSync(paths.revoked);
    const known = await failure(renew); // the folder in its place refuses by itself
    expect(known).toBeInstanceOf(DeviceRevoked);
    rmSync(paths.revoked, { recursive: true });
    answers(() => {
      mkdirSync(paths.revoked);
      return revoked();
    });
    expect(await failure(renew)).toBeInstanceOf(DeviceRevoked);
    expect(existsSync(paths.license)).toBe(false);
    expect(await failure(() => check(home))).toBeInstanceOf(DeviceRevoked);
  });

  test("is gone with a logout", async () => {
    const { home, paths, renew, answers } = await member();
    answers(revoked);
    await failure(renew);
    expect((await logout(home)).login).toEqual(expect.arrayContaining(["revoked.json", "login_origin", "api_key"]));
    expect((await failure(() => check(home))).message).toBe("not logged in: run 'svc login' once");
    expect([paths.revoked, paths.loginOrigin].filter((path) => existsSync(path))).toEqual([]);
  });

  test("and that of the login's origin have no secret", async () => {
    const { home, apiKey, paths } = await member();
    expect(Object.values(filesOf(home, "api_key")).join("")).not.toContain(apiKey);
    expect(statSync(paths.loginOrigin).mode & 0o777).toBe(0o600);
  });
});
