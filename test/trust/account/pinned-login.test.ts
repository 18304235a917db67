/** Logins at an organisation's authority, which pin it, and what the environment, a build and a private CA change. */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OSError, PermissionError, ValueError } from "../../../src/errors.ts";
import { accountPaths, authorityPaths, type Env } from "../../../src/paths.ts";
import { type AuthorityFlags, loginTarget } from "../../../src/trust/account/login/login-target.ts";
import { logout } from "../../../src/trust/account/login/logout.ts";
import { configuredEndpoints } from "../../../src/trust/account/trusted/endpoints.ts";
import { readPin, writePin } from "../../../src/trust/account/trusted/pin.ts";
import { PrivateAuthority, selfSigned } from "../../e2e/certificate.ts";
import { testKey } from "../../keys.ts";
import { JWKS, jwkOf, METADATA, organisation } from "./front.ts";
import { authorityIn, failure, LOCAL_BUILD, newHome } from "./helpers.ts";
import { askedFor, enter, fileOf, fingerprint, flagsOf, good } from "./organisation-login.ts";
import { statementOf } from "./statements.ts";

describe("a login with --authority and --license-pubkey", () => {
  test("pins the authority, and later logins and calls need no flag and no environment", async () => {
    const front = await organisation();
    const home = newHome();
    await enter(home, flagsOf(front));
    await good(home);
    expect(readPin(home)).toMatchObject({ issuer: front.url, licenseKey: front.publicPem, ca: null, successors: [] });
    expect(configuredEndpoints({}, home, LOCAL_BUILD)).toMatchObject({ accounts: front.url, packages: front.url });
    const before = readFileSync(accountPaths(home).pin, "utf8");
    await enter(home);
    await good(home);
    expect(readFileSync(accountPaths(home).pin, "utf8")).toBe(before);
  });

  test("takes a fingerprint in the place of the key, as svc and as ssh-keygen write it", async () => {
    const front = await organisation();
    const own = fingerprint(front.publicPem);
    for (const licensePubkey of [own, `${own.replaceAll("-", "+").replaceAll("_", "/")}=`]) {
      const home = newHome();
      await enter(home, { authority: `${front.url}/`, licensePubkey });
      expect(readPin(home)).toMatchObject({ issuer: front.url, licenseKey: front.publicPem });
      await good(home);
    }
  });

  test("follows the authority's keys from the one given to its latest, which signs", async () => {
    const front = await organisation({ key: "license-next" });
    const first = testKey("license");
    const chain = [await statementOf(first, testKey("license-next"))];
    front.instead[JWKS] = () => Response.json({ keys: [front.publicPem, first.publicPem].map(jwkOf) });
    front.instead["/v1/license-keys"] = () => Response.json({ keys: [], statements: chain });
    const home = newHome();
    await enter(home, flagsOf({ url: front.url, publicPem: first.publicPem }));
    expect(readPin(home)).toMatchObject({ licenseKey: first.publicPem, successors: chain });
    // A first key that the authority no longer lists is one all the same.
    front.instead[JWKS] = () => Response.json({ keys: [jwkOf(front.publicPem)] });
    await enter(newHome(), flagsOf({ url: front.url, publicPem: first.publicPem }));
    // One of another chain is not.
    const foreign = { url: front.url, publicPem: testKey("foreign").publicPem };
    expect((await failure(() => enter(newHome(), flagsOf(foreign)))).message).toContain(
      "chain of licence keys is refused",
    );
  });

  test("changes to another authority, and keeps the one before where that does not work out", async () => {
    const [one, two] = [await organisation(), await organisation({ key: "foreign" })];
    const home = newHome();
    await enter(home, flagsOf(one));
    const before = readdirSync(home).map((name) => readFileSync(join(home, name), "utf8"));
    // Only with its own key.
    const without = await failure(() => enter(home, { authority: two.url }), ValueError);
    expect(without.message).toContain(`--authority needs --license-pubkey with the licence key of ${two.url}`);
    const wrong = { authority: two.url, licensePubkey: fingerprint(one.publicPem) };
    expect((await failure(() => enter(home, wrong))).message).toContain("has another licence key than the one given");
    two.instead["/v1/device/register"] = () => new Response(null, { status: 500 });
    await failure(() => enter(home, flagsOf(two)));
    expect(readdirSync(home).map((name) => readFileSync(join(home, name), "utf8"))).toEqual(before);
    await good(home);
    delete two.instead["/v1/device/register"];
    await enter(home, flagsOf(two));
    expect(readPin(home)).toMatchObject({ issuer: two.url });
    await good(home);
  });

  test("of two at the same time one wins as a whole", async () => {
    const fronts = [await organisation(), await organisation({ key: "foreign" })];
    const home = newHome();
    for (let round = 0; round < 3; round++) {
      const ended = await Promise.all(fronts.map((front) => enter(home, flagsOf(front))));
      const { jwt } = await good(home);
      const last = ended.findIndex((one) => one?.license.jwt === jwt);
      expect(readPin(home)?.issuer).toBe(fronts[last]!.url);
    }
  });

  test("replaces a pin that is damaged", async () => {
    const front = await organisation();
    const home = newHome();
    writeFileSync(accountPaths(home).pin, "{", { mode: 0o600 });
    expect((await failure(() => enter(home))).message).toContain("authority.json is damaged");
    await enter(home, flagsOf(front));
    await good(home);
  });

  test("is taken back by logout --forget alone, after which this machine's local authority is asked", async () => {
    const front = await organisation();
    const home = newHome();
    await enter(home, flagsOf(front));
    await logout(home);
    expect((await loginTarget({ home, env: {}, build: LOCAL_BUILD }))?.by).toBe("pin");
    expect((await logout(home, { forget: true })).login).toEqual(["authority.json"]);
    expect(await loginTarget({ home, env: {}, build: LOCAL_BUILD })).toBeUndefined();
    // A damaged one too.
    writeFileSync(accountPaths(home).pin, "{", { mode: 0o600 });
    await logout(home, { forget: true });
    expect(existsSync(accountPaths(home).pin)).toBe(false);
  });
});

