/** An upgrade step by step, with scripts in the place of executables: what it verifies, refuses and leaves. */
import { afterEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RELEASE_MANIFEST_BYTES_MAX } from "../../../src/limits.ts";
import { accountPaths, PLATFORM_TAGS, releasesPath, runtimePaths } from "../../../src/paths.ts";
import { releaseNames } from "../../../src/trust/release/manifest.ts";
import { BundleReader } from "../../../src/trust/runtime/bundle.ts";
import { testKey } from "../../keys.ts";
import type { Answer } from "../../trust/account/packages-server.ts";
import { type Changes, type Files, OWN, program, releaseOf, Scene, TAG } from "./host.ts";

const names = releaseNames(TAG);
const scenes: Scene[] = [];
afterEach(() => {
  for (const { folder } of scenes.splice(0)) rmSync(folder, { recursive: true, force: true });
});

async function scene(releases: Record<string, Files>, answer?: (path: string) => Answer | undefined): Promise<Scene> {
  const made = await Scene.of(releases, answer);
  scenes.push(made);
  return made;
}
const sceneOf = (version: string, changes?: Changes) => scene({ [version]: releaseOf(version, changes) });
const inPlace = (s: Scene) => readFileSync(s.executable).toString();
const beside = (s: Scene) => {
  const folder = join(s.folder, "bin/.svc-upgrade");
  return existsSync(folder) ? readdirSync(folder).sort() : [];
};
const record = (s: Scene) => JSON.parse(readFileSync(releasesPath(s.home), "utf8"));
const OLD = program(OWN.version).toString();

/** The old file is in place, and nothing of the new one is left. */
function expectOld(s: Scene): void {
  expect(inPlace(s)).toBe(OLD);
  expect(["", "lock"]).toContain(beside(s).join());
}

test("the newest release takes the place of the executable, which is kept", async () => {
  const s = await sceneOf("9.0.0", { manifest: { floor: "0.1.0" } });
  chmodSync(s.executable, 0o711);
  expect(await s.upgrade()).toMatchObject({
    ...{ from: { version: OWN.version, release: OWN.release }, to: { version: "9.0.0", release: 9_000_000 } },
    ...{ changed: true, executable: s.executable, runtime: null, running: [], clients: [] },
  });
  expect(inPlace(s)).toBe(program("9.0.0").toString());
  expect(statSync(s.executable).mode & 0o777).toBe(0o711);
  expect(beside(s)).toEqual(["lock", "svc.previous"]);
  expect(record(s).floors).toEqual({ [OWN.releaseKeyId]: "0.1.0" });
  // The newest release is a redirect.
  expect(s.host.paths()).toEqual([
    ...["manifest.json", "manifest.sig"].flatMap((name) => [`/latest/download/${name}`, `/download/v9.0.0/${name}`]),
    `/download/v9.0.0/${names.zstd}`,
  ]);
  expect(await s.rollBack()).toMatchObject({ to: { version: OWN.version }, changed: true });
  expect(inPlace(s)).toBe(OLD);
  expect(readFileSync(join(s.folder, "bin/.svc-upgrade/svc.previous")).equals(program("9.0.0"))).toBe(true);
});

test("a mirror without .zst is asked for .gz", async () => {
  const { [names.zstd]: _, ...files } = releaseOf("9.0.0");
  const s = await scene({ "9.0.0": files });
  await s.upgrade();
  expect(inPlace(s)).toBe(program("9.0.0").toString());
});

test("what is the newest release already is not downloaded again", async () => {
  const s = await sceneOf(OWN.version);
  expect(await s.upgrade()).toMatchObject({ changed: false, previous: null });
  expect(s.host.paths()).toHaveLength(4);
  expectOld(s);
});

