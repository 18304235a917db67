/** The licence of an organisation that ages: what svc sends by itself, which is nothing but for a consent. */
import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accountPaths } from "../../src/paths.ts";
import { authorityIn, fakeServer, goodClaims, LICENSE_PUBLIC_PEM, newHome, signed } from "../trust/account/helpers.ts";
import { claimsIn, read, until } from "./aged.ts";
import { asPlainUser, copyOfHome, emptyHome, type Home, Session, SVC, svc } from "./home.ts";

const DAY = 86_400;
const NOW = Math.floor(Date.now() / 1000);
const ANCHOR = { SVC_LICENSE_PUBKEY: LICENSE_PUBLIC_PEM.replaceAll("\n", "\\n") };
const REQUESTS = ["/v1/device/nonce", "/v1/device/register"];
/** A command about the memory that says nothing of its own on stderr. */
const LIST = ["mem", "list", "--json"];
const licenseOf = (env: Home) => read(accountPaths(env.SVC_HOME!).license);

/** Homes after `svc login`, with `--auto-renew` and without. */
let consenting: Home;
let silent: Home;
/** The organisation's server, the paths that were asked for, and answers in its place. */
let server: { url: string; paths: string[] };
let instead: () => Response | Promise<Response> | undefined;

beforeAll(async () => {
  const authority = await authorityIn(newHome(), { approve: "yes", licenseDays: 90, offlineGraceDays: 5 });
  server = fakeServer(async (request, path) => {
    const [body, { method, headers }] = [await request.text(), request];
    return (await instead()) ?? fetch(authority.url + path, { method, headers, body: body || undefined });
  });
  instead = () => undefined;
  const enter = async (...flags: string[]) => {
    const env = { ...emptyHome(), ...ANCHOR };
    const words = ["login", "--no-browser", "--json", ...flags];
    const { code, out, err } = await svc({ ...env, SVC_ACCOUNTS_URL: server.url }, words);
    expect({ code, err }).toMatchObject({ code: 0 });
    expect(JSON.parse(out).auto_renew).toBe(flags.length > 0 ? server.url : null);
    return env;
  };
  [consenting, silent] = [await enter("--auto-renew"), await enter()];
});

beforeEach(() => {
  instead = () => undefined;
  server.paths.length = 0;
});

/** A copy of a home whose licence began so many days ago and lasts 90. Where the organisation is, only the home says. */
async function aged(home: Home, days = 61): Promise<Home> {
  const env: Home = { ...copyOfHome(home), ...ANCHOR };
  const claims = claimsIn(env.SVC_HOME!);
  const issued = NOW - days * DAY;
  const jwt = await signed({ ...goodClaims(claims.cnf.jkt, issued), exp: issued + 90 * DAY, offline_grace_days: 5 });
  writeFileSync(accountPaths(env.SVC_HOME!).license, `${jwt}\n`, { mode: 0o600 });
  return env;
}