describe("the environment and the pin", () => {
  test("an authority of the environment without a key is refused before it is asked", async () => {
    const front = await organisation();
    const home = newHome();
    const env = { SVC_ACCOUNTS_URL: front.url };
    const error = await failure(() => enter(home, {}, { env }), PermissionError);
    expect(error.message).toContain(`no key to check licences of ${front.url} with`);
    expect(error.message).toContain(`svc login --authority ${front.url} --license-pubkey FILE`);
    expect(front.paths).toEqual([]);
    await enter(home, {}, { env: { ...env, SVC_LICENSE_PUBKEY: front.publicPem } });
    expect(readPin(home)).toBeUndefined();
    // Nor does the pin of another authority have it.
    writePin(home, { issuer: "https://x.example", licenseKey: front.publicPem, ca: null, successors: [], pinnedAt: 1 });
    expect((await failure(() => enter(home, {}, { env }))).message).toContain("no key to check");
    await enter(home, flagsOf(front));
    await enter(home, {}, { env });
    await good(home);
  });

  test("a key of the environment that is not that of this machine's local authority is refused before it is asked", async () => {
    const home = newHome();
    const target = (SVC_LICENSE_PUBKEY: string) =>
      loginTarget({ home, env: { SVC_LICENSE_PUBKEY }, build: LOCAL_BUILD });
    const { publicPem } = testKey("license");
    expect((await failure(() => target(publicPem))).message).toMatch(
      /^SVC_LICENSE_PUBKEY has another key than this machine's local authority, .*: unset it, or run 'svc login --auth/,
    );
    const authority = await authorityIn(home, { approve: "yes" });
    await authority.stop();
    expect(await target(publicPem)).toBeUndefined();
    await failure(() => target(testKey("foreign").publicPem));
    rmSync(authorityPaths(home).licensePublicKey);
    expect(await target(publicPem)).toBeUndefined();
  });

  test("that name two authorities or two keys are refused", async () => {
    const front = await organisation();
    const other = { SVC_ACCOUNTS_URL: "https://other.example", SVC_LICENSE_PUBKEY: testKey("foreign").publicPem };
    for (const [name, value] of Object.entries(other)) {
      const error = await failure(() => enter(newHome(), flagsOf(front), { env: { [name]: value } }), ValueError);
      expect(error.message).toEndWith(`unset ${name}`);
    }
    const same = { SVC_ACCOUNTS_URL: front.url, SVC_LICENSE_PUBKEY: front.publicPem };
    await enter(newHome(), flagsOf(front), { env: same });
    expect(front.paths.filter((path) => path === METADATA)).toHaveLength(1);
  });
});

