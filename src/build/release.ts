/**
 * Makes a signed bundle of libraries. The RELEASE key signs the exact bytes of the manifest; its holder decides what
 * every install will load. A checkout makes a development key once (`.keys/release.pem`, 0600, never committed); a real
 * release passes its key in SVC_RELEASE_KEY or SVC_RELEASE_KEY_FILE.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { makeDirectory, readSecret, writeDurable } from "../durable.ts";
import type { PlatformTag } from "../paths.ts";
import { type BundleEntry, MANIFEST_NAME, packBundle, SIGNATURE_NAME } from "../runtime/bundle.ts";
import {
  type ArtifactRole,
  libraryName,
  MANIFEST_FORMAT,
  type RuntimeManifest,
  sha256,
} from "../runtime/bundle-manifest.ts";
import { BuildError } from "./compile.ts";

const KEY_BITS = 3072;

/**
 * The RELEASE key: SVC_RELEASE_KEY, SVC_RELEASE_KEY_FILE, or the checkout's own, made on first use.
 * @throws BuildError where it is no RSA key; PermissionError where others can read the file
 */
export function releaseKey(root: string, env: Record<string, string | undefined> = process.env): KeyObject {
  const pem =
    env.SVC_RELEASE_KEY?.replaceAll("\\n", "\n") || readKeyFile(env.SVC_RELEASE_KEY_FILE, root) || ownKey(root);
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    throw new BuildError("the release key is not a private key in PEM");
  }
  if (key.asymmetricKeyType !== "rsa" || (key.asymmetricKeyDetails?.modulusLength ?? 0) < 2048) {
    throw new BuildError("the release key must be RSA with at least 2048 bits");
  }
  return key;
}

/** The public half for the executable, SPKI in PEM. */
export function publicPem(key: KeyObject): string {
  return createPublicKey(key).export({ type: "spki", format: "pem" }).toString();
}

export interface BundleOptions {
  tag: PlatformTag;
  version: string;
  release: number;
  /** UTC, ISO 8601; see `createdTime`. */
  created: string;
  /** Paths of the two libraries. */
  kernel: string;
  runtime: string;
  /** Folder of the Python client; skipped where it does not exist. */
  pysite?: string;
  key: KeyObject;
}

/** A signed bundle. The same inputs give the same bytes: PKCS#1 v1.5 signatures are deterministic. */
export function makeBundle(options: BundleOptions): Uint8Array {
  const { tag, version, release, created, key } = options;
  const files: (BundleEntry & { role: ArtifactRole })[] = [
    { name: libraryName("kernel", tag), bytes: readFileSync(options.kernel), role: "kernel" },
    { name: libraryName("runtime", tag), bytes: readFileSync(options.runtime), role: "runtime" },
    ...pysiteFiles(options.pysite),
  ];
  const artifacts = files.map(({ name, bytes, role }) => ({
    name,
    sha256: sha256(bytes),
    size_bytes: bytes.length,
    role,
  }));
  const manifest: RuntimeManifest = {
    format_version: MANIFEST_FORMAT,
    version,
    release,
    platform: tag,
    created,
    artifacts,
  };
  const bytes = new TextEncoder().encode(`${JSON.stringify(manifest, null, 2)}\n`);
  return packBundle([
    { name: MANIFEST_NAME, bytes },
    { name: SIGNATURE_NAME, bytes: new Uint8Array(sign("sha256", bytes, key)) },
    ...files,
  ]);
}

/** `major*1e6 + minor*1e3 + patch`: grows with every version. */
export function defaultRelease(version: string): number {
  const [major, minor, patch] = version.split(/[.+-]/).map(Number);
  return major! * 1_000_000 + minor! * 1_000 + patch!;
}

/** The bundle's creation time: SOURCE_DATE_EPOCH, else the time of the commit, else a constant; never the clock. */
export function createdTime(root: string, env: Record<string, string | undefined> = process.env): string {
  const seconds = Number(env.SOURCE_DATE_EPOCH || commitSeconds(root) || 0);
  if (!Number.isSafeInteger(seconds) || seconds < 0)
    throw new BuildError("SOURCE_DATE_EPOCH is not a number of seconds");
  return new Date(seconds * 1000).toISOString();
}

function commitSeconds(root: string): string {
  const git = Bun.spawnSync(["git", "log", "-1", "--format=%ct"], { cwd: root, stderr: "ignore" });
  return git.success ? git.stdout.toString().trim() : "";
}

function readKeyFile(path: string | undefined, root: string): string | undefined {
  const bytes = path ? readSecret(path, 64 * 1024, root) : undefined;
  if (path && !bytes) throw new BuildError("SVC_RELEASE_KEY_FILE names a file that does not exist");
  return bytes && new TextDecoder().decode(bytes);
}

function ownKey(root: string): string {
  const path = join(root, ".keys", "release.pem");
  const existing = readSecret(path, 64 * 1024, root);
  if (existing) return new TextDecoder().decode(existing);
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: KEY_BITS });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  makeDirectory(join(root, ".keys"));
  writeDurable(path, pem);
  return pem;
}

function pysiteFiles(folder: string | undefined): (BundleEntry & { role: ArtifactRole })[] {
  if (!folder || !existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(py|pyi|typed)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => ({ name: `pysite/${relative(folder, path)}`, bytes: readFileSync(path), role: "pysite" as const }));
}
