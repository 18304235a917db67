/** Which releases are too old, at an install and at a load, and the record that says so: SVC_HOME/releases.json. */
import { beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { buildInfo } from "../../../src/build-info.ts";
import { withLock } from "../../../src/durable.ts";
import { releasesPath } from "../../../src/paths.ts";
import { keyId } from "../../../src/trust/runtime/anchor.ts";
import { sha256 } from "../../../src/trust/runtime/bundle-manifest.ts";
import {
  floorOf,
  loadRefusal,
  recordForInstall,
  releaseState,
  requireAcceptable,
  withSeen,
} from "../../../src/trust/runtime/floor.ts";
import { loadVerified } from "../../../src/trust/runtime/load.ts";
import { NO_RELEASES, readReleases } from "../../../src/trust/runtime/releases.ts";
import { verifyManifest } from "../../../src/trust/runtime/signed.ts";
import { type TestKey, testKey } from "../../keys.ts";
import { newHome } from "../account/helpers.ts";
import * as f from "./fixture.ts";

let home: string;

beforeEach(() => {
  home = newHome();
});

const ours = keyId(f.publicPem);
const next = testKey("release-next");
const envOf = (key: TestKey) => ({ SVC_RELEASE_PUBKEY: key.publicPem });
const load = (env = f.env) => loadVerified({ home, env, license: f.license }).then(({ close }) => close());
const install = (changes: f.BundleChanges = {}, more: Parameters<typeof f.install>[2] = {}) =>
  f.install(home, f.makeBundle(f.libs, changes), more);
const record = () => JSON.parse(readFileSync(releasesPath(home), "utf8"));
const installDir = () => f.pathsOf(home).dir;
const seen = (release: number, version = "1.0.0") => ({ [ours]: { release, version } });

/** Puts a whole install of other bytes in the place of the present one. */
async function plant(changes: f.BundleChanges): Promise<void> {
  const elsewhere = newHome();
  await f.install(elsewhere, f.makeBundle(f.libs, changes), { env: envOf(changes.by ?? f.keys) });
  rmSync(installDir(), { recursive: true, force: true });
  cpSync(f.pathsOf(elsewhere).dir, installDir(), { recursive: true });
}

describe("the floor is what was ever installed", () => {
  beforeEach(() => install({ release: 9, version: "2.0.0" }));

  test("and is recorded outside of the install", () => {
    expect(record()).toEqual({ format: 1, keys: seen(9, "2.0.0"), ended: [] });
    expect(statSync(releasesPath(home)).mode & 0o777).toBe(0o600);
  });

  const CLEARED: [string, () => unknown][] = [
    ["the install is removed", () => rmSync(installDir(), { recursive: true })],
    ["all of the runtime is removed", () => rmSync(dirname(installDir()), { recursive: true })],
    ["its signature is removed", () => rmSync(f.pathsOf(home).signature)],
    ["its signature is damaged", () => writeFileSync(f.pathsOf(home).signature, "nonsense")],
    ["its manifest is emptied", () => writeFileSync(f.pathsOf(home).manifest, "")],
    ["an older install takes its place", () => plant({ release: 4 })],
    ["an install of another key takes its place", () => plant({ release: 1, by: f.otherKeys })],
    ["an unsigned number is set back", () => writeFileSync(f.pathsOf(home).installed, '{"release":1}')],
  ];
  test.each(CLEARED)("also where %s", async (_, clear) => {
    await clear();
    for (const more of [{}, { keepNewer: true }, { keepNewer: true, offered: { release: 8, version: "1.0.0" } }]) {
      const outcome = await install({ release: 8 }, more).catch((error: Error) => error.message);
      if (typeof outcome === "string")
        expect(outcome).toMatch(
          /^release 8 \(1\.0\.0\) is older than .*\b9\b.*; 'svc runtime install --allow-downgrade' installs/,
        );
      // The newer install is still there, and is kept.
      else expect(outcome).toMatchObject({ release: 9, declined: { release: 8 } });
    }
    expect(record().keys).toEqual(seen(9, "2.0.0"));
    await install({ release: 9, version: "2.0.0" });
    await load();
  });

  test("an older install that was put in its place is not loaded, and is replaced", async () => {
    await plant({ release: 8 });
    await expect(load()).rejects.toMatchObject({
      code: "RuntimeError.runtime_invalid",
      message:
        "the installed native runtime 1.0.0 (release 8) is older than 2.0.0 (release 9), which was installed before: " +
        "'svc login' or 'svc runtime install' replaces it",
    });
    // An older bundle does not keep it, though it is newer than that.
    for (const offered of [undefined, { release: 7, version: "1.0.0" }])
      await expect(install({ release: 7 }, { keepNewer: true, offered })).rejects.toThrow(
        /older than .* \(release 9\)/,
      );
    await install({ release: 9 }, { keepNewer: true });
    await load();
  });

  test("a newer one that was put in its place is loaded and recorded", async () => {
    await plant({ release: 11, version: "3.0.0" });
    await load();
    expect(record().keys).toEqual(seen(11, "3.0.0"));
  });
});

describe("a downgrade that was allowed", () => {
  beforeEach(async () => {
    await install({ release: 9 });
    await install({ release: 4 }, { allowDowngrade: true });
  });

  test("is loaded, and does not lower the floor", async () => {
    await load();
    const manifest_sha256 = sha256(readFileSync(f.pathsOf(home).manifest));
    expect(record()).toEqual({ format: 1, keys: seen(9), ended: [], allowed: { release: 4, manifest_sha256 } });
    await expect(install({ release: 8 })).rejects.toThrow(/older than 1.0.0 \(release 9\)/);
  });

  test("holds for exactly that manifest", async () => {
    await plant({ release: 4, version: "1.0.1" });
    await expect(load()).rejects.toThrow(/release 4\) is older than/);
    await expect(install({ release: 4, version: "1.0.1" })).rejects.toThrow(/older than/);
    await install({ release: 4 }, { keepNewer: true });
    await load();
  });

  test("ends with the next install that needs no permission", async () => {
    await install({ release: 9 }, { keepNewer: true });
    expect(record().allowed).toBeUndefined();
    await plant({ release: 4 });
    await expect(load()).rejects.toThrow(/older than/);
  });

  test("is not left behind by an install that failed", async () => {
    const before = readFileSync(releasesPath(home), "utf8");
    const tamper: f.BundleChanges["tamper"] = (all) => all.slice(0, -1);
    await expect(install({ release: 3, tamper }, { allowDowngrade: true })).rejects.toThrow(/is missing/);
    expect(readFileSync(releasesPath(home), "utf8")).toBe(before);
    await load();
  });
});