describe("an authority's own build", () => {
  test("has its address and its key, and takes neither from flags or environment", async () => {
    const front = await organisation();
    const build = { authority: front.url, licensePublicKey: front.publicPem };
    const home = newHome();
    await enter(home, {}, { build });
    await good(home, { build });
    expect(readPin(home)).toBeUndefined();
    await enter(home, flagsOf(front), { build });
    const refusals: [AuthorityFlags, Env, string][] = [
      [{ authority: "https://other.example" }, {}, "leave out --authority"],
      [{ licensePubkey: fingerprint(testKey("foreign").publicPem) }, {}, "keys are fixed: leave out --license-pubkey"],
      [{}, { SVC_RELEASE_PUBKEY_FILE: "x" }, "this build's keys are fixed: unset SVC_RELEASE_PUBKEY_FILE"],
      [{}, { SVC_LICENSE_PUBKEY: front.publicPem }, "this build's keys are fixed: unset SVC_LICENSE_PUBKEY"],
    ];
    const asked = front.paths.length;
    for (const [flags, env, message] of refusals) {
      await failure(() => enter(home, flags, { build, env }), PermissionError, expect.stringContaining(message));
    }
    expect(front.paths).toHaveLength(asked);
    // An authority that has none, or the metadata of something else at its origin.
    for (const answer of [
      new Response(null, { status: 403 }),
      new Response("<html>"),
      Response.json({ issuer: "x" }),
    ]) {
      front.instead[METADATA] = () => answer;
      await enter(home, {}, { build });
    }
    delete front.instead[METADATA];
  });

  test("finds out before anyone is asked that its authority has another key", async () => {
    const front = await organisation();
    const build = { authority: front.url, licensePublicKey: testKey("foreign").publicPem };
    const error = await failure(() => enter(newHome(), {}, { build }));
    expect(error.message).toContain("has another licence key than the one that is built in");
    expect(askedFor(front)).toEqual([]);
  });

  test("pins the CA of its authority alone", async () => {
    const ca = new PrivateAuthority();
    const front = await organisation({ tls: ca.issue("localhost") });
    const build = { authority: front.url, licensePublicKey: front.publicPem };
    const home = newHome();
    expect((await failure(() => enter(home, {}, { build }))).message).toContain("its certificate is not trusted");
    await enter(home, { caFile: fileOf(home, "ca.pem", ca.cert) }, { build });
    expect(readPin(home)).toMatchObject({ issuer: front.url, licenseKey: null });
    await enter(home, {}, { build });
    await good(home, { build });
  });
});

describe("an authority with a certificate of its own CA", () => {
  const ca = new PrivateAuthority();

  test("is trusted by --ca-file, then and later, and by nothing else", async () => {
    const front = await organisation({ tls: ca.issue("localhost") });
    const home = newHome();
    const flags = flagsOf(front);
    const error = await failure(() => enter(home, flags), OSError);
    expect(error.message).toMatch(/its certificate is not trusted \([A-Z_]+\); 'svc login --ca-file FILE'/);
    const other = fileOf(newHome(), "ca.pem", new PrivateAuthority().cert);
    expect((await failure(() => enter(home, { ...flags, caFile: other }))).message).toContain("not trusted");
    expect(readdirSync(home)).toEqual([]);
    const both = `Some text before\n${new PrivateAuthority().cert}and between\n${ca.cert}`;
    await enter(home, { ...flags, caFile: fileOf(newHome(), "ca.pem", both) });
    await enter(home);
    await good(home);
    // Kept with the address; replaced by itself.
    await enter(home, { authority: front.url });
    expect(readPin(home)?.ca).not.toContain("between");
    await enter(home, { caFile: fileOf(newHome(), "ca.pem", ca.cert) });
    expect(readPin(home)?.ca?.trim()).toBe(ca.cert.trim());
    await failure(() => enter(home, { caFile: other }));
    expect(readPin(home)?.ca?.trim()).toBe(ca.cert.trim());
  });

  test("is refused for a certificate that has expired, or is for another name", async () => {
    const faults = [
      [ca.issue("elsewhere.example"), "its certificate is for another name"],
      [ca.expired("localhost"), "its certificate has expired by this machine's clock, which says 20"],
    ] as const;
    for (const [tls, message] of faults) {
      const front = await organisation({ tls });
      const caFile = fileOf(newHome(), "ca.pem", ca.cert);
      expect((await failure(() => enter(newHome(), { ...flagsOf(front), caFile }))).message).toContain(message);
      expect(front.paths).toEqual([]);
    }
  });

  test("can be a certificate that only its own key has signed", async () => {
    const tls = selfSigned();
    const front = await organisation({ tls });
    const home = newHome();
    await enter(home, { ...flagsOf(front), caFile: fileOf(home, "ca.pem", tls.cert) });
    await enter(home);
  });

  test("a file that is not one is refused, and says why", async () => {
    const flags = { authority: "https://svc.example", licensePubkey: fingerprint(testKey("license").publicPem) };
    const home = newHome();
    const files: [string, RegExp][] = [
      [join(home, "none"), /--ca-file: there is no file/],
      [home, /--ca-file: '.*' is a folder, not a regular file/],
      [fileOf(home, "a", "text"), /no certificate in PEM/],
      [fileOf(home, "b", ca.issue("x").key + ca.cert), /holds a private key/],
      [fileOf(home, "c", ca.cert + ca.cert.replace(/MI..../, "AAAAAA")), /certificate 2 of the file cannot be read/],
      [fileOf(home, "d", ca.cert.repeat(200)), /--ca-file: .*at most 65536/],
    ];
    for (const [caFile, message] of files) {
      const error = await failure(() => loginTarget({ home, env: {}, build: LOCAL_BUILD }, { ...flags, caFile }));
      expect(error).toBeInstanceOf(ValueError);
      expect(error.message).toMatch(message);
    }
  });
});