describe("older than what is here", () => {
  test("is installed only if a person names it", async () => {
    const s = await sceneOf("0.0.9");
    await expect(s.upgrade()).rejects.toThrow(
      `the newest release there is 0.0.9, which is older than this svc (${OWN.version}): ` +
        "'svc upgrade --version 0.0.9' goes back to it",
    );
    expectOld(s);
    expect(await s.upgrade("0.0.9")).toMatchObject({ changed: true });
  });

  test("is refused by its version too: a prerelease may have the number of its final version", async () => {
    const version = `${OWN.version}-rc.2`;
    const s = await sceneOf(version, { manifest: { release: OWN.release } });
    await expect(s.upgrade()).rejects.toThrow(`is ${version}, which is older than this svc (${OWN.version})`);
    expectOld(s);
  });

  test("is refused below the floor of the newest release, also if its own manifest says less", async () => {
    const s = await scene({
      "0.0.9": releaseOf("0.0.9"),
      "9.0.0": releaseOf("9.0.0", { manifest: { floor: "0.1.0" } }),
    });
    await expect(s.upgrade("0.0.9")).rejects.toThrow(/svc 0\.0\.9 is too old: 0\.1\.0 is the lowest version/);
    expectOld(s);
  });

  test("is refused as the file to go back to, below the floor of what was installed", async () => {
    const s = await sceneOf("9.0.0", { manifest: { floor: "1.0.0" } });
    await s.upgrade();
    await expect(s.rollBack()).rejects.toThrow(`svc ${OWN.version} is too old: 1.0.0 is the lowest version`);
    expect(inPlace(s)).toBe(program("9.0.0").toString());
  });

  test("is refused if the newest release on this machine was newer", async () => {
    const s = await sceneOf("2.0.0");
    mkdirSync(s.home, { mode: 0o700 });
    const keys = { [OWN.releaseKeyId]: { version: "3.0.0", release: 3_000_000 } };
    writeFileSync(releasesPath(s.home), JSON.stringify({ format: 1, keys, ended: [] }), { mode: 0o600 });
    await expect(s.upgrade()).rejects.toThrow("older than 3.0.0, whose runtime was installed on this machine before");
    expectOld(s);
  });
});

test("a key that has ended signs nothing that is installed, and is remembered once its end is", async () => {
  const other = "0".repeat(32);
  const s = await sceneOf("9.0.0", { manifest: { ends: [other] } });
  await s.upgrade();
  expect(record(s).ended).toEqual([other]);
  s.putOld(program("0.0.9", "", other));
  const t = await sceneOf("9.0.0");
  mkdirSync(t.home, { mode: 0o700 });
  const ended = { format: 1, keys: {}, ended: [OWN.releaseKeyId] };
  writeFileSync(releasesPath(t.home), JSON.stringify(ended), { mode: 0o600 });
  await expect(t.upgrade()).rejects.toThrow("svc 9.0.0 is signed by a release key that has ended");
  expectOld(t);
});

test("without an earlier file there is no way back", async () => {
  const s = await sceneOf("9.0.0");
  await expect(s.rollBack()).rejects.toThrow(
    "no earlier file is kept beside this svc: 'svc upgrade --version VERSION'",
  );
});

describe("a manifest is refused", () => {
  const changed = (change: (files: Files) => Files) => change(releaseOf("9.0.0"));
  const half = (bytes: Uint8Array | undefined) => bytes!.subarray(0, bytes!.length >> 1);
  const CASES: [string, () => Files | Promise<Files>, RegExp][] = [
    [
      "cut short",
      () => changed((f) => ({ ...f, "manifest.json": half(f["manifest.json"]) })),
      /manifest\.sig does not fit/,
    ],
    [
      "of another release",
      () => changed((f) => ({ ...f, "manifest.sig": releaseOf("9.0.1")["manifest.sig"]! })),
      /does not fit/,
    ],
    ["with an empty signature", () => changed((f) => ({ ...f, "manifest.sig": Buffer.of() })), /does not fit/],
    ["signed by another key", () => releaseOf("9.0.0", { key: testKey("other-release") }), /does not fit/],
    [
      "signed by a key that names itself",
      () => releaseOf("9.0.0", { key: testKey("other-release"), manifest: { key_id: "f".repeat(32) } }),
      /names a release key that this svc does not know \(f{32}\); install a newer svc by hand, or/,
    ],
    ["of a native runtime, signed by the same key", runtimeManifest, /its purpose is nothing, and that of a release/],
    [
      "of more bytes than one has",
      () => changed((f) => ({ ...f, "manifest.json": Buffer.alloc(RELEASE_MANIFEST_BYTES_MAX + 1, " ") })),
      /answered with more than 32768 bytes/,
    ],
    ["without a signature beside it", () => changed(({ "manifest.sig": _, ...f }) => f), /has no release/],
    [
      "without an executable for this platform",
      () => {
        const { platforms } = JSON.parse(releaseOf("9.0.0")["manifest.json"]!.toString());
        const other = PLATFORM_TAGS.find((tag) => tag !== TAG)!;
        const text = JSON.stringify({ [other]: platforms[TAG] }).replaceAll(`svc-${TAG}`, `svc-${other}`);
        return releaseOf("9.0.0", { manifest: { platforms: JSON.parse(text) } });
      },
      new RegExp(`release 9\\.0\\.0 has no executable for ${TAG}, only for `),
    ],
  ];
  test.each(CASES)("%s", async (_, files, sentence) => {
    const s = await scene({ "9.0.0": await files() });
    await expect(s.upgrade()).rejects.toThrow(sentence);
    expectOld(s);
    expect(existsSync(s.home)).toBe(false);
  });

  test("of another version than the one that was asked for", async () => {
    const s = await scene({ "8.0.0": releaseOf("9.0.0") });
    await expect(s.upgrade("8.0.0")).rejects.toThrow("the release host has 9.0.0 in the place of 8.0.0");
    await expect(s.upgrade("7.0.0")).rejects.toThrow(`the release host at ${s.host.url} has no release 7.0.0`);
  });
});

