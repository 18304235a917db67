/** The renewal of a licence of this machine's local authority: when, by whom, and what a kill leaves. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OSError, PermissionError } from "../../../src/errors.ts";
import { accountPaths, authorityPaths } from "../../../src/paths.ts";
import { requireLogin } from "../../../src/trust/account/license/credentials.ts";
import { type License, renewableFrom } from "../../../src/trust/account/license/license.ts";
import { login } from "../../../src/trust/account/login/login.ts";
import { signsHere } from "../../../src/trust/authority/own-key.ts";
import { renewHere } from "../../../src/trust/authority/renew.ts";
import { testKey } from "../../keys.ts";
import {
  authorityIn,
  facesOf,
  failure,
  goodClaims,
  homeWithDevice,
  LICENSE_PUBLIC_PEM,
  LOCAL_BUILD,
  newHome,
  signed,
} from "../account/helpers.ts";

const DAY = 86_400;
const NOW = Math.floor(Date.now() / 1000);
const other = testKey("license-other");
const read = (path: string) => readFileSync(path, "utf8").trim();
const renew = (home: string, now = NOW, env = {}) => renewHere(home, env, { now, build: LOCAL_BUILD });

/** A home after a login with its local authority. */
async function loggedIn() {
  const home = newHome();
  const authority = await authorityIn(home, { approve: "yes" });
  await login({ home, env: {}, endpoints: facesOf(authority.url), build: LOCAL_BUILD });
  await authority.stop();
  const paths = { ...accountPaths(home), ...authorityPaths(home) };
  const check = (now = NOW): Promise<License> => requireLogin(home, {}, { now, build: LOCAL_BUILD });
  const { deviceThumbprint } = await check();
  /** Puts a licence there whose life of so many days began so many days ago. */
  const age = async (began: number, life: number, change: object = {}, pem?: string) => {
    const issued = NOW - began * DAY;
    const claims = {
      ...goodClaims(deviceThumbprint, issued),
      exp: issued + life * DAY,
      sub: "ada",
      jti: "old",
      ...change,
    };
    const jwt = await signed(claims, { alg: "RS256" }, pem);
    writeFileSync(paths.license, `${jwt}\n`, { mode: 0o600 });
    return jwt;
  };
  return { home, paths, check, age };
}

/** The licences that a ledger has recorded since the login's. */
function recorded(path: string): { id: string; expires_at: number }[] {
  using db = new Database(path, { readonly: true });
  return db
    .query<{ id: string; expires_at: number }, []>("SELECT id, expires_at FROM licenses LIMIT -1 OFFSET 1")
    .all();
}

describe("a licence of this machine's local authority", () => {
  test("stands in the first two thirds of its life, and is signed again in the last", async () => {
    const { home, paths, check, age } = await loggedIn();
    for (const began of [0, 30, 59]) {
      const jwt = await age(began, 90);
      expect((await renew(home))?.jwt).toBe(jwt);
      expect(read(paths.license)).toBe(jwt);
    }
    expect(recorded(paths.ledger)).toEqual([]);
    for (const began of [60, 89]) {
      const jwt = await age(began, 90, { products: { svc: { tier: "community", features: ["memory", "mcp"] } } });
      const renewed = await renew(home);
      expect(renewed?.jwt).not.toBe(jwt);
      expect(await check()).toMatchObject({
        ...{ jwt: renewed!.jwt, account: "ada", tier: "community", features: ["memory", "mcp"], graceDays: 30 },
        ...{ issuedAt: NOW, expiresAt: NOW + 90 * DAY, warnings: [] },
      });
      expect(renewableFrom(renewed!)).toBe(NOW + 60 * DAY);
      expect(recorded(paths.ledger).at(-1)).toEqual({ id: renewed!.id!, expires_at: (NOW + 90 * DAY) * 1000 });
    }
  });

  test("that has expired is signed again, in its days of grace and after them", async () => {
    const { home, check, age } = await loggedIn();
    for (const began of [91, 119, 120, 5000]) {
      await age(began, 90);
      await renew(home);
      expect(await check()).toMatchObject({ expiresAt: NOW + 90 * DAY, warnings: [] });
    }
    // One that does not say when it began gets the life that a login gives.
    await age(91, 90, { iat: undefined, nbf: undefined });
    expect((await renew(home))?.expiresAt).toBe(NOW + 3650 * DAY);
  });

  test("is not signed by a clock that may be wrong", async () => {
    const { home, paths, age } = await loggedIn();
    const jwt = await age(60, 90);
    for (const seen of [NOW - 400 * DAY, NOW + 2 * DAY]) {
      writeFileSync(paths.clock, `${seen}\n`);
      expect(await renew(home)).toBeUndefined();
    }
    expect(read(paths.license)).toBe(jwt);
  });

  test("is signed again once another process unlocks the ledger, and calls are answered meanwhile", async () => {
    const { home, paths, age } = await loggedIn();
    const jwt = await age(61, 90);
    using other = new Database(paths.ledger);
    other.run("BEGIN EXCLUSIVE");
    // It fires only if the waiting leaves this process to other work.
    setTimeout(() => other.run("COMMIT"), 200);
    expect((await renew(home))?.jwt).not.toBe(jwt);
    expect(recorded(paths.ledger)).toHaveLength(1);
  });
});

