import { dlopen, FFIType } from "bun:ffi";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { memoryFile, sealMemoryFile } from "../../ffi/system/calls.ts";
import { abiVersion, mapVerified } from "../../ffi/system/map.ts";
import { PermissionError } from "../../src/errors.ts";
import { loadVerified } from "../../src/runtime/load.ts";
import * as f from "./fixture.ts";

let libs: { kernel: Uint8Array; runtime: Uint8Array };
let home: string;
let remove: () => void;

beforeAll(async () => {
  libs = await f.libraries();
});
beforeEach(async () => {
  ({ home, remove } = f.tempHome());
  const extra = [{ name: "pysite/svc/__init__.py", bytes: Buffer.from("") }];
  await f.install(home, f.makeBundle(libs, { extra }));
});
afterEach(() => remove());

const verify = (env: Record<string, string> = f.env) => f.verify(home, { env });
const load = () => loadVerified({ home, env: f.env, license: f.license });
const { failed } = f;
const paths = () => f.pathsOf(home);
/** Moves a file away and puts a link in its place, to where it lies then or elsewhere. */
function linkInstead(path: string, target = join(home, "moved")): void {
  renameSync(path, join(home, "moved"));
  symlinkSync(target, path);
}
const flip = (path: string) => writeFileSync(path, f.flipped(readFileSync(path)));

describe("one thing changed: which check fails, and with which error a load does", () => {
  const table: [string, () => void, string[], RegExp | null][] = [
    ["a byte of the manifest", () => flip(paths().manifest), ["signature"], /not verified: telys_manifest.sig/],
    ["a byte of the signature", () => flip(paths().signature), ["signature"], /not verified: telys_manifest.sig/],
    ["the signature gone", () => unlinkSync(paths().signature), ["signature"], /telys_manifest.sig is missing/],
    [
      "a byte of the kernel",
      () => flip(paths().kernelLibrary),
      [`hash ${f.kernelName}`, `abi ${f.kernelName}`],
      /libame_kernel.* is not the file/,
    ],
    [
      "the runtime gone",
      () => unlinkSync(paths().runtimeLibrary),
      [`hash ${f.runtimeName}`, `abi ${f.runtimeName}`],
      /libty_runtime.* is missing/,
    ],
    ["a byte of the licence's copy", () => flip(paths().license), [], null],
    ["the copy gone", () => unlinkSync(paths().license), [], null],
    ["the copy cut to nothing", () => truncateSync(paths().license), [], null],
    ["the copy a link", () => linkInstead(paths().license), [], null],
    ["the copy a link to nothing", () => linkInstead(paths().license, join(home, "nowhere")), [], null],
    ["the copy readable by others", () => chmodSync(paths().license, 0o644), ["permissions"], null],
    ["the copy open to all", () => chmodSync(paths().license, 0o666), ["permissions"], null],
    ["the folder open to all", () => chmodSync(paths().dir, 0o777), ["permissions"], /chmod go-w/],
    ["the folder open to the group", () => chmodSync(paths().dir, 0o770), ["permissions"], /chmod go-w/],
    ["its parent open to all", () => chmodSync(dirname(paths().dir), 0o777), ["permissions"], /chmod go-w/],
    ["SVC_HOME open to all", () => chmodSync(home, 0o777), ["permissions"], /SVC_HOME/],
    ["SVC_HOME open to all, but sticky", () => chmodSync(home, 0o1777), ["permissions"], /SVC_HOME/],
    ["a library open to all", () => chmodSync(paths().kernelLibrary, 0o666), ["permissions"], /libame_kernel/],
    ["an unsigned Python file", () => writeFileSync(join(paths().pysite, "json.py"), ""), ["unlisted files"], null],
    [
      "a library that is a link",
      () => linkInstead(paths().kernelLibrary),
      ["permissions", `hash ${f.kernelName}`, `abi ${f.kernelName}`],
      /is a link/,
    ],
    ["installed.json, which decides nothing", () => unlinkSync(paths().installed), [], null],
  ];
  for (const [name, change, checks, message] of table) {
    test(name, async () => {
      change();
      expect(failed(await verify())).toEqual(checks);
      const outcome = await load().then(
        (bytes) => bytes.close(),
        (error: Error) => error,
      );
      if (message === null) return expect(outcome).toBeUndefined();
      expect(outcome!.message).toMatch(message);
      expect(outcome!.message).not.toContain(home);
    });
  }
});

test("a copy of the licence that others can read is reported with the chmod that repairs it", async () => {
  chmodSync(paths().license, 0o640);
  const { detail } = (await verify()).checks.find(({ name }) => name === "permissions")!;
  expect(detail).toContain("'license.jwt' (mode 640): run chmod 600");
  expect(detail).not.toContain(home);
});

test("the licence that counts is the login's", async () => {
  const refuse = async () => {
    throw new PermissionError("the login's is not good");
  };
  expect(failed(await f.verify(home, { checkLicense: refuse }))).toEqual(["licence"]);
});

