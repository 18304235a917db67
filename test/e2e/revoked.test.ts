/** A device that is revoked, by the executable: what runs stops, what begins says why, and nothing of it is lost. */
import { beforeAll, beforeEach, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accountPaths, authorityPaths, platformTag } from "../../src/paths.ts";
import { connect, Store } from "../../src/sdk.ts";
import { Ledger } from "../../src/trust/authority/ledger/ledger.ts";
import { allowDevice, revokeDevice } from "../../src/trust/authority/organisation/device-actions.ts";
import {
  authorityIn,
  failure,
  fakeServer,
  goodClaims,
  LICENSE_PUBLIC_PEM,
  newHome,
  signed,
} from "../trust/account/helpers.ts";
import { claimsIn, until } from "./aged.ts";
import { copyOfHome, emptyHome, type Home, ROOT, Session, SVC, svc } from "./home.ts";

const DAY = 86_400;
const ANCHOR = { SVC_LICENSE_PUBKEY: LICENSE_PUBLIC_PEM.replaceAll("\n", "\\n") };
const EVE = { by: "eve" };
const paths = (env: Home) => accountPaths(env.SVC_HOME!);
const SENTENCE = (url: string) =>
  `this device was revoked at ${url} on ${new Date().toISOString().slice(0, 10)}: ask its administrator, then 'svc login'`;

/** After a login with consent to renewals, an install, and a note. */
let original: Home;
let deviceId: string;
let authority: { url: string };
let ledger: Ledger;

beforeAll(async () => {
  const home = newHome();
  const { version } = JSON.parse(readFileSync(join(ROOT, ".build/build-info.json"), "utf8"));
  const bundle = readFileSync(join(ROOT, "dist", platformTag()!, "runtime.bundle"));
  authority = await authorityIn(home, {
    ...{ approve: "yes", licenseDays: 90, offlineGraceDays: 14, organisation: true, approvalPage: false },
    bundle: (asked: string) => (asked === version ? bundle : undefined),
  } as Parameters<typeof authorityIn>[1]);
  ledger = new Ledger(authorityPaths(home).ledger, home);
});

// A device for each test: a login gives it another API key.
beforeEach(async () => {
  original = { ...emptyHome(), ...ANCHOR };
  const login = await svc({ ...original, SVC_ACCOUNTS_URL: authority.url }, [
    "login",
    "--no-browser",
    "--auto-renew",
    "--json",
  ]);
  expect(login).toMatchObject({ code: 0 });
  deviceId = JSON.parse(login.out).device_id;
  expect((await svc(original, ["mem", "add", "notes", "We deploy blue-green."])).code).toBe(0);
});

/** A copy of the home whose licence is two thirds old, so that it asks at its next call. */
async function due(): Promise<Home> {
  const env: Home = { ...copyOfHome(original), ...ANCHOR };
  const { cnf } = claimsIn(env.SVC_HOME!);
  const issued = Math.floor(Date.now() / 1000) - 61 * DAY;
  const claims = { ...goodClaims(cnf.jkt, issued), exp: issued + 90 * DAY };
  const products = { svc: { tier: "team", features: ["memory", "mcp", "repo", "serve"] } };
  writeFileSync(paths(env).license, `${await signed({ ...claims, products })}\n`, { mode: 0o600 });
  return env;
}

/** What is left of an answer that was given to another process. */
const record = () => JSON.stringify({ format: 1, origin: authority.url, at: Math.floor(Date.now() / 1000) });

const revoke = () => revokeDevice(ledger, deviceId, EVE, Date.now());

test("svc mcp that runs refuses from its next call on, and so does all that begins, until it is allowed and logged in", async () => {
  const env = await due();
  revoke();
  const [session, other] = [await Session.open(env), await Session.open(env)];
  // Both were opened, and each asks in the background, after its first answer.
  await Promise.all([session, other].map((one) => one.call("svc_list_collections")));
  await until(() => existsSync(paths(env).revoked));
  const said = SENTENCE(authority.url);
  for (const one of [session, other])
    for (const [tool, args] of [
      ["svc_search", { collection: "notes", query: "deploy" }],
      ["svc_add", { collection: "notes", texts: ["more"] }],
      ["svc_workspace_info", {}],
    ] as const)
      expect(await one.raw(tool, args)).toEqual({ text: `PermissionError: ${said}`, isError: true });

  const refused = { code: 1, out: "", err: `svc: ${said}\n` };
  expect(await svc(env, ["mem", "search", "notes", "deploy"])).toEqual(refused);
  expect(await svc(env, ["mem", "check"])).toEqual(refused);
  expect(await svc(env, ["serve", "--socket", join(env.HOME!, "s.sock")])).toMatchObject({ code: 1, out: "" });
  expect(await svc(env, ["runtime", "install"])).toEqual(refused);
  const verify = JSON.parse((await svc(env, ["runtime", "verify", "--json"])).out);
  const failed = verify.checks.filter(({ ok }: { ok: boolean }) => !ok);
  expect(failed).toEqual([
    { name: "licence", ok: false, detail: said },
    { name: "login", ok: false, detail: said },
  ]);
  const status = JSON.parse((await svc(env, ["runtime", "status", "--json"])).out);
  expect(status.login).toMatchObject({ problem: said, expires_at: null });
  expect(existsSync(paths(env).license)).toBe(false);

  const there = { ...env, SVC_ACCOUNTS_URL: authority.url };
  const login = ["login", "--no-browser", "--no-install"];
  expect(await svc(there, login)).toMatchObject({
    code: 1,
    err: `svc: this device was revoked at ${authority.url}: ask its administrator, then 'svc login'\n`,
  });
  allowDevice(ledger, deviceId, EVE, Date.now());
  expect((await session.raw("svc_list_collections")).isError).toBe(true);
  expect(await svc(there, login)).toMatchObject({ code: 0 });
  // Without a restart, and with what was there.
  for (const one of [session, other]) {
    const found = await one.call("svc_search", { collection: "notes", query: "deploy", with_text: true });
    expect(JSON.stringify(found)).toContain("blue-green");
    await one.close();
  }
  expect(await svc(env, ["runtime", "verify"])).toMatchObject({ code: 0 });
});