describe("nothing is signed", () => {
  test("where the anchor is built in or of the environment, even if it is this machine's key", async () => {
    const { home, paths, age } = await loggedIn();
    const jwt = await age(89, 90);
    const file = join(home, "anchor.pem");
    writeFileSync(file, LICENSE_PUBLIC_PEM);
    for (const env of [{ SVC_LICENSE_PUBKEY: LICENSE_PUBLIC_PEM }, { SVC_LICENSE_PUBKEY_FILE: file }]) {
      expect(await renew(home, NOW, env)).toBeUndefined();
      expect(signsHere(home, env, { build: LOCAL_BUILD })).toBe(false);
    }
    const build = { licensePublicKey: LICENSE_PUBLIC_PEM, authority: "https://example.com" };
    expect(await renewHere(home, {}, { now: NOW, build })).toBeUndefined();
    expect(signsHere(home, {}, { build: LOCAL_BUILD })).toBe(true);
    expect(read(paths.license)).toBe(jwt);
  });

  test("for another device, nor of a licence by another key, of another product or with a changed claim", async () => {
    const { home, paths, age } = await loggedIn();
    const { device } = await homeWithDevice();
    const cases: [RegExp, object, string?][] = [
      [/issued to another device/, { cnf: { jkt: device.thumbprint } }],
      [/not by the key that this machine trusts/, {}, other.privatePem],
      [/does not cover svc/, { products: { other: { tier: "x", features: ["y"] } } }],
      [/does not cover svc/, { products: undefined }],
      [/it is for "svc-web"/, { aud: "svc-web" }],
    ];
    for (const [message, change, pem] of cases) {
      const jwt = await age(89, 90, change, pem);
      await failure(() => renew(home), PermissionError, message);
      expect(read(paths.license)).toBe(jwt);
    }
    expect(recorded(paths.ledger)).toEqual([]);
  });

  test("where the key is not there, or not the one that this machine trusts", async () => {
    const { home, paths, age } = await loggedIn();
    const jwt = await age(89, 90);
    writeFileSync(paths.licenseKey, other.privatePem, { mode: 0o600 });
    expect(await renew(home)).toBeUndefined();
    await Bun.file(paths.licenseKey).delete();
    expect(await renew(home)).toBeUndefined();
    expect(read(paths.license)).toBe(jwt);
  });

  test("by a key that others can read or that is damaged, and the error says what to do", async () => {
    const { home, paths, age } = await loggedIn();
    const jwt = await age(89, 90);
    chmodSync(paths.licenseKey, 0o644);
    expect((await failure(() => renew(home))).message).toContain("run chmod 600");
    writeFileSync(paths.licenseKey, "hello");
    chmodSync(paths.licenseKey, 0o600);
    expect((await failure(() => renew(home))).message).toContain("license_key.pem is damaged");
    expect(read(paths.license)).toBe(jwt);
  });

  test("where the ledger knows the device's id by another key", async () => {
    const { home, paths, age } = await loggedIn();
    const jwt = await age(89, 90);
    {
      using db = new Database(paths.ledger);
      db.run("UPDATE devices SET thumbprint = 'ed25519:another'");
    }
    expect((await failure(() => renew(home))).message).toContain("registered with another key");
    expect(read(paths.license)).toBe(jwt);
  });
});

test("what cannot be written leaves the old licence", async () => {
  const { home, paths, age, check } = await loggedIn();
  const jwt = await age(89, 90);
  const refused = async (message: string) => {
    await failure(() => renew(home), OSError, expect.stringContaining(message));
    expect((await check()).jwt).toBe(jwt);
  };
  rmSync(paths.lock);
  mkdirSync(paths.lock);
  await refused("'.login.lock' is a folder, not a regular file");
  rmSync(paths.lock, { recursive: true });
  {
    using db = new Database(paths.ledger);
    db.run("CREATE TRIGGER full BEFORE INSERT ON licenses BEGIN SELECT RAISE(ABORT, 'disk is full'); END");
  }
  await refused("the authority's ledger cannot be written (disk is full): check the disk and its free space");
  for (const suffix of ["-wal", "-shm"]) rmSync(paths.ledger + suffix, { force: true });
  writeFileSync(paths.ledger, "x".repeat(4096));
  await refused("ledger.sqlite cannot be used");
});

describe("processes", () => {
  const SCRIPT = `import { renewHere } from ${JSON.stringify(join(import.meta.dir, "../../../src/trust/authority/renew.ts"))};
    const home = process.env.SVC_HOME;
    console.log((await renewHere(home, {}, { build: { licensePublicKey: null, authority: null } }))?.jwt);`;

  function start(home: string, preload: string[] = []) {
    const words = preload.flatMap((file) => ["--preload", file]);
    const env = { PATH: process.env.PATH, HOME: home, SVC_HOME: home };
    const program = join(home, "renew.ts");
    writeFileSync(program, SCRIPT);
    return Bun.spawn([process.execPath, ...words, program], { stdout: "pipe", stderr: "pipe", env });
  }

  test("that renew at the same time: one does, and the others have its licence", async () => {
    const { home, paths, age } = await loggedIn();
    await age(89, 90);
    const outputs = await Promise.all(Array.from({ length: 4 }, () => new Response(start(home).stdout).text()));
    expect(new Set(outputs.map((text) => text.trim()))).toEqual(new Set([read(paths.license)]));
    expect(recorded(paths.ledger)).toHaveLength(1);
  });

  test("that are killed before the new licence is in place leave the old one; the next removes their file", async () => {
    const { home, paths, age } = await loggedIn();
    const jwt = await age(89, 90);
    const child = start(home, [join(import.meta.dir, "kill-at-rename.ts")]);
    await child.exited;
    expect(child.signalCode).toBe("SIGKILL");
    const left = () => readdirSync(home).filter((name) => name.endsWith(".tmp"));
    expect(left()).toEqual([expect.stringMatching(/^\.login_license\.jwt\.[0-9a-f]{8}\.tmp$/)]);
    expect(read(paths.license)).toBe(jwt);
    const renewed = await renew(home);
    expect(read(paths.license)).toBe(renewed!.jwt);
    expect(renewed!.jwt).not.toBe(jwt);
    expect(left()).toEqual([]);
  });
});
