/** What an organisation's authority and the logins there refuse, each with a sentence of its own, and what is as before. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accountPaths } from "../../src/paths.ts";
import { testKey } from "../keys.ts";
import { enroll, FleetDevice, onboard } from "../trust/authority/fleet.ts";
import { clockAhead } from "./clock.ts";
import { executableOf } from "./executables.ts";
import { type Ended, emptyHome, type Home, svc } from "./home.ts";
import { loginByPage, Organisation } from "./organisation.ts";

let org: Organisation;
/** A home that is in. */
let member: Home;

beforeAll(async () => {
  org = await Organisation.found();
  member = emptyHome();
  expect(await enter(member, await org.enrollKey())).toMatchObject({ code: 0 });
  expect(await svc(member, ["runtime", "install"])).toMatchObject({ code: 0 });
  expect(await svc(member, ["mem", "add", "notes", "We deploy blue-green."])).toMatchObject({ code: 0 });
});
afterAll(() => org?.end());

/** A login by an enrolment key. */
function enter(home: Home, key: string, more: string[] = [], at = org): Promise<Ended> {
  return svc(home, [...at.loginWords(home), "--enroll-key", "-", "--no-install", ...more], `${key}\n`);
}

/** That a login failed with one sentence, and left no login. */
function expectRefused({ code, out, err }: Ended, home: Home, sentence: RegExp): void {
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toMatch(sentence);
  expect(err.split("\n").filter((line) => /^svc: (?!note: )/.test(line))).toHaveLength(1);
  expect(existsSync(accountPaths(home.SVC_HOME!).license)).toBe(false);
  expect(existsSync(accountPaths(home.SVC_HOME!).apiKey)).toBe(false);
}

describe("an enrolment key", () => {
  test("that was used", async () => {
    const key = await org.enrollKey();
    expect(await enter(emptyHome(), key)).toMatchObject({ code: 0 });
    const second = emptyHome();
    expectRefused(await enter(second, key), second, /has been used as often as it may be/);
  });

  test("that was revoked", async () => {
    const { key, id } = await org.json("enroll");
    expect((await org.run(["enroll", "revoke", id])).code).toBe(0);
    const home = emptyHome();
    expectRefused(await enter(home, key), home, /revoked/);
  });

  test.skipIf(process.platform !== "linux")("that has expired", async () => {
    const env = { ...org.env, ...clockAhead(-7200) };
    const made = await svc(env, ["authority", "enroll", "--data", org.data, "--expires", "1h", "--json"]);
    const { key } = JSON.parse(made.out);
    const home = emptyHome();
    expectRefused(await enter(home, key), home, /expired/);
  });

  test("of another organisation", async () => {
    await using other = await Organisation.found();
    const home = emptyHome();
    expectRefused(await enter(home, await other.enrollKey()), home, /is not known to .*another organisation/);
  });

  test.each([
    ["empty", "", /--enroll-key|enrolment key/],
    ["not one at all", "hello", /enrolment key/],
    ["two lines", "sve_aaaaaaaaaaaa_b\nsve_c", /more than one line/],
  ])("that is %s", async (_, text, sentence) => {
    const home = emptyHome();
    expectRefused(await enter(home, text), home, sentence);
  });
});

describe("a copied token", () => {
  test("of svc enrols no further machine", async () => {
    const home = emptyHome();
    expect(await loginByPage(org, home, [...org.loginWords(home), "--no-install"])).toMatchObject({ code: 0 });
    const token = readFileSync(accountPaths(home.SVC_HOME!).token, "utf8").trim();
    const other = emptyHome();
    const copied = await svc(other, [...org.loginWords(other), "--token", "-", "--no-install"], `${token}\n`);
    expectRefused(copied, other, /another (?:device|machine)/);
    // The machine that it belongs to logs in with it again.
    expect(await svc(home, ["login", "--token", "-", "--no-install"], `${token}\n`)).toMatchObject({ code: 0 });
  });

  test("of an enrolment key's machine does not either", async () => {
    const [device, other] = [await FleetDevice.make(), await FleetDevice.make()];
    const { body } = await enroll(org, await org.enrollKey(), device);
    expect(await onboard(org, body.access_token, other)).toMatchObject({ status: 403, body: { error: "token_bound" } });
    const forged = Object.assign(Object.create(FleetDevice.prototype), device, { privateKey: other.privateKey });
    expect((await onboard(org, body.access_token, forged)).status).toBe(403);
    expect((await onboard(org, body.access_token, device)).status).toBe(200);
  });
});

