/** The files of a release of this build. Its executable is cut short: to compress all of it takes minutes. */
import { beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import Ajv from "ajv";
import addFormats from "ajv-formats";
import { packagesIn } from "../../../src/build/executable.ts";
import { tooLarge } from "../../../src/build/release/files.ts";
import { INSTALLER } from "../../../src/build/release/installer.ts";
import { makeRelease, NOTICES_TEXT, PUBLIC_KEY, SBOM, SUMS } from "../../../src/build/release/make.ts";
import { buildInfo } from "../../../src/build-info.ts";
import { PLATFORM_TAGS, platformTag } from "../../../src/paths.ts";
import {
  filesFor,
  type ReleaseManifest,
  type SignedRelease,
  verifyRelease,
} from "../../../src/trust/release/manifest.ts";
import { keyId, releaseAnchors } from "../../../src/trust/runtime/anchor.ts";
import { BundleReader } from "../../../src/trust/runtime/bundle.ts";
import { sha256 } from "../../../src/trust/runtime/bundle-manifest.ts";
import { ROOT, SVC } from "../../e2e/home.ts";
import { scratchDir } from "../../fixture.ts";
import { testKey } from "../../keys.ts";

const tag = platformTag()!;
const key = testKey("release");
const info = buildInfo();
const trusted = releaseAnchors({ SVC_RELEASE_PUBKEY: key.publicPem });
const executable = join(scratchDir(), "executable");
writeFileSync(executable, readFileSync(SVC).subarray(0, 1 << 20));
const folder = join(scratchDir(), "release");
const read = (name: string) => readFileSync(join(folder, name));

function make(to: string): Promise<ReleaseManifest> {
  return makeRelease({
    root: ROOT,
    folder: to,
    executables: { [tag]: executable },
    packages: packagesIn(join(ROOT, ".build"), SVC),
    version: info.version,
    release: info.release,
    created: "2026-01-02T03:04:05.000Z",
    floor: "0.0.0",
    ends: [],
    key: key.privateKey,
  });
}

const names = (of: string) => readdirSync(of).sort();
const hashes = (of: string) => names(of).map((name) => [name, sha256(readFileSync(join(of, name)))]);

/** A bill of materials, as far as the tests look at it. */
interface Bill {
  metadata: { component: Part };
  components: Part[];
  dependencies: { ref: string; dependsOn: string[] }[];
}
interface Part {
  "bom-ref": string;
  name: string;
  hashes?: { alg: string; content: string }[];
  components?: Part[];
}

let manifest: ReleaseManifest;
beforeAll(async () => {
  manifest = await make(folder);
});

test("two runs give the same files, byte for byte, and replace what was there", async () => {
  const second = join(scratchDir(), "release");
  mkdirSync(second);
  writeFileSync(join(second, "of-an-earlier-run"), "");
  await make(second);
  expect(hashes(second)).toEqual(hashes(folder));
  expect(readdirSync(join(second, ".."))).toEqual(["release"]);
  expect(names(folder)).toEqual([
    SUMS,
    INSTALLER,
    "manifest.json",
    "manifest.sig",
    NOTICES_TEXT,
    PUBLIC_KEY,
    SBOM,
    "server.json",
    `svc-${tag}`,
    `svc-${tag}.gz`,
    `svc-${tag}.mcpb`,
    `svc-${tag}.zst`,
    `svc-memory-client-${info.version}.tgz`,
    `svc-memory-sdk-${info.version}.tgz`,
    `svc-memory-svc-${info.version}.tgz`,
    `svc-memory-svc-${process.platform}-${process.arch}-${info.version}.tgz`,
    "svc.rb",
    `svc_memory-${info.version}-py3-none-any.whl`,
    `svc_memory-${info.version}.tar.gz`,
  ]);
});

test("the executable and both compressed forms are the same program, and may be executed", () => {
  const { executable, gzip, zstd } = manifest.platforms[tag]!;
  expect(statSync(join(folder, executable.name)).mode & 0o777).toBe(0o755);
  for (const bytes of [read(executable.name), gunzipSync(read(gzip.name)), Bun.zstdDecompressSync(read(zstd.name))])
    expect(sha256(bytes)).toBe(executable.sha256);
  // RFC 1952: no flags, so that no name follows, and no time.
  expect([...read(gzip.name).subarray(3, 8)]).toEqual([0, 0, 0, 0, 0]);
});

test("SHA256SUMS names every other file and agrees with the programs that check it", () => {
  const named = [...read(SUMS).toString().matchAll(/\S+$/gm)].map(([name]) => name);
  expect(named).toEqual(names(folder).filter((name) => name !== SUMS));
  const program = Bun.which("sha256sum") ? ["sha256sum"] : ["shasum", "-a", "256"];
  const { success, stdout } = Bun.spawnSync([...program, "-c", SUMS], { cwd: folder });
  expect(stdout.toString()).not.toContain("FAILED");
  expect(success).toBe(true);
});

test("the entry in the registry names the bundle with its hash", () => {
  const [, bundle, ...more] = JSON.parse(read("server.json").toString()).packages;
  expect(bundle.identifier).toEndWith(`/download/v${info.version}/svc-${tag}.mcpb`);
  expect([bundle.fileSha256, more]).toEqual([sha256(read(`svc-${tag}.mcpb`)), []]);
});

test("a file over its limit is named with both sizes", () => {
  const large = scratchDir();
  for (const [name, size] of Object.entries({ "svc-a_b": 126_000_001, "svc-a_b.gz": 64e6, "svc-a_b.mcpb": 65e6 })) {
    writeFileSync(join(large, name), "");
    truncateSync(join(large, name), size);
  }
  expect(tooLarge(large).sort()).toEqual([
    "svc-a_b has 126.0 MB, over the limit of 126 MB",
    "svc-a_b.mcpb has 65.0 MB, over the limit of 64 MB",
  ]);
});

describe("the signed manifest", () => {
  let release: SignedRelease;
  const [bytes, signature] = [() => read("manifest.json"), () => read("manifest.sig")];

  test("verifies under its key, and names this build's files", async () => {
    release = await verifyRelease(bytes(), signature(), trusted);
    expect(release.manifest).toMatchObject({ version: info.version, release: info.release, ends: [], floor: "0.0.0" });
    for (const { name, sha256: hash, size_bytes } of Object.values(filesFor(release, tag)))
      expect([name, sha256(read(name)), read(name).length]).toEqual([name, hash, size_bytes]);
  });

  test.skipIf(!Bun.which("openssl") || !Bun.which("sha256sum"))(
    "is verified by the commands of docs/install.md, which print the key's id (needs openssl and sha256sum)",
    () => {
      const page = readFileSync(join(ROOT, "docs/install.md"), "utf8");
      const commands = page.split("\n").filter((line) => line.startsWith("openssl "));
      const { stdout } = Bun.spawnSync(["sh", "-ec", commands.join("\n")], { cwd: folder });
      expect(stdout.toString()).toBe(`${keyId(key.publicPem)}\nVerified OK\n`);
    },
  );

  test("has no executable for a platform that the release was not made for", () => {
    const other = PLATFORM_TAGS.find((one) => one !== tag)!;
    expect(() => filesFor(release, other)).toThrow(`has no executable for ${other}, only for ${tag}`);
  });

  test("is refused if it is truncated, changed, unsigned or signed by another key", async () => {
    const changed = Buffer.from(bytes().toString().replace(manifest.platforms[tag]!.gzip.sha256, "0".repeat(64)));
    for (const [data, sig] of [
      [bytes().subarray(0, -20), signature()],
      [changed, signature()],
      [bytes(), signature().subarray(1)],
      [bytes(), new Uint8Array()],
    ] as const)
      await expect(verifyRelease(data, sig, trusted)).rejects.toThrow(/manifest\.sig does not fit manifest\.json/);
    const other = releaseAnchors({ SVC_RELEASE_PUBKEY: testKey("other-release").publicPem });
    await expect(verifyRelease(bytes(), signature(), other)).rejects.toThrow(keyId(key.publicPem));
  });

  test("is not that of the native runtime in the executable, which the same build signed", async () => {
    const reader = new BundleReader(readFileSync(join(ROOT, "dist", tag, "runtime.bundle")));
    const head = await reader.head();
    reader.close();
    const own = releaseAnchors({ SVC_RELEASE_PUBKEY: info.releasePublicKeys[0] });
    await expect(verifyRelease(head.manifest, head.signature, own)).rejects.toThrow(/its purpose is nothing/);
  });
});

describe("the bill of materials", () => {
  const SCHEMAS = join(ROOT, "node_modules/@cyclonedx/cyclonedx-library/res/schema");
  const schema = (name: string) => JSON.parse(readFileSync(join(SCHEMAS, `${name}.SNAPSHOT.schema.json`), "utf8"));
  const sbom = (): Bill => JSON.parse(read(SBOM).toString());

  test("is valid by the schema of CycloneDX 1.6", () => {
    const ajv = new Ajv({ strict: false, allErrors: true });
    addFormats(ajv);
    ajv.addFormat("idn-email", true).addFormat("iri-reference", true);
    ajv.addSchema(schema("spdx"), "http://cyclonedx.org/schema/spdx.SNAPSHOT.schema.json");
    ajv.addSchema(schema("jsf-0.82"), "http://cyclonedx.org/schema/jsf-0.82.SNAPSHOT.schema.json");
    const validate = ajv.compile(schema("bom-1.6"));
    expect([validate(sbom()), validate.errors]).toEqual([true, null]);
    expect(validate({ ...sbom(), serialNumber: "1" })).toBe(false);
    expect(sbom()).toMatchObject({ specVersion: "1.6", metadata: { timestamp: "2026-01-02T03:04:05.000Z" } });
  });

  test("has the executable, Bun with its parts, the libraries in C, the model and the packages of the notices", () => {
    const { components, metadata, dependencies } = sbom();
    const byName = new Map(components.map((one) => [one.name, one]));
    expect(metadata.component).toMatchObject({ name: "svc", version: info.version });
    const { executable } = manifest.platforms[tag]!;
    expect(byName.get(executable.name)?.hashes).toEqual([{ alg: "SHA-256", content: executable.sha256 }]);
    expect(byName.get("bun")).toMatchObject({ version: Bun.version, type: "platform" });
    expect(byName.get("bun")?.components?.map(({ name }) => name)).toContain("BoringSSL");
    for (const name of ["ame_kernel", "ty_runtime"])
      expect(components.filter((one) => one.name.includes(name) && one.hashes)).toHaveLength(1);
    expect(byName.get("sentence-encoder.bin")).toMatchObject({ type: "machine-learning-model" });
    const named = [
      ...read(NOTICES_TEXT)
        .toString()
        .matchAll(/^npm: (\S+) (\S+) \((.+)\)$/gm),
    ];
    expect(named.length).toBeGreaterThan(5);
    for (const [, name, version, licence] of named)
      expect(byName.get(name!)).toMatchObject({ version, licenses: [{ license: { id: licence } }] });
    const refs = components.map((one) => one["bom-ref"]);
    expect(new Set(refs).size).toBe(refs.length);
    expect(dependencies.find(({ ref }) => ref === "svc")?.dependsOn.sort()).toEqual(refs.sort());
    expect(read(SBOM).toString()).not.toMatch(/\/(home|root|tmp|Users)\//);
  });
});