async function runtimeManifest(): Promise<Files> {
  const root = join(import.meta.dir, "../../..");
  const reader = new BundleReader(readFileSync(join(root, "dist", TAG, "runtime.bundle")));
  const head = await reader.head();
  reader.close();
  return { "manifest.json": head.manifest, "manifest.sig": head.signature };
}

describe("a file is refused", () => {
  const zstd = names.zstd;
  const good = releaseOf("9.0.0");
  const CASES: [string, Files, RegExp][] = [
    [
      "cut short",
      { ...good, [zstd]: good[zstd]!.subarray(0, 50) },
      /svc-.*\.zst is not the file that was signed: it has 50 bytes, not \d+/,
    ],
    ["too long", { ...good, [zstd]: Buffer.concat([good[zstd]!, Buffer.of(0)]) }, /answered with more than \d+ bytes/],
    [
      "of other bytes",
      { ...good, [zstd]: Buffer.alloc(good[zstd]!.length) },
      /is not the file that was signed: it has other bytes/,
    ],
    [
      "of another release",
      { ...good, [zstd]: releaseOf("9.0.1")[zstd]! },
      /is not the file that was signed|answered with more than/,
    ],
    [
      "not there, and the .gz neither",
      { "manifest.json": good["manifest.json"]!, "manifest.sig": good["manifest.sig"]! },
      /has no svc-.*\.gz of 9\.0\.0/,
    ],
  ];
  test.each(CASES)("%s", async (_, files, sentence) => {
    const s = await scene({ "9.0.0": files });
    await expect(s.upgrade()).rejects.toThrow(sentence);
    expectOld(s);
  });

  test("that unpacks to something else than was signed", async () => {
    const other = Bun.zstdCompressSync(program("9.0.1"));
    const { sha256 } = await import("../../../src/trust/runtime/bundle-manifest.ts");
    const { platforms } = JSON.parse(good["manifest.json"]!.toString());
    platforms[TAG].zstd = { name: zstd, sha256: sha256(other), size_bytes: other.length };
    const s = await scene({ "9.0.0": { ...releaseOf("9.0.0", { manifest: { platforms } }), [zstd]: other } });
    await expect(s.upgrade()).rejects.toThrow(/^svc-\S+ is not the file that was signed/);
    expectOld(s);
  });
});

describe("a host", () => {
  const files = releaseOf("9.0.0");
  const zst = (answer: Answer) => (path: string) => (path.endsWith(".zst") ? answer : undefined);
  const body = files[names.zstd]!;
  test.each([
    ["that cuts the connection each time", zst({ body, cut: 40 }), "OSError.disconnected"],
    ["that goes silent", zst({ body, stop: 40 }), "TimeoutError.timed_out"],
    [
      "that never sends the manifest",
      (path: string) => (path.endsWith("json") ? { body: "x", stop: 0 } : undefined),
      "TimeoutError.timed_out",
    ],
    ["that fails", () => ({ status: 500 }), "RuntimeError.internal"],
    [
      "that redirects to http",
      () => ({ status: 302, headers: { location: "http://releases.example/x" } }),
      "PermissionError.denied",
    ],
    [
      "that redirects without end",
      (path: string) => ({ status: 302, headers: { location: path } }),
      "RuntimeError.internal",
    ],
    [
      "that redirects to a file",
      () => ({ status: 302, headers: { location: "file:///etc/passwd" } }),
      "PermissionError.denied",
    ],
  ] as [string, (path: string) => Answer | undefined, string][])("%s leaves the old file", async (_, answer, code) => {
    const s = await scene({ "9.0.0": files }, answer);
    if (code.startsWith("Timeout")) s.pace.idleMs = 300;
    await expect(s.upgrade()).rejects.toMatchObject({ code });
    expectOld(s);
  });

  test("that redirects to another one on loopback is followed", async () => {
    const other = await scene({ "9.0.0": files });
    const s = await scene({ "9.0.0": files }, (path) => ({
      status: 302,
      headers: { location: other.host.url + path },
    }));
    await s.upgrade();
    expect(inPlace(s)).toBe(program("9.0.0").toString());
  });

  test("by plain http beyond loopback, or with something that is not an address, is not asked", async () => {
    const s = await scene({ "9.0.0": files });
    s.env.SVC_BASE_URL = "http://releases.example";
    await expect(s.upgrade()).rejects.toThrow("SVC_BASE_URL: plain http to releases.example is refused, use https");
    s.env.SVC_BASE_URL = "releases";
    await expect(s.upgrade()).rejects.toThrow("SVC_BASE_URL: 'releases' is not an address");
    expect(s.host.requests).toEqual([]);
  });
});

