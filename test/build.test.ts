/** The build of a stand-in checkout: what is cached, what is reproducible, what a failure says. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createPublicKey, verify } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BuildOptions, build } from "../build.ts";
import { LIBRARIES } from "../src/build/compile.ts";
import { modelPath } from "../src/build/meaning/model.ts";
import { commitOf, createdTime, defaultRelease } from "../src/build/release.ts";
import { nextReleaseKey, publicPem, releaseKey } from "../src/build/release-keys.ts";
import { hash } from "../src/build/step.ts";
import { PLATFORM_TAGS, platformTag } from "../src/paths.ts";
import { keyId } from "../src/trust/runtime/anchor.ts";
import { BundleReader } from "../src/trust/runtime/bundle.ts";
import { libraryName, parseManifest } from "../src/trust/runtime/bundle-manifest.ts";
import { testKey } from "./keys.ts";

const root = mkdtempSync(join(tmpdir(), "svc-build-"));
const cache = join(import.meta.dir, "../.build/test");
const kernelSource = join(root, "ffi/ame_kernel/abi.c");
const source = (prefix: string, version: number) =>
  `__attribute__((visibility("default"))) unsigned ${prefix}_abi_version(void) { return ${version}; }\n`;

beforeAll(() => {
  for (const { folder, versionScript } of LIBRARIES) {
    const prefix = versionScript.slice(0, -4);
    mkdirSync(join(root, "ffi", folder), { recursive: true });
    writeFileSync(join(root, "ffi", folder, "abi.c"), source(prefix, 3));
    writeFileSync(join(root, "ffi", folder, versionScript), `{ global: ${prefix}_*; local: *; };\n`);
  }
  for (const isa of ["avx2", "avx512", "neon"]) {
    writeFileSync(join(root, `ffi/ame_kernel/${isa}.c`), `int path_${isa}(void) { return 1; }\n`);
  }
  mkdirSync(join(root, "src/remote/python/svc"), { recursive: true });
  writeFileSync(join(root, "src/remote/python/svc/__init__.py"), "x = 1\n");
  writeFileSync(join(root, "package.json"), '{ "version": "1.2.3" }');
  // The current key is made by the first build, which a test looks at; the next one need not be made again.
  mkdirSync(join(root, ".keys"), { mode: 0o700 });
  writeFileSync(join(root, ".keys/release_next.pem"), testKey("release-next").privatePem, { mode: 0o600 });
  // zig's own caches are the expensive part of a first link; they depend on the compiler only.
  mkdirSync(join(cache, "zig"), { recursive: true });
  cpSync(join(cache, "zig"), join(root, ".build/zig"), { recursive: true });
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function run(options: Partial<BuildOptions> = {}): Promise<string[]> {
  const lines: string[] = [];
  await build({ root, nativeOnly: true, log: (line) => lines.push(line), ...options });
  return lines;
}
const bundle = () => readFileSync(join(root, "dist", platformTag()!, "runtime.bundle"));

test("a first build compiles, a second starts no compiler, and the bundle is the same bytes", async () => {
  expect((await run()).join("\n")).toMatch(/native .* \d compiled/);
  const first = bundle();
  expect((await run()).join("\n")).toMatch(/native .* nothing changed/);
  expect(bundle()).toEqual(first);
  expect(statSync(join(root, ".keys/release.pem")).mode & 0o777).toBe(0o600);
  const info = JSON.parse(readFileSync(join(root, ".build/build-info.json"), "utf8"));
  expect(info).toMatchObject({ version: "1.2.3", release: 1_002_003, abi: { kernel: 3, runtime: 3 }, authority: null });
});

test.skipIf(process.platform === "darwin")("libraries have no tables for unwinding", async () => {
  await run();
  for (const role of ["kernel", "runtime"] as const) {
    const library = readFileSync(join(root, ".build", platformTag()!, libraryName(role, platformTag()!)), "latin1");
    expect(library).toContain(".text");
    expect(library).not.toContain(".eh_frame");
  }
});

test("a build is named by its commit, marked where files differ, and by the key that signed it", async () => {
  const info = () => JSON.parse(readFileSync(join(root, ".build/build-info.json"), "utf8"));
  await run();
  expect(info()).toMatchObject({ commit: null, releaseKeyId: keyId(info().releasePublicKeys[0]) });
  const outer = mkdtempSync(join(tmpdir(), "svc-build-git-"));
  const inner = join(outer, "archive");
  mkdirSync(inner);
  const git = (...words: string[]) => {
    const identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
    const { success, stdout } = Bun.spawnSync(["git", ...identity, ...words], { cwd: outer });
    if (!success) throw new Error(`git ${words.join(" ")} failed`);
    return stdout.toString().trim();
  };
  try {
    git("init", "-q");
    expect(commitOf(outer)).toBeNull(); // no commit yet
    writeFileSync(join(outer, ".gitignore"), "ignored\n");
    writeFileSync(join(inner, "source.c"), "");
    git("add", "-A");
    git("commit", "-qm", "first");
    const commit = git("rev-parse", "HEAD").slice(0, 12);
    writeFileSync(join(outer, "ignored"), "");
    expect(commitOf(outer)).toBe(commit);
    // A source archive that was unpacked in another project is not that project's commit.
    expect(commitOf(inner)).toBeNull();
    expect(createdTime(inner, {})).toBe("1970-01-01T00:00:00.000Z");
    writeFileSync(join(inner, "new.c"), "");
    expect(commitOf(outer)).toBe(`${commit}-dirty`);
    git("add", "-A");
    git("commit", "-qm", "second");
    writeFileSync(join(inner, "source.c"), "int x;");
    expect(commitOf(outer)).toMatch(/^[0-9a-f]{12}-dirty$/);
  } finally {
    rmSync(outer, { recursive: true, force: true });
  }
});

test("the bundle is signed by the current key of build-info, names that key and every file", async () => {
  await run();
  const reader = new BundleReader(bundle());
  const head = await reader.head();
  const info = JSON.parse(readFileSync(join(root, ".build/build-info.json"), "utf8"));
  const [current, next] = info.releasePublicKeys;
  expect(next).toBe(testKey("release-next").publicPem);
  expect(verify("sha256", head.manifest, createPublicKey(current), head.signature)).toBe(true);
  const manifest = parseManifest(head.manifest);
  expect(manifest).toMatchObject({ key_id: keyId(current), ends: [], created: "1970-01-01T00:00:00.000Z" });
  expect(manifest.expires).toBe("1972-01-01T00:00:00.000Z");
  expect(manifest.artifacts.map(({ role }) => role)).toEqual(["kernel", "runtime", "pysite", "pysite"]);
  expect(manifest.artifacts.filter(({ size_bytes }) => size_bytes === 0).map(({ name }) => name)).toEqual([
    "pysite/svc/__pycache__",
  ]);
  const names: string[] = [];
  for await (const { artifact } of reader.artifacts(manifest)) names.push(artifact.name);
  expect(names).toContain("pysite/svc/__init__.py");
});

test("the sentence encoder's model is in the bundle if it is the one that this source makes", async () => {
  const weights = join(root, ".build/meaning.bin");
  const made = modelPath(join(import.meta.dir, "../.build"));
  expect((await run()).join("\n")).toMatch(/^bundle .*, no sentence encoder$/m);
  writeFileSync(weights, "bytes of another version");
  try {
    expect((await run()).join("\n")).toMatch(/^bundle .*, no sentence encoder$/m);
    if (!existsSync(made)) return;
    cpSync(made, weights);
    expect((await run()).join("\n")).toMatch(/^bundle .*, release \d+$/m);
    const reader = new BundleReader(bundle());
    const manifest = parseManifest((await reader.head()).manifest);
    const files: [string, string][] = [];
    for await (const { artifact, bytes } of reader.artifacts(manifest))
      if (artifact.role === "model") files.push([artifact.name, hash(bytes)]);
    expect(files).toEqual([["sentence-encoder.bin", hash(readFileSync(made))]]);
  } finally {
    rmSync(weights);
  }
});

test("a release can end a key and say until when it may be offered", async () => {
  const ended = keyId(testKey("other-release").publicPem);
  const lines = await run({ endKeys: [ended], expires: "2030-12-31" });
  const manifest = parseManifest((await new BundleReader(bundle()).head()).manifest);
  expect(manifest).toMatchObject({ ends: [ended], expires: "2030-12-31T00:00:00.000Z" });
  const next = keyId(testKey("release-next").publicPem);
  expect(lines[0]).toMatch(new RegExp(`^release keys .* ${manifest.key_id}, next ${next}$`));
  await expect(run({ endKeys: [manifest.key_id] })).rejects.toThrow(
    /--end-key .* is not the id of another release key/,
  );
  await expect(run({ endKeys: ["../x"] })).rejects.toThrow(/--end-key/);
  for (const expires of ["tomorrow", "2030", "2030-13-01", "2030-12-31T00:00:00"])
    await expect(run({ expires })).rejects.toThrow(/--expires must be a date/);
});

test("keys that a build does not sign with, or name as the next one", () => {
  const [key, next] = [testKey("release"), testKey("release-next")];
  const given = { SVC_RELEASE_KEY: key.privatePem.replaceAll("\n", "\\n") };
  expect(publicPem(releaseKey(root, { env: given }))).toBe(key.publicPem);
  const both = { ...given, SVC_NEXT_RELEASE_PUBKEY: next.publicPem };
  expect(publicPem(nextReleaseKey(root, key.privateKey, { env: both }))).toBe(next.publicPem);
  const file = join(root, "weak.pem");
  writeFileSync(file, testKey("weak", 2048).privatePem, { mode: 0o600 });
  expect(() => releaseKey(root, { env: { SVC_RELEASE_KEY: "rubbish" } })).toThrow(/not a private key/);
  expect(() => releaseKey(root, { env: { SVC_RELEASE_KEY_FILE: join(root, "none") } })).toThrow(/does not exist/);
  expect(() => releaseKey(root, { env: { SVC_RELEASE_KEY_FILE: file } })).toThrow(/at least 3072 bits/);
  const refused: [Record<string, string>, RegExp][] = [
    [given, /give the next one's public half in SVC_NEXT_RELEASE_PUBKEY/],
    [{ SVC_NEXT_RELEASE_PUBKEY: key.publicPem }, /is the current one/],
    [{ SVC_NEXT_RELEASE_PUBKEY: next.privatePem }, /is a private key/],
    [{ SVC_NEXT_RELEASE_PUBKEY: testKey("weak", 2048).publicPem }, /at least 3072 bits/],
    [{ SVC_NEXT_RELEASE_PUBKEY: "rubbish" }, /not a public key/],
    [{ SVC_NEXT_RELEASE_PUBKEY_FILE: join(root, "none") }, /does not exist/],
  ];
  for (const [env, message] of refused) expect(() => nextReleaseKey(root, key.privateKey, { env })).toThrow(message);
});

test("--release-key signs, before any key of the environment, and asks for the next one's public half", async () => {
  const [key, next] = [testKey("roll-1"), testKey("release-next")];
  const file = join(root, "given.pem");
  writeFileSync(file, key.privatePem, { mode: 0o600 });
  const names = ["SVC_RELEASE_KEY", "SVC_NEXT_RELEASE_PUBKEY"] as const;
  const saved = names.map((name) => process.env[name]);
  process.env.SVC_RELEASE_KEY = "rubbish";
  try {
    await expect(run({ releaseKey: file })).rejects.toThrow(/give the next one's public half/);
    process.env.SVC_NEXT_RELEASE_PUBKEY = next.publicPem;
    const lines = await run({ releaseKey: file });
    const [one, two] = [key, next].map(({ publicPem }) => keyId(publicPem));
    expect(lines[0]).toMatch(new RegExp(`^release keys .* ${one}, next ${two}$`));
    const { manifest, signature } = await new BundleReader(bundle()).head();
    expect(parseManifest(manifest).key_id).toBe(one!);
    expect(verify("sha256", manifest, createPublicKey(key.publicPem), signature)).toBe(true);

    await expect(run({ releaseKey: join(root, "none") })).rejects.toThrow("--release-key names a file that does not");
    writeFileSync(file, testKey("weak", 2048).privatePem);
    await expect(run({ releaseKey: file })).rejects.toThrow(/the release key must be RSA with at least 3072 bits/);
    writeFileSync(file, key.publicPem);
    await expect(run({ releaseKey: file })).rejects.toThrow(/the release key is not a private key in PEM/);
    chmodSync(file, 0o644);
    await expect(run({ releaseKey: file })).rejects.toThrow(/others can reach the secret file 'given\.pem'/);
  } finally {
    // One by one: what fetch reads is not an object that takes the place of process.env.
    for (const [i, name] of names.entries()) {
      if (saved[i] === undefined) delete process.env[name];
      else process.env[name] = saved[i];
    }
  }
});

test("the command line takes --release-key FILE", async () => {
  const words = [process.execPath, join(import.meta.dir, "../build.ts"), "--release-key", "none.pem"];
  const child = Bun.spawn(words, { cwd: root, stdout: "ignore", stderr: "pipe" });
  expect(await new Response(child.stderr).text()).toBe("--release-key names a file that does not exist\n");
  expect(await child.exited).toBe(1);
});

test("a platform that does not exist is named, with those that do", async () => {
  const words = [process.execPath, join(import.meta.dir, "../build.ts"), "--platform", "windows"];
  const child = Bun.spawn(words, { cwd: root, stdout: "ignore", stderr: "pipe" });
  const sentence = `--platform must be one of ${PLATFORM_TAGS.join(", ")}, got 'windows'\n`;
  expect(await new Response(child.stderr).text()).toBe(sentence);
});

test("a header that changes recompiles; a source that goes back does not", async () => {
  await run();
  writeFileSync(join(root, "ffi/ty_runtime/x.h"), "");
  expect((await run()).join("\n")).toMatch(/[2-9] compiled/);
  rmSync(join(root, "ffi/ty_runtime/x.h"));
  expect((await run()).join("\n")).toMatch(/nothing changed/);
});

test("a failing compiler's output is quoted", async () => {
  const good = readFileSync(kernelSource);
  writeFileSync(kernelSource, "int broken( {\n");
  await expect(run()).rejects.toThrow(/ffi\/ame_kernel\/abi\.c:1:\d+: error:/);
  writeFileSync(kernelSource, `int nowhere(void);\n${source("ame", 3).replace("return 3", "return nowhere()")}`);
  await expect(run()).rejects.toThrow(/undefined symbol: nowhere/);
  writeFileSync(kernelSource, good);
  await run();
});

test("wrong options are refused before anything is built", async () => {
  await expect(run({ authority: "https://example.com" })).rejects.toThrow(/belong together/);
  const key = join(root, "k.pem");
  writeFileSync(key, "rubbish");
  await expect(run({ authority: "http://example.com", licensePubkey: key })).rejects.toThrow(/https/);
  await expect(run({ authority: "https://example.com", licensePubkey: key })).rejects.toThrow(
    /not a public key in PEM/,
  );
  writeFileSync(key, testKey("license-weak", 2048).publicPem);
  await expect(run({ authority: "https://example.com", licensePubkey: key })).rejects.toThrow(
    /2048 bits, at least 3072/,
  );
  await expect(run({ release: 0 })).rejects.toThrow(/--release/);
});

test("numbers that must not depend on the clock", () => {
  expect(defaultRelease("1.2.3")).toBe(1_002_003);
  expect(defaultRelease("1.2.0-rc.1")).toBe(1_001_901);
  expect(createdTime(root, { SOURCE_DATE_EPOCH: "86400" })).toBe("1970-01-02T00:00:00.000Z");
  expect(createdTime(root, {})).toBe("1970-01-01T00:00:00.000Z");
  expect(PLATFORM_TAGS).toHaveLength(3);
});