test("the login is a check of its own, made where nothing is installed too", async () => {
  const checkLogin = async () => {
    throw new PermissionError("api_key is missing");
  };
  expect(failed(await f.verify(home, { checkLogin }))).toEqual(["login"]);
  expect(failed(await f.verify(join(home, "nowhere"), { checkLogin }))).toEqual(["installed", "login"]);
  expect((await f.verify(home)).checks.map(({ name }) => name)).not.toContain("login");
});

test("nothing installed", async () => {
  const empty = f.tempHome();
  try {
    const report = await f.verify(empty.home);
    expect(report).toMatchObject({ ok: false, installed: false, version: null });
    await expect(loadVerified({ home: empty.home, env: f.env, license: f.license })).rejects.toThrow(
      "the native runtime is not installed: run 'svc runtime install'",
    );
  } finally {
    empty.remove();
  }
});

test("an anchor from the environment is named, and a file serves as well", async () => {
  const file = join(home, "release.pem");
  writeFileSync(file, f.publicPem);
  const report = await verify({ SVC_RELEASE_PUBKEY_FILE: file });
  expect(report).toMatchObject({ ok: true, anchor: "SVC_RELEASE_PUBKEY_FILE" });
  expect(report.checks.find(({ name }) => name === "signature")!.detail).toContain("replaces the built-in");
  const other = f.otherKeys.publicKey.export({ type: "spki", format: "pem" }).toString();
  expect(failed(await verify({ SVC_RELEASE_PUBKEY: other }))).toEqual(["signature"]);
  expect(failed(await verify({ SVC_RELEASE_PUBKEY: "rubbish" }))).toEqual(["signature"]);
});

test("a path to SVC_HOME through a link of the same user is followed", async () => {
  const link = `${home}-link`;
  symlinkSync(home, link);
  try {
    const report = await f.verify(link);
    expect(failed(report)).toEqual([]);
  } finally {
    unlinkSync(link);
  }
});

test("a parent folder that others can write is refused unless it is sticky", async () => {
  const inner = join(home, "shared", "home");
  mkdirSync(inner, { recursive: true, mode: 0o700 });
  await f.install(inner, f.makeBundle(libs));
  const failing = async () => failed(await f.verify(inner));
  chmodSync(join(home, "shared"), 0o1777);
  expect(await failing()).toEqual([]);
  chmodSync(join(home, "shared"), 0o777);
  expect(await failing()).toEqual(["permissions"]);
});

describe("what is mapped is what was hashed", () => {
  test("a library swapped and one overwritten in place after the load", async () => {
    const other = (await f.libraries(666)).kernel;
    const bytes = await load();
    writeFileSync(join(home, "other"), other);
    copyFileSync(join(home, "other"), paths().kernelLibrary); // in place: the same inode, other bytes
    renameSync(join(home, "other"), paths().kernelLibrary);
    expect(abiVersion(bytes.kernelPath, "ame_abi_version")).toBe(f.abi.kernel);
    expect(abiVersion(bytes.runtimePath, "ty_abi_version")).toBe(f.abi.runtime);
    bytes.close();
    bytes.close();
    await expect(load()).rejects.toThrow(/not the file that was signed/);
  });

  test.if(process.platform === "linux")("the memory file is sealed against writes", async () => {
    const mapped = mapVerified(libs.kernel, f.kernelName);
    expect(() => writeFileSync(mapped.path, "x", { flag: "r+" })).toThrow();
    expect(() => writeFileSync(mapped.path, "x", { flag: "a" })).toThrow();
    expect(readFileSync(mapped.path)).toEqual(Buffer.from(libs.kernel));
    mapped.close();
  });

  test.if(process.platform === "linux")("a memory file that is in use for a moment is sealed after it", async () => {
    const fd = memoryFile("busy");
    writeFileSync(fd, libs.kernel);
    // The kernel refuses to seal what another process has mapped for writing.
    const script =
      "const map = Bun.mmap(process.argv[1], { shared: true }); console.log(map.length); Bun.sleepSync(100)";
    const holder = Bun.spawn([process.execPath, "-e", script, `/proc/${process.pid}/fd/${fd}`], { stdout: "pipe" });
    const { value } = await holder.stdout.getReader().read();
    expect(new TextDecoder().decode(value).trim()).toBe(String(libs.kernel.length));
    expect(sealMemoryFile(fd)).toBe(true);
    expect(() => writeFileSync(`/proc/self/fd/${fd}`, "x", { flag: "r+" })).toThrow();
    closeSync(fd);
  });

  test("a reused descriptor number does not map the library that it stood for before", async () => {
    const first = mapVerified(libs.kernel, f.kernelName);
    const symbols = { ame_abi_version: { args: [], returns: FFIType.u32 } } as const;
    const kept = dlopen(first.path, symbols); // stays loaded
    first.close();
    const second = mapVerified((await f.libraries(8)).kernel, f.kernelName);
    expect(abiVersion(second.path, "ame_abi_version")).toBe(8);
    second.close();
    expect(kept.symbols.ame_abi_version()).toBe(f.abi.kernel);
    kept.close();
  });
});

test("a load takes a few milliseconds", async () => {
  const times: number[] = [];
  for (let i = 0; i < 10; i++) {
    const start = performance.now();
    (await load()).close();
    times.push(performance.now() - start);
  }
  expect(times.sort((a, b) => a - b)[5]!).toBeLessThan(20);
});