describe("a damaged record", () => {
  const DAMAGE: [string, (path: string) => void][] = [
    ["empty", (path) => writeFileSync(path, "")],
    ["cut", (path) => writeFileSync(path, readFileSync(path, "utf8").slice(0, 60))],
    ["zeros", (path) => writeFileSync(path, new Uint8Array(200))],
    ["too large", (path) => writeFileSync(path, " ".repeat(1 << 20))],
    ["a list", (path) => writeFileSync(path, "[]")],
    [
      "an empty folder",
      (path) => {
        rmSync(path);
        mkdirSync(path);
      },
    ],
    ["of another format", (path) => writeFileSync(path, '{"format":2,"keys":{},"ended":[]}')],
    ["with a key twice", (path) => writeFileSync(path, '{"format":1,"keys":{},"keys":{},"ended":[]}')],
    ["without its fields", (path) => writeFileSync(path, '{"format":1}')],
    ["with a release that is not a number", (path) => rewrite(path, /"release": \d+/, '"release": "9"')],
    ["with a negative release", (path) => rewrite(path, /"release": \d+/, '"release": -9')],
    ["with an escape in a version", (path) => rewrite(path, "1.0.0", "\\u001b[2J")],
    ["with an id that is not one", (path) => rewrite(path, ours, "../x")],
    ["with an ended key that is not one", (path) => rewrite(path, '"ended": []', '"ended": [1]')],
    ["with a permission that is not one", (path) => rewrite(path, '"ended": []', '"ended": [], "allowed": true')],
  ];
  const rewrite = (path: string, from: string | RegExp, to: string) =>
    writeFileSync(path, readFileSync(path, "utf8").replace(from, to));

  test.each(DAMAGE)("%s: a load refuses, an install writes it again of the present install", async (_, damage) => {
    await install({ release: 9 });
    damage(releasesPath(home));
    await expect(load()).rejects.toMatchObject({
      code: "RuntimeError.runtime_invalid",
      message: expect.stringMatching(
        /^releases\.json, the record of releases, is damaged \([^)]*\): 'svc login' or 'svc runtime install' writes it again$/,
      ),
    });
    await expect(install({ release: 8 })).rejects.toThrow(/older than the installed 9/);
    expect(record()).toEqual({ format: 1, keys: seen(9), ended: [] });
    await load();
    damage(releasesPath(home));
    expect(await install({ release: 8 }, { keepNewer: true })).toMatchObject({ release: 9, declined: { release: 8 } });
    expect(record()).toEqual({ format: 1, keys: seen(9), ended: [] });
    await load();
  });

  test("is written again where the newer install is kept without a look at the bundle", async () => {
    await install({ release: 9 });
    writeFileSync(releasesPath(home), "{}");
    const offered = { release: 5, version: "1.0.0" };
    expect(await install({ forged: true }, { keepNewer: true, offered })).toMatchObject({ declined: offered });
    expect(record().keys).toEqual(seen(9));
  });

  test("is made of the executable's own release too, under its own keys", () => {
    writeFileSync(releasesPath(home), "{}");
    const keys = [{ pem: f.publicPem, id: ours }];
    const { release, version } = buildInfo();
    expect([...recordForInstall(home, undefined, { keys, override: null }).keys]).toEqual([
      [ours, { release, version }],
    ]);
    expect(recordForInstall(home, undefined, { keys, override: "SVC_RELEASE_PUBKEY" })).toEqual(NO_RELEASES);
  });

  test("that cannot be written is said before anything is installed", async () => {
    await install({ release: 9 });
    rmSync(releasesPath(home));
    mkdirSync(join(releasesPath(home), "full"), { recursive: true });
    for (const allowDowngrade of [false, true])
      await expect(install({ release: 10 }, { allowDowngrade })).rejects.toThrow(/^cannot remove 'releases\.json'/);
    expect(JSON.parse(readFileSync(f.pathsOf(home).installed, "utf8")).release).toBe(9);
  });

  test("that others can write is not believed", async () => {
    await install();
    chmodSync(releasesPath(home), 0o666);
    const fault = /others can write to releases\.json: run chmod go-w/;
    await expect(load()).rejects.toThrow(fault);
    await expect(install()).rejects.toThrow(fault);
  });

  test("that is a link is not followed", async () => {
    await install({ release: 9 });
    renameSync(releasesPath(home), join(home, "moved"));
    symlinkSync(join(home, "moved"), releasesPath(home));
    await expect(load()).rejects.toThrow(/releases\.json is a link: remove it/);
    await expect(install()).rejects.toThrow(/releases\.json is a link: remove it/);
    expect(() => readReleases(home)).toThrow(/is damaged \('releases\.json' is a link/);
  });
});