test("svc mem asks at the end of its command, which has its answer, and the next one refuses", async () => {
  const env = await due();
  revoke();
  const first = await svc(env, ["mem", "count", "notes"]);
  expect(first).toEqual({
    code: 0,
    out: "1\n",
    err: `svc: note: this device was revoked at ${authority.url}: ask its administrator, then 'svc login'\n`,
  });
  expect((await svc(env, ["mem", "count", "notes"])).err).toBe(`svc: ${SENTENCE(authority.url)}\n`);
});

test("a store that a program has open refuses, and so does opening one, until a login", async () => {
  const env: Home = { ...copyOfHome(original), ...ANCHOR };
  await using store = await Store.open(undefined, { env });
  const notes = await store.openCollection("notes");
  expect(await notes.ids()).toHaveLength(1);
  writeFileSync(paths(env).revoked, record(), { mode: 0o600 });
  await Bun.sleep(20); // it looks for that file every 5 ms at most
  const refused = { code: "PermissionError.device_revoked", message: SENTENCE(authority.url) };
  for (const use of [() => notes.ids(), () => notes.searchText("deploy"), () => store.openCollection("notes")])
    expect(await failure(use)).toMatchObject(refused);
  const program = `const { Store } = await import("${ROOT}/src/sdk.ts");
    await Store.open().catch(({ code, message }) => console.log(JSON.stringify({ code, message })));`;
  const child = Bun.spawn([process.execPath, "-e", program], { env, stdout: "pipe" });
  expect(JSON.parse(await new Response(child.stdout).text())).toEqual(refused);
  await svc({ ...env, SVC_ACCOUNTS_URL: authority.url }, ["login", "--no-browser", "--no-install"]);
  await Bun.sleep(20);
  expect(await notes.ids()).toHaveLength(1);
});

test("svc serve that runs refuses too, and saves at its end what was changed before", async () => {
  const env: Home = { ...copyOfHome(original), ...ANCHOR };
  const socket = join(env.HOME!, "s.sock");
  await using serving = Bun.spawn([SVC, "serve", "--socket", socket], { env, stdout: "pipe", stderr: "ignore" });
  await serving.stdout.getReader().read();
  const client = await connect(socket);
  const notes = await client.openCollection("notes");
  await notes.addTexts(["not saved yet"], { ids: ["b"] });
  writeFileSync(paths(env).revoked, record(), { mode: 0o600 });
  await Bun.sleep(20); // it looks for that file every 5 ms at most
  expect(await failure(() => notes.ids())).toMatchObject({
    code: "PermissionError.device_revoked",
    message: SENTENCE(authority.url),
  });
  await client.close();
  serving.kill("SIGTERM");
  expect(await serving.exited).toBe(0);
  expect(
    await svc({ ...env, SVC_ACCOUNTS_URL: authority.url }, ["login", "--no-browser", "--no-install"]),
  ).toMatchObject({
    code: 0,
  });
  expect((await svc(env, ["mem", "count", "notes"])).out).toBe("2\n");
});

test("a download with that answer removes the licence; that of another server does not", async () => {
  const env: Home = { ...copyOfHome(original), ...ANCHOR, SVC_ACCOUNTS_URL: authority.url };
  const other = fakeServer(() => Response.json({ error: "device_revoked" }, { status: 403 }));
  const elsewhere = await svc({ ...env, SVC_PACKAGES_URL: other.url }, ["runtime", "install"]);
  expect(elsewhere).toMatchObject({ code: 1, err: expect.stringContaining(`revoked at ${other.url}:`) });
  expect(await svc(env, ["mem", "count", "notes"])).toMatchObject({ code: 0 });
  revoke();
  const here = { ...env, SVC_PACKAGES_URL: authority.url };
  expect(await svc(here, ["runtime", "install"])).toMatchObject({
    code: 1,
    err: `svc: this device was revoked at ${authority.url}: ask its administrator, then 'svc login'\n`,
  });
  expect((await svc(env, ["mem", "count", "notes"])).err).toContain(SENTENCE(authority.url));
});
