/** A tiny signed runtime for tests of the trust path: two libraries with one function each, built once and cached. */
import { sign } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildNative } from "../../../src/build/compile.ts";
import { type PlatformTag, platformTag, runtimePaths } from "../../../src/paths.ts";
import { type License, verifyLicense } from "../../../src/trust/account/license/license.ts";
import { keyId } from "../../../src/trust/runtime/anchor.ts";
import { type BundleEntry, MANIFEST_NAME, packBundle, SIGNATURE_NAME } from "../../../src/trust/runtime/bundle.ts";
import { libraryName, MANIFEST_FORMAT, MODEL_NAME, sha256 } from "../../../src/trust/runtime/bundle-manifest.ts";
import { type InstallOptions, installRuntime } from "../../../src/trust/runtime/install.ts";
import { type VerifyOptions, type VerifyReport, verifyInstalled } from "../../../src/trust/runtime/verify.ts";
import { type TestKey, testKey } from "../../keys.ts";
import { goodClaims, LICENSE_PUBLIC_PEM, signed } from "../account/helpers.ts";

export const tag: PlatformTag = platformTag()!;
export const kernelName: string = libraryName("kernel", tag);
export const runtimeName: string = libraryName("runtime", tag);
export const keys: TestKey = testKey("release");
export const otherKeys: TestKey = testKey("other-release");
export const { publicPem } = keys;
/** The environment of a svc that trusts the fixture's key. */
export const env = { SVC_RELEASE_PUBKEY: publicPem };
export const abi = { kernel: 8, runtime: 9 };

const DEVICE = `ed25519:${"A".repeat(43)}`;
/** A good licence, for a device that has no home here. */
export const license: License = await verifyLicense(await signed(goodClaims(DEVICE)), {
  publicKeyPem: LICENSE_PUBLIC_PEM,
  deviceThumbprint: DEVICE,
});

/** The bytes of both libraries; they answer with the ABI versions above. */
export async function libraries(kernelAbi = abi.kernel): Promise<{ kernel: Uint8Array; runtime: Uint8Array }> {
  const root = mkdtempSync(join(tmpdir(), "svc-native-src-"));
  try {
    for (const [folder, prefix, version] of [
      ["ame_kernel", "ame", kernelAbi],
      ["ty_runtime", "ty", abi.runtime],
    ] as const) {
      const path = join(root, "ffi", folder);
      mkdirSync(path, { recursive: true });
      const attribute = '__attribute__((visibility("default")))';
      writeFileSync(join(path, "abi.c"), `${attribute} unsigned ${prefix}_abi_version(void) { return ${version}; }\n`);
      writeFileSync(join(path, `${prefix}.map`), `{ global: ${prefix}_*; local: *; };\n`);
    }
    const built = await buildNative({ root, cache: join(import.meta.dir, "../../../.build/test"), tag });
    return { kernel: readFileSync(built.kernel), runtime: readFileSync(built.runtime) };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Those of the present ABI. */
export const libs: Libraries = await libraries();

/** How a bundle differs from a good one. */
export interface BundleChanges {
  release?: number;
  version?: string;
  /** Replaces fields of the manifest before it is signed. */
  manifest?: Record<string, unknown>;
  /** Changes its text before it is signed. */
  text?: (json: string) => string;
  /** Signs with the wrong key. */
  forged?: boolean;
  /** The key that signs and that the manifest names; default: `keys`. */
  by?: TestKey;
  /** The sentence encoder's weights; absent: a release without. */
  model?: Uint8Array | undefined;
  /** Further files, named by the manifest. */
  extra?: BundleEntry[];
  /** Changes the entries after signing. */
  tamper?: (entries: BundleEntry[]) => BundleEntry[];
}

type Libraries = { kernel: Uint8Array; runtime: Uint8Array };

export function makeBundle(libs: Libraries, changes: BundleChanges = {}): Uint8Array {
  const { bytes, signature, files } = signedManifest(libs, changes);
  const entries = [{ name: MANIFEST_NAME, bytes }, { name: SIGNATURE_NAME, bytes: signature }, ...files];
  return packBundle(changes.tamper?.(entries) ?? entries);
}

/** A manifest of the libraries, its signature, and the files that it names. */
export function signedManifest(libs: Libraries, changes: BundleChanges = {}) {
  const files = [
    { name: kernelName, bytes: libs.kernel, role: "kernel" },
    { name: runtimeName, bytes: libs.runtime, role: "runtime" },
    ...(changes.model ? [{ name: MODEL_NAME, bytes: changes.model, role: "model" }] : []),
    ...(changes.extra ?? []).map((entry) => ({ ...entry, role: "pysite" })),
  ];
  const by = changes.by ?? keys;
  const manifest = {
    format_version: MANIFEST_FORMAT,
    version: changes.version ?? "1.0.0",
    release: changes.release ?? 5,
    platform: tag,
    created: "2026-01-01T00:00:00Z",
    expires: "2999-01-01T00:00:00Z",
    key_id: keyId(by.publicPem),
    artifacts: files.map(({ name, bytes, role }) => ({ name, sha256: sha256(bytes), size_bytes: bytes.length, role })),
    ...changes.manifest,
  };
  const text = JSON.stringify(manifest);
  const bytes = new TextEncoder().encode(changes.text?.(text) ?? text);
  const signature = sign("sha256", bytes, (changes.forged ? otherKeys : by).privateKey);
  return { bytes, signature, files };
}

export function install(home: string, bundle: Uint8Array, more: Partial<InstallOptions> = {}) {
  return installRuntime({ home, env, bundle, license, abi, ...more });
}

/** The report about a home whose login has a good licence. */
export function verify(home: string, more: Partial<VerifyOptions> = {}): Promise<VerifyReport> {
  return verifyInstalled({ home, env, checkLicense: async () => license, abi, ...more });
}

/** The names of the checks that failed. */
export function failed(report: VerifyReport): string[] {
  return report.checks.filter(({ ok }) => !ok).map(({ name }) => name);
}

export function pathsOf(home: string) {
  return runtimePaths(home, tag);
}

/** A copy with one bit changed. */
export function flipped(bytes: Uint8Array, at = bytes.length >> 1): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[at]! ^= 1;
  return copy;
}
