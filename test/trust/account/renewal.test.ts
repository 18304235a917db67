/** An organisation's licence that renews itself: only by consent, only from its own origin, at most once a day. */
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { PermissionError, RuntimeError } from "../../../src/errors.ts";
import { accountPaths } from "../../../src/paths.ts";
import { resetClock } from "../../../src/trust/account/clock.ts";
import { logout } from "../../../src/trust/account/login/logout.ts";
import { type ConsentWish, readConsent, settleConsent } from "../../../src/trust/account/login/renewal.ts";
import { testKey } from "../../keys.ts";
import { failure, fakeServer, goodClaims, newHome, signed } from "./helpers.ts";
import { DAY, member, NOW, REQUESTS } from "./member.ts";

const read = (path: string) => readFileSync(path, "utf8").trim();

describe("with the consent of a login", () => {
  test("a licence is renewed in the last third of its life, and not before", async () => {
    const { home, paths, server, renew, age } = await member({ began: 59 });
    expect(await renew()).toMatchObject({ expiresAt: NOW + 31 * DAY });
    expect(server.paths).toEqual([]);
    const before = await age(61);
    const renewed = await renew();
    expect(server.paths).toEqual(REQUESTS);
    expect(renewed!.expiresAt).toBeGreaterThanOrEqual(NOW + 90 * DAY);
    expect(read(paths.license)).toBe(renewed!.jwt);
    expect(renewed!.jwt).not.toBe(before);
    expect(statSync(paths.license).mode & 0o777).toBe(0o600);
    expect(readConsent(home)).toEqual({ api: server.url, key: expect.any(String), tried: NOW });
    // The process that knows the old licence only finds that it is renewed.
    expect((await renew())?.jwt).toBe(renewed!.jwt);
    expect(server.paths).toHaveLength(2);
  });

  test("an authority is asked at most once a day, whether it answers or not", async () => {
    const { server, renew, answers, before } = await member();
    const old = before();
    answers(() => new Response("busy", { status: 503 }));
    expect(await failure(renew)).toBeInstanceOf(RuntimeError);
    for (const now of [NOW + 60, NOW + DAY - 1]) expect(await renew({ now })).toBeUndefined();
    expect(server.paths).toHaveLength(1);
    expect(await failure(() => renew({ now: NOW + DAY }))).toBeInstanceOf(RuntimeError);
    expect(server.paths).toHaveLength(2);
    expect(before()).toBe(old);
    answers(() => undefined);
    expect((await renew({ now: NOW + 2 * DAY }))?.jwt).toBe(before());
  });

  test("of processes that renew at the same time one asks", async () => {
    const { server, renew, before } = await member();
    const renewed = await Promise.all([renew(), renew(), renew()]);
    expect(server.paths).toEqual(REQUESTS);
    expect(renewed.filter((one) => one !== undefined).map(({ jwt }) => jwt)).toContain(before());
  });

  test("a device that the authority refuses stops asking until the next login", async () => {
    const { home, server, apiKey, renew, answers } = await member();
    answers(() => Response.json({ error: "access_denied" }, { status: 403 }));
    const error = await failure(renew, PermissionError);
    expect(error.message).toBe(
      "the authority refuses to license this device; nothing is tried until the next 'svc login'",
    );
    expect(readConsent(home)).toMatchObject({ refused: NOW });
    expect(await renew({ now: NOW + 5 * DAY })).toBeUndefined();
    expect(server.paths).toHaveLength(1);
    answers(() => undefined);
    await settleConsent(home, { wanted: undefined, api: server.url, apiKey });
    expect(await renew({ now: NOW + 5 * DAY })).toBeDefined();
  });

  test("an API key that has ended is said, and does not stop the next day's try", async () => {
    const { server, renew, answers } = await member();
    answers(() => Response.json({ error: "invalid_token" }, { status: 401 }));
    for (const now of [NOW, NOW + DAY])
      expect((await failure(() => renew({ now }))).message).toBe("the API key is refused: run 'svc login' again");
    expect(server.paths).toHaveLength(2);
  });

  test("a licence that does not verify, or lasts no longer, does not replace the old one", async () => {
    const m = await member();
    const old = m.before();
    const bad: [RegExp | undefined, () => Promise<string>][] = [
      [/not by the key/, () => m.licenseOf(0, 900, testKey("license-other").privatePem)],
      [/another device/, () => signed({ ...goodClaims("ed25519:other"), exp: NOW + 900 * DAY })],
      [/expired on/, () => m.licenseOf(100, 10)],
      [undefined, () => m.licenseOf(10, 30)],
    ];
    for (const [i, [message, license]] of bad.entries()) {
      m.answers(async (path) =>
        path === REQUESTS[1] ? Response.json({ license: await license() }) : Response.json({ nonce: "n" }),
      );
      const now = NOW + i * DAY;
      if (message) expect((await failure(() => m.renew({ now }))).message).toMatch(message);
      else expect(await m.renew({ now })).toBeUndefined();
      expect(m.before()).toBe(old);
    }
    expect(m.server.paths).toHaveLength(2 * bad.length);
  });

  test("a login that comes meanwhile wins", async () => {
    const { renew, licenseOf, answers, paths, before } = await member();
    const other = await licenseOf(0, 500);
    answers((path) => {
      if (path === REQUESTS[1]) writeFileSync(paths.license, `${other}\n`);
      return undefined;
    });
    expect(await renew()).toBeUndefined();
    expect(before()).toBe(other);
  });

  test("a request is given up when its time is over, and the licence stays", async () => {
    const { renew, answers, before } = await member();
    const old = before();
    answers(() => new Promise<Response>(() => {}));
    await failure(() => renew({ signal: AbortSignal.timeout(50) }));
    expect(before()).toBe(old);
  });
});