describe("after svc login --auto-renew", () => {
  test("svc mem and svc mcp renew the licence in the last third of its life", async () => {
    const [one, two] = [await aged(consenting), await aged(consenting)];
    const [before, after] = [licenseOf(one), licenseOf(two)];
    expect(await svc(one, LIST)).toMatchObject({ code: 0, err: "" });
    expect(server.paths).toEqual(REQUESTS);
    expect(licenseOf(one)).not.toBe(before);
    const session = await Session.open(two);
    await session.call("svc_list_collections");
    await until(() => licenseOf(two) !== after);
    await session.close();
    expect(server.paths).toEqual([...REQUESTS, ...REQUESTS]);
    expect(await svc(two, LIST)).toMatchObject({ code: 0, err: "" });
    expect(server.paths).toHaveLength(4);
  });

  test("an authority that never answers holds no answer back, and no process", async () => {
    const [one, two] = [await aged(consenting), await aged(consenting)];
    const before = licenseOf(one);
    instead = () => new Promise<Response>(() => {});
    const child = Bun.spawn([SVC, "mem", "create", "notes"], { env: one, stdout: "pipe", stderr: "pipe" });
    expect(new TextDecoder().decode((await child.stdout.getReader().read()).value)).toStartWith("created notes");
    const session = await Session.open(two);
    await session.call("svc_list_collections");
    await until(() => server.paths.length === 2);
    await session.close();
    expect(await child.exited).toBe(0);
    expect([licenseOf(one), licenseOf(two)]).toEqual([before, expect.any(String)]);
    expect(await svc(one, LIST)).toMatchObject({ code: 0, err: "" });
    expect(server.paths).toEqual([REQUESTS[0]!, REQUESTS[0]!]);
  });

  test("a device that was revoked is said once, and nothing is asked again", async () => {
    const env = await aged(consenting);
    instead = () => Response.json({ error: "access_denied" }, { status: 403 });
    const { code, err } = await svc(env, LIST);
    expect(code).toBe(0);
    expect(err).toMatch(
      /^svc: note: the licence works until \S+ and could not be renewed: the authority refuses to license this device; nothing is tried until the next 'svc login'\n$/,
    );
    expect(await svc(env, LIST)).toMatchObject({ code: 0, err: "" });
    expect(server.paths).toHaveLength(1);
  });

  test.skipIf(asPlainUser === undefined)(
    "a disk that cannot be written is a warning, and nothing is sent (as root it needs setpriv)",
    async () => {
      const env = await aged(consenting);
      chmodSync(env.SVC_HOME!, 0o500);
      const { code, err } = await svc(env, LIST, "", { prefix: asPlainUser });
      chmodSync(env.SVC_HOME!, 0o700);
      expect(code).toBe(0);
      expect(err).toMatch(/^svc: note: the licence works until .* could not be renewed: cannot .*EACCES/);
      expect(server.paths).toEqual([]);
    },
  );
});

test("nothing is sent by svc serve, without the consent, before the last third, and after the grace", async () => {
  const served = await aged(consenting);
  const [without, young, ended] = [await aged(silent), await aged(consenting, 50), await aged(consenting, 100)];
  const before = [served, without, young, ended].map(licenseOf);
  const words = [SVC, "serve", "--socket", join(served.HOME!, "s.sock")];
  await using serving = Bun.spawn(words, { env: served, stdout: "pipe", stderr: "ignore" });
  await serving.stdout.getReader().read();
  const sessions = await Promise.all([without, young].map((env) => Session.open(env)));
  await Promise.all(sessions.map((session) => session.call("svc_list_collections")));
  for (const env of [without, young]) expect(await svc(env, LIST)).toMatchObject({ code: 0, err: "" });
  expect(await svc(ended, LIST)).toMatchObject({
    code: 1,
    err: expect.stringMatching(
      /"PermissionError\.license_expired".*the licence expired on .*: run 'svc login' to renew it"/,
    ),
  });
  // Longer than those that renew wait for their first look.
  await Bun.sleep(800);
  await Promise.all(sessions.map((session) => session.close()));
  serving.kill("SIGTERM");
  expect(await serving.exited).toBe(0);
  expect(server.paths).toEqual([]);
  expect([served, without, young, ended].map(licenseOf)).toEqual(before);
});

test("a login keeps the consent for its origin, takes that for another back, and says both", async () => {
  const env = await aged(consenting);
  const there = { ...env, SVC_ACCOUNTS_URL: server.url };
  const again = await svc(there, ["login", "--no-browser", "--no-install"]);
  expect(again).toMatchObject({ code: 0, err: expect.stringContaining(`goes on renewing itself at ${server.url}\n`) });
  const renewedBy = async () => JSON.parse((await svc(env, ["runtime", "status", "--json"])).out).login.renewal.by;
  expect(await renewedBy()).toBe(`by itself, at ${server.url}`);
  const taken = await svc(there, ["login", "--no-browser", "--no-install", "--no-auto-renew", "--json"]);
  expect(taken).toMatchObject({ code: 0, out: expect.stringContaining('"auto_renew":null') });
  expect(existsSync(accountPaths(env.SVC_HOME!).renewal)).toBe(false);
  expect(await renewedBy()).toBe("by 'svc login'");
});