describe("a new file that does not run here", () => {
  test.each([
    [
      "has an exit code",
      'echo "svc: no AVX2 here" >&2; exit 3',
      "'svc login --yes' ended with exit code 3: svc: no AVX2 here",
    ],
    ["is killed", "kill -ILL $$", "'svc login --yes' ended with SIGILL"],
    [
      "fails to verify its runtime",
      '[ "$1" = runtime ] && exit 1',
      "'svc runtime verify --json' ended with exit code 1",
    ],
  ])("%s, and is not installed", async (_, also, sentence) => {
    const s = await sceneOf("9.0.0", { executable: program("9.0.0", also) });
    await expect(s.upgrade()).rejects.toThrow(`the new svc was not installed, as it does not run here: ${sentence}`);
    expectOld(s);
  });

  test("says another version", async () => {
    const s = await sceneOf("9.0.0", { executable: program("9.0.1") });
    await expect(s.upgrade()).rejects.toThrow("the file of release 9.0.0 says that it is 9.0.1 (release 9000001)");
    expectOld(s);
  });

  test("gets neither the memory nor the login, and an empty home", async () => {
    const also = `env > "$SVC_HOME.env"; [ -e "$SVC_HOME" ] && exit 9; cp "$SVC_HOME.env" "$(dirname "$0")/../../seen"`;
    const s = await sceneOf("9.0.0", { executable: program("9.0.0", also) });
    Object.assign(s.env, { SVC_TOKEN: "secret", SVC_MEMORY_PATH: join(s.folder, "memory"), SVC_API_KEY: "secret" });
    await s.upgrade();
    const seen = readFileSync(join(s.folder, "seen"), "utf8");
    expect(seen).not.toMatch(/secret|SVC_MEMORY_PATH|SVC_BASE_URL/);
    const home = /^SVC_HOME=(.*)$/m.exec(seen)![1]!;
    expect(home).not.toStartWith(s.folder);
    expect(existsSync(join(home, ".."))).toBe(false);
  });
});

describe("the runtime of a login", () => {
  /** A login with a runtime, as far as an upgrade looks at them. */
  const withLogin = (s: Scene) => {
    const { dir, manifest } = runtimePaths(s.home, TAG);
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    writeFileSync(manifest, "{}");
    writeFileSync(accountPaths(s.home).license, "licence", { mode: 0o600 });
    return s;
  };

  test("that an older svc does not install has a remedy that it accepts", async () => {
    const s = withLogin(await sceneOf("0.0.9", { executable: program("0.0.9", '[ "$2" = install ] && exit 1') }));
    expect(await s.upgrade("0.0.9")).toMatchObject({
      changed: true,
      runtime: { ok: false, problem: "it does not say why; run 'svc runtime install --allow-downgrade'" },
    });
  });

  test("is a remark if the new svc cannot be started any more", async () => {
    const executable = program("9.0.0", '[ "$2" = verify ] && chmod a-x "$0"');
    const s = withLogin(await sceneOf("9.0.0", { executable }));
    expect(await s.upgrade()).toMatchObject({
      changed: true,
      runtime: { ok: false, problem: "svc cannot be started; run 'svc runtime install'" },
    });
  });

  test("of the user who runs sudo is named, as HOME is another's then", async () => {
    const s = await sceneOf("9.0.0");
    const said = async (env: Record<string, string>) => {
      s.putOld();
      const words = [process.execPath, join(import.meta.dir, "kill-child.ts"), s.executable];
      const child = Bun.spawn(words, { env: { ...s.env, ...env }, stdout: "ignore", stderr: "pipe" });
      return new Response(child.stderr).text();
    };
    expect(await said({ SUDO_UID: String(process.geteuid!() + 1) })).toBe(
      "note: if you have a login here, run 'svc runtime install' once as yourself, without sudo\n",
    );
    expect(await said({ SUDO_UID: String(process.geteuid!()) })).toBe("");
    expect(await said({})).toBe("");
  });
});

test("an interruption before the exchange leaves the old file", async () => {
  const s = await sceneOf("9.0.0", {
    executable: program("9.0.0", 'touch "$(dirname "$0")/../../tried"; exec sleep 60'),
  });
  const upgrade = s.upgrade();
  while (!existsSync(join(s.folder, "tried"))) await Bun.sleep(5);
  s.controller.abort();
  await expect(upgrade).rejects.toThrow();
  expectOld(s);
});