describe("a record that is lost", () => {
  beforeEach(async () => {
    await install({ release: 9, manifest: { ends: [keyId(next.publicPem)] } });
    rmSync(releasesPath(home));
  });
  const whole = () => ({ format: 1, keys: seen(9), ended: [keyId(next.publicPem)] });

  test("is written by the next load", async () => {
    await load();
    expect(record()).toEqual(whole());
  });

  test("does not hinder a load that cannot write it", async () => {
    const lock = join(dirname(installDir()), ".lock");
    await withLock(lock, async () => {
      await load();
      expect(existsSync(releasesPath(home))).toBe(false);
    });
    rmSync(lock);
    mkdirSync(lock);
    await load();
    expect(existsSync(releasesPath(home))).toBe(false);
  });

  test("is made again by an install, which keeps to the present one", async () => {
    await expect(install({ release: 8 })).rejects.toThrow(/older than the installed 9/);
    await install({ release: 8 }, { keepNewer: true });
    expect(record()).toEqual(whole());
  });
});

describe("a key that ends", () => {
  const ends = [keyId(f.publicPem)];
  const env = envOf(next);

  test("is recorded with the install, and then nothing that it signed is installed or loaded", async () => {
    await install({ release: 9 });
    await install({ release: 10, by: next, manifest: { ends } }, { env });
    expect(record()).toMatchObject({ ended: ends });
    for (const allowDowngrade of [false, true]) {
      await expect(install({ release: 11 }, { allowDowngrade })).rejects.toThrow(
        /^release 11 \(1\.0\.0\) is signed by a release key that has ended: get a newer svc/,
      );
    }
    await plant({ release: 11 });
    await expect(load()).rejects.toMatchObject({
      code: "RuntimeError.runtime_invalid",
      message: expect.stringMatching(/release 11\) is signed by a release key that has ended: 'svc login' or/),
    });
    expect(record().keys[ours].release).toBe(9);
    await install({ release: 10, by: next, manifest: { ends } }, { env });
    await load(env);
  });

  test("is not ended by a bundle that was refused", async () => {
    await install({ release: 9 });
    const broken = {
      release: 10,
      by: next,
      manifest: { ends },
      tamper: (all: { name: string; bytes: Uint8Array }[]) => all.slice(0, -1),
    };
    await expect(install(broken, { env })).rejects.toThrow(/is missing/);
    expect(record().ended).toEqual([]);
    await load();
  });

  test("does not count for the floor: a thief could have signed any number", async () => {
    const anchors = {
      keys: [f.keys, next].map(({ publicPem }) => ({ pem: publicPem, id: keyId(publicPem) })),
      override: null,
    };
    const { release } = buildInfo();
    const verified = async (changes: f.BundleChanges) => {
      const { bytes, signature } = f.signedManifest(f.libs, changes);
      return verifyManifest(bytes, signature, anchors);
    };
    const stolen = withSeen(NO_RELEASES, await verified({ release: Number.MAX_SAFE_INTEGER }));
    expect(floorOf(stolen, anchors)?.release).toBe(Number.MAX_SAFE_INTEGER);
    const after = await verified({ release: release + 1, by: next, manifest: { ends } });
    expect(requireAcceptable(after, undefined, stolen, false)).toBe(false);
    expect(loadRefusal(after, stolen)).toBeUndefined();
    const ended = withSeen(stolen, after);
    expect(floorOf(ended, anchors)).toEqual({ release: release + 1, version: "1.0.0", from: "record" });
    // What the ended key says of keys does not count.
    const revenge = await verified({ release: release + 2, manifest: { ends: [keyId(next.publicPem)] } });
    expect(withSeen(ended, revenge)).toEqual(ended);
    // One that does not end the key is held to it.
    const other = await verified({ release: release + 1, by: next });
    expect(() => requireAcceptable(other, undefined, stolen, false)).toThrow(/older than/);
  });

  test("cannot be a built-in one where the signer is of the environment", async () => {
    const builtIn = buildInfo().releasePublicKeys.map((pem) => keyId(pem));
    await install({ manifest: { ends: [...builtIn, keyId(next.publicPem)] } });
    expect(record().ended).toEqual([keyId(next.publicPem)]);
  });
});

