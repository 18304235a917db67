/**
 * An organisation's authority from its first start on, and three homes on one host: one that a person let in, one with an
 * enrolment key, one with an executable that was built for the organisation. They renew, one is revoked and allowed again,
 * the LICENSE key rolls over. What was added at the beginning is readable through all of it.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accountPaths } from "../../src/paths.ts";
import { freePort } from "../free-port.ts";
import { testKey } from "../keys.ts";
import { ageBy, claimsIn } from "./aged.ts";
import { executableOf } from "./executables.ts";
import { type Ended, emptyHome, type Home, Session, SVC, svc } from "./home.ts";
import { loginByPage, Organisation } from "./organisation.ts";

const key = testKey("organisation");
const [person, machine, vendored] = [emptyHome(), emptyHome(), emptyHome()];

let org: Organisation;
/** The executable that knows only this organisation. */
let vendor: string;

beforeAll(async () => {
  const port = freePort();
  const keyFile = join(emptyHome().HOME!, "license_key.pem");
  writeFileSync(keyFile, key.privatePem, { mode: 0o600 });
  const words = ["--license-key", keyFile, "--license-days", "90", "--grace-days", "5", "--tier", "team"];
  org = await Organisation.found({ port, words });
  vendor = await executableOf("vendor", {
    version: "3.0.0",
    release: 3_000_000,
    keys: [testKey("vendor-1"), testKey("vendor-2")],
    vendor: { authority: org.url, licensePublicKey: key.publicPem },
  });
}, 60_000);
afterAll(() => org?.end());

const exeOf = (home: Home) => (home === vendored ? vendor : SVC);
const run = (home: Home, ...words: string[]): Promise<Ended> => svc(home, words, "", { exe: exeOf(home) });

async function done(home: Home, ...words: string[]): Promise<string> {
  const { code, out, err } = await run(home, ...words);
  if (code !== 0) throw new Error(`svc ${words.join(" ")} ended with ${code}: ${err}`);
  return out;
}

/** The note of each home is found, and everything verifies. */
async function expectWorks(...those: Home[]): Promise<void> {
  for (const home of those) {
    expect(await done(home, "mem", "search", "notes", "how do we deploy", "--with-text")).toContain("blue-green");
    expect(JSON.parse(await done(home, "runtime", "verify", "--json")).ok).toBe(true);
  }
}

const kidOf = (home: Home) =>
  JSON.parse(
    Buffer.from(readFileSync(accountPaths(home.SVC_HOME!).license, "utf8").split(".")[0]!, "base64url").toString(),
  ).kid as string;
const deviceOf = (home: Home) => readFileSync(accountPaths(home.SVC_HOME!).deviceId, "utf8").trim();

// biome-ignore lint/suspicious/noExplicitAny: the list is JSON, and a test reads what it expects of it
async function listed(home: Home): Promise<any> {
  const { devices } = await org.json("devices", "list");
  return devices.find((entry: { device_id: string }) => entry.device_id === deviceOf(home));
}

test("a person's machine is approved on the page, and pins the authority", async () => {
  const { code, err, out } = await loginByPage(org, person, [...org.loginWords(person), "--auto-renew"]);
  expect({ code, err }).toMatchObject({ code: 0 });
  expect(err).toContain("SHA256:");
  expect(out).toContain("team licence");
  await done(person, "mem", "add", "notes", "We deploy blue-green on Tuesdays.");
  await expectWorks(person);
  expect(claimsIn(person.SVC_HOME!)).toMatchObject({ sub: "person@example.test", products: { svc: { tier: "team" } } });
});

test("a machine gets in by an enrolment key, without a person", async () => {
  const enrollKey = await org.enrollKey("--tag", "ci", "--label", "build machines", "--account", "ci");
  const words = [...org.loginWords(machine), "--enroll-key", "-", "--auto-renew"];
  const login = await svc(machine, words, `${enrollKey}\n`);
  expect(login).toMatchObject({ code: 0 });
  expect(login.err).not.toContain("code:");
  await done(machine, "mem", "add", "notes", "We deploy blue-green on Tuesdays.");
  await expectWorks(machine);
  expect(await listed(machine)).toMatchObject({ account: "ci", tags: ["ci"] });
});

test("an executable built for the organisation needs no address, and says that it brought its own runtime", async () => {
  const { code, err, out } = await loginByPage(org, vendored, ["login", "--auto-renew"], { exe: vendor });
  expect({ code, err }).toMatchObject({ code: 0 });
  expect(out).toMatch(/^installed runtime 3\.0\.0/m);
  expect(out + err).toContain("came with svc");
  await done(vendored, "mem", "add", "notes", "We deploy blue-green on Tuesdays.");
  await expectWorks(vendored);
});