describe("another key or address than the one that was given", () => {
  test("is refused before anyone is asked", async () => {
    const home = emptyHome();
    writeFileSync(join(home.HOME!, "organisation.pem"), testKey("foreign").publicPem);
    const login = await svc(home, [...org.loginWords(home), "--no-browser"]);
    expectRefused(login, home, /SHA256:/);
    expect(login.err).not.toContain("code:");
  });

  test("without a key it says where to get one", async () => {
    const home = emptyHome();
    const login = await svc(home, ["login", "--authority", org.url, "--no-browser"]);
    expectRefused(login, home, /--license-pubkey/);
  });

  test("the fingerprint is as good as the file", async () => {
    const spki = fingerprint(readFileSync(org.licenseKeyFile, "utf8"));
    const home = emptyHome();
    const words = ["login", "--authority", org.url, "--license-pubkey", spki, "--enroll-key", "-", "--no-install"];
    expect(await svc(home, words, `${await org.enrollKey()}\n`)).toMatchObject({ code: 0 });
  });

  test("a login elsewhere that is refused leaves the pin and the login", async () => {
    await using other = await Organisation.found();
    const before = await svc(member, ["runtime", "status", "--json"]);
    const login = await svc(member, ["login", "--authority", other.url, "--no-browser"]);
    expect(login).toMatchObject({ code: 1, out: "" });
    const after = JSON.parse((await svc(member, ["runtime", "status", "--json"])).out);
    expect(after.login).toEqual(JSON.parse(before.out).login);
    expect(await svc(member, ["mem", "search", "notes", "deploy"])).toMatchObject({ code: 0 });
  });

  test("a remote authority in the environment without a licence key is refused before anyone is asked", async () => {
    const home = emptyHome();
    const login = await svc({ ...home, SVC_ACCOUNTS_URL: org.url }, ["login", "--no-browser"]);
    expectRefused(login, home, /--license-pubkey|SVC_LICENSE_PUBKEY/);
    expect(login.err).not.toContain("code:");
  });
});

describe.skipIf(process.platform !== "linux")("a clock", () => {
  test("that is an hour behind is refused with both times before anyone is asked", async () => {
    const home = emptyHome();
    const key = await org.enrollKey();
    const login = await enter({ ...home, ...clockAhead(-3600) }, key);
    expectRefused(login, home, /clock .*\d\d:\d\d.*\d\d:\d\d/);
    expect(await enter(home, key)).toMatchObject({ code: 0 });
  });

  test("that is an hour ahead is a note", async () => {
    const home = { ...emptyHome(), ...clockAhead(3600) };
    const login = await enter(home, await org.enrollKey());
    expect(login).toMatchObject({ code: 0, err: expect.stringMatching(/clock .*ahead/) });
  });

  test("of the authority that is an hour ahead stops logins, and the machines that have one work on", async () => {
    await using wrong = await Organisation.found({ env: clockAhead(3600) });
    const home = emptyHome();
    expectRefused(await enter(home, await wrong.enrollKey(), [], wrong), home, /clock .*\d\d:\d\d.*\d\d:\d\d/);
    await wrong.end();
    await wrong.serve();
    expect(await enter(home, await wrong.enrollKey(), ["--auto-renew"], wrong)).toMatchObject({ code: 0 });
    expect(await svc(home, ["runtime", "install"])).toMatchObject({ code: 0 });
    await wrong.end();
    await wrong.serve({ env: clockAhead(3600) });
    expect(await svc(home, ["mem", "add", "notes", "text"])).toMatchObject({ code: 0 });
  });
});

test("an executable built for an organisation refuses variables that replace its keys", async () => {
  const vendor = await executableOf("vendor-closed", {
    version: "3.0.0",
    release: 3_000_000,
    keys: [testKey("vendor-1"), testKey("vendor-2")],
    vendor: { authority: org.url, licensePublicKey: readFileSync(org.licenseKeyFile, "utf8") },
  });
  const home = emptyHome();
  const login = await svc(home, ["login", "--enroll-key", "-"], `${await org.enrollKey()}\n`, { exe: vendor });
  expect(login).toMatchObject({ code: 0 });
  const pem = testKey("foreign").publicPem;
  const file = join(home.HOME!, "foreign.pem");
  writeFileSync(file, pem);
  for (const [name, value] of [
    ["SVC_LICENSE_PUBKEY", pem.replaceAll("\n", "\\n")],
    ["SVC_LICENSE_PUBKEY_FILE", file],
    ["SVC_RELEASE_PUBKEY", pem.replaceAll("\n", "\\n")],
    ["SVC_RELEASE_PUBKEY_FILE", file],
  ] as const) {
    const env = { ...home, [name]: value };
    const sentence = new RegExp(`this build's keys are fixed: unset ${name}`);
    for (const words of [
      ["login", "--no-browser"],
      ["mem", "list"],
    ]) {
      const { code, out, err } = await svc(env, words, "", { exe: vendor });
      expect({ name, words, code, out }).toEqual({ name, words, code: 1, out: "" });
      expect(err).toMatch(sentence);
    }
    const verify = await svc(env, ["runtime", "verify", "--json"], "", { exe: vendor });
    expect(verify.code).toBe(1);
    expect(JSON.parse(verify.out).ok).toBe(false);
    expect(verify.out).toMatch(sentence);
  }
  const words = ["login", "--authority", "https://svc.example.test", "--license-pubkey", file];
  const elsewhere = await svc(home, words, "", { exe: vendor });
  expect(elsewhere).toMatchObject({ code: 1, out: "" });
  expect(elsewhere.err).toContain(org.url);
  expect(await svc(home, ["mem", "list"], "", { exe: vendor })).toMatchObject({ code: 0 });
});

function fingerprint(pem: string): string {
  const der = Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ""), "base64");
  return `SHA256:${new Bun.CryptoHasher("sha256").update(der).digest("base64url")}`;
}