describe("the executable's own release", () => {
  const { release, version } = buildInfo();
  const anchors = { keys: [{ pem: f.publicPem, id: ours }], override: null };
  const verified = async (number: number, override: "SVC_RELEASE_PUBKEY" | null = null) => {
    const { bytes, signature } = f.signedManifest(f.libs, { release: number });
    return verifyManifest(bytes, signature, { ...anchors, override });
  };

  test("is the floor where nothing was installed yet", async () => {
    expect(floorOf(NO_RELEASES, anchors)).toEqual({ release, version, from: "svc" });
    const older = await verified(release - 1);
    const refuse = () => requireAcceptable(older, undefined, NO_RELEASES, false);
    expect(refuse).toThrow(
      `release ${release - 1} (1.0.0) is older than this svc (release ${release}); 'svc runtime install --allow-downgrade'`,
    );
    expect(requireAcceptable(older, undefined, NO_RELEASES, true)).toBe(true);
    expect(loadRefusal(older, NO_RELEASES)?.message).toContain(
      `is older than this svc (release ${release}): 'svc login'`,
    );
    const same = await verified(release);
    expect(requireAcceptable(same, undefined, NO_RELEASES, false)).toBe(false);
    expect(loadRefusal(same, NO_RELEASES)).toBeUndefined();
  });

  test("does not count where a key of the environment replaces the built-in ones", async () => {
    const older = await verified(1, "SVC_RELEASE_PUBKEY");
    expect(requireAcceptable(older, undefined, NO_RELEASES, false)).toBe(false);
    expect(loadRefusal(older, NO_RELEASES)).toBeUndefined();
  });
});