test("licences are renewed in their last third, where the homes pinned the authority", async () => {
  for (const home of [person, machine, vendored]) {
    const old = await ageBy(61, home.SVC_HOME!, key.privatePem);
    await expectWorks(home);
    expect(readFileSync(accountPaths(home.SVC_HOME!).license, "utf8").trim()).not.toBe(old);
    expect(claimsIn(home.SVC_HOME!).exp).toBeGreaterThan(Date.now() / 1000 + 89 * 86_400);
  }
});

test("a revoked machine stops at its next renewal, and at once where it asks", async () => {
  await org.json("devices", "rename", deviceOf(machine), "build-7");
  const session = await Session.open(machine);
  expect((await session.call("svc_count", { collection: "notes" })).count).toBe(1);
  expect((await org.run(["devices", "revoke", "build-7"])).code).toBe(0);
  // Its licence is good for weeks, and nothing is asked for before its last third.
  await expectWorks(machine);
  await ageBy(61, machine.SVC_HOME!, key.privatePem);
  const renewing = await run(machine, "mem", "list");
  expect(renewing.err).toContain("revoked");
  const refusal = /this device was revoked at \S+ on .*'svc login'/;
  expect(await run(machine, "mem", "search", "notes", "deploy")).toMatchObject({
    code: 1,
    out: "",
    err: expect.stringMatching(refusal),
  });
  expect(await session.raw("svc_count", { collection: "notes" })).toEqual({
    isError: true,
    text: expect.stringMatching(refusal),
  });
  await session.close();
  // No further key and no approval lets it in.
  const another = await org.enrollKey();
  const again = await svc(machine, ["login", "--enroll-key", "-"], `${another}\n`);
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining("revoked") });
  expect(await loginByPage(org, machine, ["login"])).toMatchObject({
    code: 1,
    err: expect.stringContaining("revoked"),
  });
  await expectWorks(person, vendored);

  expect((await org.run(["devices", "allow", "build-7"])).code).toBe(0);
  // The key that was refused has not been used.
  expect(await svc(machine, ["login", "--enroll-key", "-", "--auto-renew"], `${another}\n`)).toMatchObject({ code: 0 });
  await expectWorks(machine);
});

test("the LICENSE key rolls over under a running server, and no machine has to log in again", async () => {
  const before = kidOf(person);
  expect((await org.run(["keys", "roll-over"])).code).toBe(0);
  const fresh = emptyHome();
  // The copy of the key that was handed out before is still enough.
  writeFileSync(join(fresh.HOME!, "organisation.pem"), key.publicPem);
  const enrollKey = await org.enrollKey();
  const words = [...org.loginWords(fresh), "--enroll-key", "-"];
  expect(await svc(fresh, words, `${enrollKey}\n`)).toMatchObject({ code: 0 });
  expect(kidOf(fresh)).not.toBe(before);
  await done(fresh, "mem", "add", "notes", "We deploy blue-green on Tuesdays.");
  await expectWorks(fresh, person, machine, vendored);
  for (const home of [person, machine, vendored]) {
    expect(kidOf(home)).toBe(before);
    await ageBy(61, home.SVC_HOME!, key.privatePem);
    await expectWorks(home);
    expect(kidOf(home)).toBe(kidOf(fresh));
    await expectWorks(home);
  }
});

test("it ends with 0, starts again with everything, and its audit log has what was done", async () => {
  expect(await org.end()).toBe(0);
  await org.serve({ words: ["--license-days", "90"] });
  for (const home of [person, machine, vendored]) {
    const login = ["login", "--enroll-key", "-"];
    expect(await svc(home, login, `${await org.enrollKey()}\n`, { exe: exeOf(home) })).toMatchObject({ code: 0 });
    await expectWorks(home);
  }
  const { out } = await org.run(["audit"]);
  const events = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const of = (home: Home) =>
    events.filter(({ device }) => device === deviceOf(home)).map(({ event }: { event: string }) => event);
  expect(of(machine)).toEqual(
    expect.arrayContaining(["device_enrolled", "device_renamed", "device_revoked", "device_allowed", "license_issued"]),
  );
  expect(of(person)).toEqual(expect.arrayContaining(["device_registered", "license_issued"]));
  const all = new Set(events.map(({ event }) => event));
  for (const event of [
    "login_approved",
    "enroll_key_created",
    "enroll_key_used",
    "license_key_added",
    "server_started",
  ])
    expect(all).toContain(event);
});