describe("nothing is sent", () => {
  test("without the consent", async () => {
    const { server, renew, before } = await member({ consent: false });
    const old = before();
    for (const days of [0, 1, 20]) expect(await renew({ now: NOW + days * DAY })).toBeUndefined();
    expect(server.paths).toEqual([]);
    expect(before()).toBe(old);
  });

  test("to an address of another origin than the recorded one", async () => {
    const { server, renew } = await member();
    const other = fakeServer(() => Response.json({}));
    const env = { SVC_ACCOUNTS_URL: other.url };
    const error = await failure(() => renew({ env }), PermissionError);
    expect(error.message).toBe(
      `renewals are agreed with ${server.url}, but ${other.url} is configured: run 'svc login --auto-renew'`,
    );
    expect([...server.paths, ...other.paths]).toEqual([]);
    // The same origin, and none at all, as in the environment that an MCP client gives.
    expect(await renew({ env: { SVC_ACCOUNTS_URL: `${server.url}/` } })).toBeDefined();
  });

  test("to where a redirect leads", async () => {
    const { renew, answers } = await member();
    const target = fakeServer(() => Response.json({ nonce: "n" }));
    answers(() => new Response(null, { status: 307, headers: { location: `${target.url}/x` } }));
    expect((await failure(renew)).message).toContain("redirects to another origin, refused");
    expect(target.paths).toEqual([]);
  });

  test("where the API key is of another login, as that one was killed before it said what it wants", async () => {
    const { server, renew, paths } = await member();
    writeFileSync(paths.apiKey, "svk_of-another-authority\n", { mode: 0o600 });
    expect(await renew()).toBeUndefined();
    expect(server.paths).toEqual([]);
  });

  test("by a clock that may be wrong", async () => {
    const { home, server, renew } = await member();
    for (const seen of [NOW - 400 * DAY, NOW + 2 * DAY]) {
      resetClock(home, seen);
      expect(await renew()).toBeUndefined();
    }
    expect(server.paths).toEqual([]);
  });

  test("where the record is damaged, or others can read it", async () => {
    const { server, renew, paths } = await member();
    const good = readFileSync(paths.renewal, "utf8");
    const bad = [
      "",
      "null",
      "{}",
      good.slice(0, -5),
      good.replace('"format":1', '"format":2'),
      good.replace(server.url, "http://example.com"),
      good.replace(server.url, "file:///etc/passwd"),
      good.replace(/"key":"."/, '"key":"x"').replace(/"key":"\w{8}/, '"key":"'),
      good.replace("}", ',"tried":"yesterday"}'),
      good.replace("}", ',"api":"https://example.com"}'),
    ];
    for (const text of bad) {
      writeFileSync(paths.renewal, text);
      await failure(renew, PermissionError, "renewal.json is damaged: run 'svc login --auto-renew', or remove it");
    }
    writeFileSync(paths.renewal, good);
    chmodSync(paths.renewal, 0o644);
    expect((await failure(renew)).message).toContain("run chmod 600");
    expect(server.paths).toEqual([]);
  });
});

describe("what a login says about it", () => {
  const A = "https://a.example.org/api";
  const B = "https://b.example.org";
  const wish = (wanted: boolean | undefined, api: string | undefined): ConsentWish => ({ wanted, api, apiKey: "k" });
  const ORIGIN = "https://a.example.org";
  const CASES: [string, boolean | undefined, string | undefined, string | undefined, RegExp | undefined][] = [
    ["--auto-renew", true, A, ORIGIN, undefined],
    [
      "nothing, at the same origin",
      undefined,
      `${ORIGIN}/v2`,
      ORIGIN,
      /^the licence goes on renewing itself at .*a\.ex/,
    ],
    ["nothing, at another origin", undefined, B, undefined, /^the licence no longer renews itself at .*a\.example/],
    ["nothing, at this machine's local authority", undefined, undefined, undefined, /^the licence no longer renews/],
    ["--auto-renew, at another origin", true, B, B, undefined],
    ["--no-auto-renew", false, A, undefined, undefined],
    ["--auto-renew, at this machine's local authority", true, undefined, undefined, /needs no --auto-renew/],
  ];
  test.each(CASES)("%s", async (_, wanted, api, origin, said) => {
    const home = newHome();
    await settleConsent(home, wish(true, A));
    const outcome = await settleConsent(home, wish(wanted, api));
    expect(outcome.origin).toBe(origin);
    if (said) expect(outcome.note).toMatch(said);
    else expect(outcome.note).toBeUndefined();
    expect(readConsent(home)?.api).toBe(origin === undefined ? undefined : api);
    if (origin) expect(statSync(accountPaths(home).renewal).mode & 0o777).toBe(0o600);
  });

  test("nothing is recorded where nothing is said, and a damaged record is replaced", async () => {
    const home = newHome();
    expect(await settleConsent(home, wish(undefined, A))).toEqual({ origin: undefined, note: undefined });
    expect(existsSync(accountPaths(home).renewal)).toBe(false);
    writeFileSync(accountPaths(home).renewal, "rubbish");
    expect((await settleConsent(home, wish(true, A))).origin).toBe(ORIGIN);
    expect(readConsent(home)).toMatchObject({ api: A });
  });

  test("a record that cannot be read is removed by a login that says nothing, and that is said", async () => {
    const home = newHome();
    writeFileSync(accountPaths(home).renewal, "rubbish");
    const { note } = await settleConsent(home, wish(undefined, A));
    expect(note).toMatch(/no longer renews itself: renewal\.json was damaged/);
    expect(existsSync(accountPaths(home).renewal)).toBe(false);
  });

  test("a logout takes it back", async () => {
    const { home } = await member();
    await logout(home);
    expect(readConsent(home)).toBeUndefined();
  });

  test("the file has no secret: the API key is in it as a digest", async () => {
    const { paths, apiKey } = await member();
    expect(read(paths.renewal)).not.toContain(apiKey);
  });
});