describe("an install of a key that is not in force", () => {
  test("is not loaded, and any release of a known key replaces it", async () => {
    await install({ release: 100, by: f.otherKeys }, { env: envOf(f.otherKeys) });
    await expect(load()).rejects.toMatchObject({
      code: "RuntimeError.runtime_key_unknown",
      message:
        "the installed native runtime is signed by another key than the one in SVC_RELEASE_PUBKEY: " +
        "'svc login' or 'svc runtime install' replaces it",
    });
    expect(await install({ release: 5 })).toMatchObject({ release: 5, replaced: null });
    await load();
    expect(record().keys).toEqual({ ...seen(5), [keyId(f.otherKeys.publicPem)]: { release: 100, version: "1.0.0" } });
  });

  test("is replaced by a login, and what known keys have signed still counts", async () => {
    await install({ release: 9 });
    await plant({ release: 100, by: f.otherKeys });
    const keepNewer = true;
    await expect(install({ release: 8 }, { keepNewer })).rejects.toThrow(/older than 1.0.0 \(release 9\)/);
    expect(await install({ release: 9 }, { keepNewer })).toMatchObject({ release: 9, replaced: null });
  });

  test("a bundle of such a key is not installed", async () => {
    await expect(install({ by: f.otherKeys })).rejects.toMatchObject({
      code: "RuntimeError.runtime_key_unknown",
      message: expect.stringContaining("names a release key that is not the one in SVC_RELEASE_PUBKEY"),
    });
  });
});

describe("what reports say of an install", () => {
  test("one that is good, expired, of the next key, below the floor", async () => {
    const { bytes, signature } = f.signedManifest(f.libs, {
      release: 5,
      manifest: { expires: "2020-01-01T00:00:00Z" },
    });
    const one = { keys: [{ pem: f.publicPem, id: ours }], override: "SVC_RELEASE_PUBKEY" as const };
    const good = { floor: null, refusal: null, expires: "2020-01-01T00:00:00Z", expired: true };
    const key = { id: ours, role: "given", ended: false };
    expect(releaseState(await verifyManifest(bytes, signature, one), readReleases(home) ?? NO_RELEASES)).toEqual({
      ...good,
      key,
    } as never);
    const { publicPem } = next;
    const two = { keys: [{ pem: publicPem, id: keyId(publicPem) }, ...one.keys], override: null };
    const below = releaseState(await verifyManifest(bytes, signature, two), readReleases(home) ?? NO_RELEASES);
    expect(below.key).toEqual({ id: ours, role: "next", ended: false });
    expect(below.floor).toMatchObject({ from: "svc" });
    expect(below.refusal).toContain("is older than this svc");
    writeFileSync(releasesPath(home), JSON.stringify({ format: 1, keys: {}, ended: [ours] }));
    expect(releaseState(await verifyManifest(bytes, signature, one), readReleases(home) ?? NO_RELEASES).key.ended).toBe(
      true,
    );
  });
});

describe("a bundle that has expired", () => {
  const old = { manifest: { expires: "2020-01-01T00:00:00Z" } };

  test("is refused from a packages server", async () => {
    await expect(install(old, { fromServer: true })).rejects.toThrow(
      /^the packages server offers release 5 \(1\.0\.0\), which it must not after 2020-01-01T00:00:00Z: ask for a newer/,
    );
    expect(existsSync(installDir())).toBe(false);
    await install({}, { fromServer: true });
  });

  test("is installed from a file, and loaded on any day", async () => {
    await install(old);
    await load();
  });
});
