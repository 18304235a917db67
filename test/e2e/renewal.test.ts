/** A licence that expires and is renewed: what `svc login` keeps, what it writes again, and what must not matter. */
import { beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { makeBundle } from "../../src/build/release.ts";
import { publicPem, releaseKey } from "../../src/build/release-keys.ts";
import { accountPaths, authorityPaths, platformTag, runtimePaths } from "../../src/paths.ts";
import { fakeServer, goodClaims, signed } from "../trust/account/helpers.ts";
import { otherKeys } from "../trust/runtime/fixture.ts";
import { claimsIn, copyOf, licenseOf, read } from "./aged.ts";
import { asPlainUser, copyOfHome, type Home, ROOT, signedIn, svc } from "./home.ts";

const home = () => copyOfHome(original);
const tag = platformTag()!;
const DAY = 86_400;
/** The executable's own. */
const OWN = JSON.parse(readFileSync(join(ROOT, ".build/build-info.json"), "utf8"));
const NEWER = { version: "9.0.0", release: 9_000_000 };

let original: Home;
let bundle: Uint8Array;
beforeAll(async () => {
  original = await signedIn();
  bundle = bundleOf(original, NEWER);
  expect((await svc(original, ["mem", "add", "notes", "We deploy blue-green."])).code).toBe(0);
});

/** The installed libraries under another version, signed by the key that the executable trusts, or by another. */
function bundleOf(env: Home, as: { version: string; release: number }, key = releaseKey(ROOT)): Uint8Array {
  const { kernelLibrary: kernel, runtimeLibrary: runtime } = runtimePaths(env.SVC_HOME!, tag);
  return makeBundle({ tag, ...as, created: "2026-01-01T00:00:00Z", kernel, runtime, key });
}

/** Puts a newer runtime in place, as an administrator would. */
async function installNewer(env: Home, bytes = bundle): Promise<void> {
  const file = join(env.HOME!, "newer.bundle");
  writeFileSync(file, bytes);
  const { code, err } = await svc(env, ["runtime", "install", "--file", file]);
  if (code !== 0) throw new Error(err);
}

/** A licence by this home's local authority for its device, with an expiry so many days from now and 30 days of grace. */
async function licenseUntil(env: Home, days: number): Promise<string> {
  const claims = claimsIn(original.SVC_HOME!);
  const pem = read(authorityPaths(env.SVC_HOME!).licenseKey);
  const issued = Math.floor(Date.now() / 1000) + (days - 1) * DAY;
  return signed(goodClaims(claims.cnf.jkt, issued), { alg: "RS256" }, pem);
}

/** The licence and its copy are beyond their grace. */
async function expire(env: Home): Promise<void> {
  const jwt = await licenseUntil(env, -31);
  for (const path of [licenseOf(env), copyOf(env)]) writeFileSync(path, `${jwt}\n`, { mode: 0o600 });
}

async function expectUsable(env: Home): Promise<void> {
  expect(await svc(env, ["mem", "add", "notes", "Rollback is one command."])).toMatchObject({ code: 0, err: "" });
  const { code, out } = await svc(env, ["mem", "search", "notes", "how do we deploy", "--with-text"]);
  expect(code).toBe(0);
  expect(out).toContain("We deploy blue-green.");
  expect(await svc(env, ["runtime", "verify"])).toMatchObject({ code: 0, err: "" });
}

function expectRenewed(env: Home): void {
  expect(read(copyOf(env))).toBe(read(licenseOf(env)));
  expect(statSync(copyOf(env)).mode & 0o777).toBe(0o600);
}

describe("a licence beyond its grace beside a newer runtime", () => {
  test("is renewed by a login, which keeps the runtime and says so", async () => {
    const env = home();
    await installNewer(env);
    await expire(env);
    const expired = JSON.parse((await svc(env, ["runtime", "status", "--json"])).out);
    expect(expired.login.problem).toContain("svc login");

    const login = await svc(env, ["login", "--yes"]);
    expect(login.err).not.toContain("svc:");
    expect(login.code).toBe(0);
    expect(login.out).toMatch(
      /^kept runtime 9\.0\.0 \(release 9000000\) for \S+, newer than \S+ \(release \d+\) from the bundle that came with svc; verified$/m,
    );
    expectRenewed(env);
    await expectUsable(env);
    const status = JSON.parse((await svc(env, ["runtime", "status", "--json"])).out);
    expect(status.runtime).toMatchObject({ ...NEWER, problem: null, source: "file" });
    expect(status.login.problem).toBeNull();
    expect(status.login.device).toEqual({
      id: read(accountPaths(env.SVC_HOME!).deviceId),
      thumbprint: claimsIn(env.SVC_HOME!).cnf.jkt,
    });
    expect(status.login.features).toEqual(["memory", "mcp", "repo", "serve"]);
  });

  test("with --json it is one object of the shape that any login has", async () => {
    const env = home();
    const plain = JSON.parse((await svc(env, ["login", "--yes", "--json"])).out).runtime;
    expect(plain).toMatchObject({ source: "embedded", kept: false, declined: null, verified: true });
    await installNewer(env);
    await expire(env);
    const { code, out, err } = await svc(env, ["login", "--yes", "--json"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const { runtime } = JSON.parse(out);
    expect(Object.keys(runtime).sort()).toEqual(Object.keys(plain).sort());
    const declined = { version: plain.version, release: plain.release };
    expect(runtime).toEqual({ ...plain, ...NEWER, replaced: null, source: null, kept: true, declined });
    expectRenewed(env);
  });

  test("is renewed without an install too, and the runtime alone still asks for --allow-downgrade", async () => {
    const env = home();
    await installNewer(env);
    await expire(env);
    expect(await svc(env, ["login", "--yes", "--no-install"])).toMatchObject({ code: 0 });
    expectRenewed(env);
    await expectUsable(env);
    expect(await svc(env, ["runtime", "install"])).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringMatching(
        /^svc: release \d+ .* older than the installed 9000000 .*'svc runtime install --allow-downgrade'/,
      ),
    });
    expect(await svc(env, ["runtime", "install", "--allow-downgrade"])).toMatchObject({ code: 0 });
    expectRenewed(env);
  });

  test("where the runtime is signed by a key that the embedded bundle does not fit", async () => {
    const file = join(home().HOME!, "release.pem");
    writeFileSync(file, publicPem(otherKeys.privateKey));
    const env: Home = { ...home(), SVC_RELEASE_PUBKEY_FILE: file };
    await installNewer(env, bundleOf(env, NEWER, otherKeys.privateKey));
    await expire(env);
    const login = await svc(env, ["login", "--yes"]);
    expect(login.out).toMatch(/^kept runtime 9\.0\.0 .*; believed by the key in SVC_RELEASE_PUBKEY_FILE; verified$/m);
    expect(login.code).toBe(0);
    await expectUsable(env);
  });

  test("where an older bundle comes from a packages server", async () => {
    const env = home();
    await installNewer(env);
    await expire(env);
    const older = bundleOf(env, { version: OWN.version, release: 8_000_000 });
    const server = fakeServer(() => new Response(older as Uint8Array<ArrayBuffer>));
    const login = await svc({ ...env, SVC_PACKAGES_URL: server.url }, ["login", "--yes"]);
    expect(login).toMatchObject({
      code: 0,
      out: expect.stringContaining(`newer than ${OWN.version} (release 8000000) from ${server.url}; verified`),
    });
    await expectUsable(env);
  });

  test("a newer runtime that is damaged is reported, with the command that replaces it", async () => {
    const env = home();
    await installNewer(env);
    truncateSync(runtimePaths(env.SVC_HOME!, tag).kernelLibrary, 1000);
    const login = await svc(env, ["login", "--yes"]);
    expect(login).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /the newer runtime was kept but hash libame_kernel.*'svc runtime install --allow-downgrade'/,
      ),
    });
    expect(await svc(env, ["runtime", "install", "--allow-downgrade"])).toMatchObject({ code: 0 });
    await expectUsable(env);
  });
});

