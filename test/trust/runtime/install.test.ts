import { beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { promote } from "../../../src/trust/runtime/staging.ts";
import { newHome } from "../account/helpers.ts";
import * as f from "./fixture.ts";

let home: string;

beforeEach(() => {
  home = newHome();
});

/** Every file of the install with its bytes, to prove that nothing changed. */
function snapshot(): Record<string, string> {
  const { dir } = f.pathsOf(home);
  if (!existsSync(dir)) return {};
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(files.map((e) => [e.name, readFileSync(join(e.parentPath, e.name)).toString("hex")]));
}

function leftovers(): string[] {
  const parent = dirname(f.pathsOf(home).dir);
  return existsSync(parent) ? readdirSync(parent).filter((name) => name.startsWith(".staging")) : [];
}

describe("a good bundle", () => {
  test("is installed whole, with modes, and verifies", async () => {
    const extra = [{ name: "pysite/svc/__init__.py", bytes: Buffer.from("x = 1\n") }];
    const result = await f.install(home, f.makeBundle(f.libs, { extra }), { provenance: "file" });
    expect(result).toEqual({
      version: "1.0.0",
      release: 5,
      platform: f.tag,
      replaced: null,
      anchor: "SVC_RELEASE_PUBKEY",
    });
    const paths = f.pathsOf(home);
    expect(readFileSync(paths.kernelLibrary)).toEqual(Buffer.from(f.libs.kernel));
    expect(statSync(paths.license).mode & 0o777).toBe(0o600);
    expect(statSync(paths.dir).mode & 0o777).toBe(0o700);
    expect(readFileSync(join(paths.pysite, "svc/__init__.py"), "utf8")).toBe("x = 1\n");
    const record = JSON.parse(readFileSync(paths.installed, "utf8"));
    expect(record).toMatchObject({ version: "1.0.0", release: 5, provenance: { source: "file" } });
    expect(leftovers()).toEqual([]);
    const report = await f.verify(home);
    expect(f.failed(report)).toEqual([]);
    expect(report).toMatchObject({
      ok: true,
      installed: true,
      version: "1.0.0",
      release: 5,
      anchor: "SVC_RELEASE_PUBKEY",
    });
  });

  test("replaces an older one, and a damaged one of its release", async () => {
    await f.install(home, f.makeBundle(f.libs));
    const newer = f.makeBundle(f.libs, { release: 6, version: "1.1.0" });
    expect((await f.install(home, newer)).replaced).toEqual({ version: "1.0.0", release: 5 });
    writeFileSync(f.pathsOf(home).signature, "nonsense");
    expect((await f.install(home, newer)).replaced).toBeNull();
  });

  test("two installs at once leave one whole install", async () => {
    const bundles = [6, 7, 8].map((release) => f.makeBundle(f.libs, { release }));
    await Promise.allSettled(bundles.map((bundle) => f.install(home, bundle)));
    const report = await f.verify(home);
    expect(report).toMatchObject({ ok: true, release: 8 });
    expect(leftovers()).toEqual([]);
  });
});

describe("what is refused leaves the old install as it was", () => {
  const truncated = (bundle: Uint8Array) => bundle.subarray(0, bundle.length >> 1);
  const onEntry =
    (name: string, change: (bytes: Uint8Array) => Uint8Array) => (entries: { name: string; bytes: Uint8Array }[]) =>
      entries.map((entry) => (entry.name === name ? { name, bytes: change(entry.bytes) } : entry));
  const newer = { release: 9 };

  const table: [string, () => Uint8Array, RegExp, Parameters<typeof f.install>[2]?][] = [
    ["another key's signature", () => f.makeBundle(f.libs, { ...newer, forged: true }), /does not fit/],
    [
      "a changed manifest",
      () => f.makeBundle(f.libs, { tamper: onEntry("telys_manifest.json", f.flipped) }),
      /does not fit/,
    ],
    [
      "a changed signature",
      () => f.makeBundle(f.libs, { tamper: onEntry("telys_manifest.sig", f.flipped) }),
      /does not fit/,
    ],
    [
      "a changed kernel",
      () => f.makeBundle(f.libs, { ...newer, tamper: onEntry(f.kernelName, f.flipped) }),
      /not what/,
    ],
    [
      "a shorter runtime",
      () => f.makeBundle(f.libs, { ...newer, tamper: onEntry(f.runtimeName, (b) => b.subarray(1)) }),
      /not what/,
    ],
    ["a missing library", () => f.makeBundle(f.libs, { ...newer, tamper: (all) => all.slice(0, -1) }), /is missing/],
    [
      "a library that stands twice",
      () => f.makeBundle(f.libs, { ...newer, tamper: (all) => [...all, all[2]!] }),
      /does not name|not what/,
    ],
    [
      "a file not in the manifest",
      () => f.makeBundle(f.libs, { ...newer, tamper: (all) => [...all, { name: "x", bytes: all[0]!.bytes }] }),
      /does not name/,
    ],
    ["a cut bundle", () => truncated(f.makeBundle(f.libs, newer)), /cut short/],
    ["no bundle at all", () => Buffer.from("hello"), /gzip/],
    [
      "another platform's",
      () =>
        f.makeBundle(f.libs, {
          manifest: {
            platform: "macos-arm64",
            artifacts: [
              { name: "libame_kernel.dylib", sha256: "0".repeat(64), size_bytes: 1, role: "kernel" },
              { name: "libty_runtime.dylib", sha256: "0".repeat(64), size_bytes: 1, role: "runtime" },
            ],
          },
        }),
      /this machine is/,
    ],
    ["an older release", () => f.makeBundle(f.libs, { release: 4 }), /--allow-downgrade/],
    ["another version than asked for", () => f.makeBundle(f.libs, newer), /not 2\.0\.0/, { version: "2.0.0" }],
    ["libraries of another ABI", () => f.makeBundle(f.libs, newer), /expects 9/, { abi: { kernel: 9, runtime: 9 } }],
    [
      "a library that is not a library",
      () => f.makeBundle({ ...f.libs, kernel: Buffer.from("not ELF") }, newer),
      /abi lib/,
    ],
  ];
  for (const [name, bundle, message, more] of table) {
    test(name, async () => {
      await f.install(home, f.makeBundle(f.libs));
      const before = snapshot();
      const failure = await f.install(home, bundle(), more).then(
        () => undefined,
        (error: Error) => error,
      );
      expect(failure?.message).toMatch(message);
      expect(failure?.message).not.toContain(home);
      expect(snapshot()).toEqual(before);
      expect(leftovers()).toEqual([]);
    });
  }

  test("an older release is installed where a downgrade is allowed", async () => {
    await f.install(home, f.makeBundle(f.libs));
    expect((await f.install(home, f.makeBundle(f.libs, { release: 4 }), { allowDowngrade: true })).release).toBe(4);
  });
});

describe("where a newer install is kept", () => {
  const keepNewer = true;

  test("it stays as it is, and the answer says what was declined", async () => {
    await f.install(home, f.makeBundle(f.libs, { release: 9, version: "2.0.0" }));
    const before = snapshot();
    expect(await f.install(home, f.makeBundle(f.libs), { keepNewer })).toEqual({
      version: "2.0.0",
      release: 9,
      platform: f.tag,
      replaced: null,
      declined: { version: "1.0.0", release: 5 },
      anchor: "SVC_RELEASE_PUBKEY",
    });
    expect(snapshot()).toEqual(before);
    expect(leftovers()).toEqual([]);
  });

  test("one of the same release, an older one and one that is not verified are replaced", async () => {
    for (const release of [5, 4]) {
      await f.install(home, f.makeBundle(f.libs, { release }), { allowDowngrade: true });
      const result = await f.install(home, f.makeBundle(f.libs), { keepNewer });
      expect(result).toMatchObject({ release: 5, replaced: { release } });
      expect(result.declined).toBeUndefined();
    }
    writeFileSync(f.pathsOf(home).signature, "nonsense");
    expect(await f.install(home, f.makeBundle(f.libs), { keepNewer })).toMatchObject({ release: 5, replaced: null });
  });

  test("a bundle of a known release that would not replace it is not opened", async () => {
    const offered = { version: "1.0.0", release: 5 };
    const foreign = f.makeBundle(f.libs, { forged: true });
    const offer = () => f.install(home, foreign, { keepNewer, offered });
    await expect(offer()).rejects.toThrow("does not fit");
    await f.install(home, f.makeBundle(f.libs));
    await expect(offer()).rejects.toThrow("does not fit");
    await f.install(home, f.makeBundle(f.libs, { release: 6 }));
    expect(await offer()).toMatchObject({ release: 6, declined: offered });
  });
});

describe("names that a manifest must not have, though it is signed", () => {
  const artifact = (name: string, role = "pysite") => ({ name, sha256: "0".repeat(64), size_bytes: 1, role });
  const bad = [
    "../x",
    "/etc/x",
    "pysite/../../x",
    "pysite/./x",
    "pysite//x",
    "pysite/.x",
    "pysite",
    "license.jwt",
    "pysite/a b",
    "pysite/\u0000",
  ];
  for (const name of bad) {
    test(JSON.stringify(name), async () => {
      const both = [artifact(f.kernelName, "kernel"), artifact(f.runtimeName, "runtime")];
      const bundle = f.makeBundle(f.libs, { manifest: { artifacts: [...both, artifact(name)] } });
      await expect(f.install(home, bundle)).rejects.toThrow(/telys_manifest.json cannot be used/);
    });
  }
});

describe("promoting", () => {
  test("where the file system cannot exchange, the old install is set aside and removed", async () => {
    const [a, b] = [join(home, "a"), join(home, "b")];
    for (const path of [a, b]) {
      mkdirSync(path);
      writeFileSync(join(path, "is"), path);
    }
    promote(a, b, () => false);
    expect(readFileSync(join(b, "is"), "utf8")).toBe(a);
    expect(readdirSync(home)).toEqual(["b"]);
  });

  test("where the new one cannot take its place, the old one is restored", () => {
    const old = join(home, "old");
    mkdirSync(old);
    writeFileSync(join(old, "is"), "old");
    expect(() => promote(join(home, "absent"), old, () => false)).toThrow(/cannot install 'old'/);
    expect(readFileSync(join(old, "is"), "utf8")).toBe("old");
  });

  test("an install that a crash left aside is found again", async () => {
    await f.install(home, f.makeBundle(f.libs));
    const { dir } = f.pathsOf(home);
    const { renameSync } = await import("node:fs");
    renameSync(dir, join(dirname(dir), ".staging-1.old"));
    await expect(f.install(home, f.makeBundle(f.libs, { release: 4 }))).rejects.toThrow(/older than the installed 5/);
    expect(existsSync(dir)).toBe(true);
  });
});

test("a runtime folder that is a link is replaced, not followed", async () => {
  const { dir } = f.pathsOf(home);
  const target = join(home, "elsewhere");
  mkdirSync(target);
  mkdirSync(dirname(dir), { mode: 0o700 });
  symlinkSync(target, dir);
  await f.install(home, f.makeBundle(f.libs));
  expect(readdirSync(target)).toEqual([]);
  const report = await f.verify(home);
  expect(report.ok).toBe(true);
});

test("a folder that others can write is refused before anything is written", async () => {
  chmodSync(home, 0o777);
  await expect(f.install(home, f.makeBundle(f.libs))).rejects.toThrow(/others can write to SVC_HOME: run chmod go-w/);
  expect(existsSync(f.pathsOf(home).dir)).toBe(false);
});

test("a folder that cannot be written is an OSError without its path", async () => {
  if (process.getuid?.() === 0) return; // root writes anywhere
  chmodSync(home, 0o500);
  const failure = await f.install(home, f.makeBundle(f.libs)).catch((error) => error);
  chmodSync(home, 0o700);
  expect(failure.name).toBe("OSError");
  expect(failure.message).not.toContain(home);
});