describe("the copy of the licence beside the libraries does not matter", () => {
  const instead = (env: Home, make: (path: string) => void) => {
    rmSync(copyOf(env));
    make(copyOf(env));
  };
  const CASES: [string, (env: Home) => unknown][] = [
    ["expired", async (env) => writeFileSync(copyOf(env), await licenseUntil(env, -31))],
    ["of another device", async (env) => writeFileSync(copyOf(env), await signed(goodClaims("ed25519:another")))],
    ["missing", (env) => rmSync(copyOf(env))],
    ["empty", (env) => truncateSync(copyOf(env))],
    ["half written", (env) => truncateSync(copyOf(env), 300)],
    ["garbage of any length", (env) => writeFileSync(copyOf(env), new Uint8Array(1_000_000).fill(255))],
    ["a link", (env) => instead(env, (path) => symlinkSync(licenseOf(env), path))],
    ["a link to nothing", (env) => instead(env, (path) => symlinkSync("nowhere", path))],
  ];
  test.each(CASES)("%s", async (_, spoil) => {
    const env = home();
    await spoil(env);
    await expectUsable(env);
    expect((await svc(env, ["runtime", "env"])).out).toContain("pysite");
    expect(await svc(env, ["login", "--yes", "--no-install"])).toMatchObject({ code: 0 });
    expectRenewed(env);
  });

  test("a login that cannot write it says so and succeeds", async () => {
    const env = home();
    await installNewer(env);
    await expire(env);
    instead(env, (path) => mkdirSync(path));
    for (const words of [
      ["login", "--yes"],
      ["login", "--yes", "--no-install"],
      ["login", "--yes", "--json"],
    ]) {
      const login = await svc(env, words);
      expect(login.code).toBe(0);
      expect(login.err).toMatch(/^note: the copy of the licence .*\(cannot write 'license\.jwt': EISDIR/m);
    }
    await expectUsable(env);
  });

  test.skipIf(asPlainUser === undefined)(
    "a runtime folder that cannot be written fails no login (as root it needs setpriv)",
    async () => {
      const env = home();
      await installNewer(env);
      await expire(env);
      const { dir } = runtimePaths(env.SVC_HOME!, tag);
      for (const folder of [dir, dirname(dir)]) chmodSync(folder, 0o500);
      try {
        for (const words of [
          ["login", "--yes"],
          ["login", "--yes", "--no-install"],
        ]) {
          const login = await svc(env, words, "", { prefix: asPlainUser });
          expect(login).toMatchObject({
            code: 0,
            err: expect.stringMatching(/^note: the copy of the licence .*EACCES/m),
          });
        }
        expect(await svc(env, ["mem", "list"], "", { prefix: asPlainUser })).toMatchObject({ code: 0 });
      } finally {
        for (const folder of [dirname(dir), dir]) chmodSync(folder, 0o700);
      }
    },
  );
});

describe("a login's licence that is damaged", () => {
  const CASES: [string, (path: string) => void][] = [
    ["empty", (path) => truncateSync(path)],
    ["cut in its head", (path) => truncateSync(path, 10)],
    ["cut in its middle", (path) => truncateSync(path, 300)],
    ["without its last byte", (path) => truncateSync(path, read(path).length - 1)],
    ["followed by zeros", (path) => truncateSync(path, 4096)],
    ["followed by very many zeros", (path) => truncateSync(path, 1_000_000)],
  ];
  test.each(CASES)("%s, is an error that names svc login, which repairs it", async (_, spoil) => {
    const env = home();
    spoil(licenseOf(env));
    const refused = /^svc: .*[Rr]un 'svc login'/;
    expect(await svc(env, ["mem", "list"])).toMatchObject({ code: 1, out: "", err: expect.stringMatching(refused) });
    expect(await svc(env, ["login", "--yes"])).toMatchObject({ code: 0 });
    await expectUsable(env);
  });
});
