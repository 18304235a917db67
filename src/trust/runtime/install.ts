/**
 * Installs a signed runtime. The order is the protection: licence before anything, size before reading, signature
 * before parsing, release, hash and ABI before writing. Everything is staged beside its destination, made durable, read back and
 * compared, and exchanged with the old install in one step; after any failure the old install stands.
 */
import { basename, dirname, join } from "node:path";
import { buildInfo } from "../../build-info.ts";
import { makeDirectory, readCapped, syncDirectory, withLock, writeNew } from "../../durable.ts";
import { OSError, PermissionError, RuntimeError, ValueError } from "../../errors.ts";
import { type Env, type PlatformTag, releasesPath, runtimePaths } from "../../paths.ts";
import type { License } from "../account/license/license.ts";
import { permissionFaults } from "../account/permissions.ts";
import { type ReleaseAnchors, releaseAnchors } from "./anchor.ts";
import { BundleReader, MANIFEST_NAME, SIGNATURE_NAME } from "./bundle.ts";
import { isLibrary, type RuntimeManifest, sha256 } from "./bundle-manifest.ts";
import { afterInstall, allowance, loadRefusal, recordForInstall, requireAcceptable } from "./floor.ts";
import { type AbiVersions, requireAbi } from "./load.ts";
import { isKept, keepReleases, type Release } from "./releases.ts";
import { readSigned, requirePlatform, type SignedManifest, type VerifiedArtifact, verifyManifest } from "./signed.ts";
import { discard, promote, STAGING_PREFIX, tidy } from "./staging.ts";

export interface InstallOptions {
  home: string;
  env: Env;
  /** The tar.gz, untrusted. */
  bundle: Uint8Array;
  /** A verified licence, of which a copy is stored beside the libraries, mode 0600. */
  license: License;
  /** Whether a bundle of an older release may replace a newer one. */
  allowDowngrade?: boolean;
  /** Keeps a newer install, with `declined` in the result, instead of a ValueError. */
  keepNewer?: boolean;
  /** The bundle's release, where known without opening it: a declined bundle need not have a valid signature. */
  offered?: Release;
  /** The version that the bundle must have. */
  version?: string;
  /** Whether a packages server gave it, which must not offer it once it has expired. */
  fromServer?: boolean;
  /** Where the bundle came from, for installed.json: "embedded", "file", an origin. */
  provenance?: string;
  /** Default: those of this build. */
  abi?: AbiVersions;
}

/** The install after the call. */
export interface InstallResult extends Release {
  platform: PlatformTag;
  /** The previous install, where it verified. */
  replaced: Release | null;
  /** The bundle that was not installed because the newer install was kept. */
  declined?: Release;
  anchor: "built-in" | "SVC_RELEASE_PUBKEY" | "SVC_RELEASE_PUBKEY_FILE";
}

/** The contents of installed.json, for information only. */
export interface InstalledRecord {
  version: string;
  release: number;
  provenance: { source: string; bundle_sha256: string; release_key: InstallResult["anchor"] };
  /** UTC, ISO 8601. */
  installed_at: string;
}

/**
 * Installs a bundle for this machine.
 *
 * @throws RuntimeError where the bundle or its signature cannot be used, or a server offers an expired one; ValueError
 *   where it is of another version, or older than what was installed here or than this svc; PermissionError where others
 *   can write to the install's folder; OSError where the disk fails. The old install stands in every case but one: where
 *   the disk fails after the exchange, at the record, the new one does, and the next load records it.
 */
export async function installRuntime(options: InstallOptions): Promise<InstallResult> {
  const { home, env, keepNewer = false, offered } = options;
  const tag = requirePlatform();
  const anchors = releaseAnchors(env);
  const { dir } = runtimePaths(home, tag);
  const before = await installed(dir, tag, anchors);
  if (keepNewer && offered && isOlder(offered, before) && (await stays(home, dir, before, anchors)))
    return kept(before, offered);
  const reader = new BundleReader(options.bundle);
  try {
    const head = await reader.head();
    const signed = await verifyManifest(head.manifest, head.signature, anchors, before);
    const { manifest } = signed;
    refuseMisfit(manifest, tag, options);
    makeDirectory(dirname(dir));
    const fault = permissionFaults(home, [dirname(dir), releasesPath(home)])[0];
    if (fault) throw new PermissionError(`the native runtime is not installed: ${fault}`);
    return await withLock(join(dirname(dir), ".lock"), async () => {
      tidy(dir);
      // Read again: another process may have installed before the lock was acquired.
      const old = await installed(dir, tag, anchors, before);
      const record = recordForInstall(home, old, anchors);
      // Also where the bundle is refused: a damaged record is repaired by any install that comes this far.
      keepReleases(home, record);
      if (keepNewer && isOlder(manifest, old) && !loadRefusal(old, record)) return kept(old, manifest);
      const below = requireAcceptable(signed, old, record, options.allowDowngrade ?? false);
      const staging = join(dirname(dir), `${STAGING_PREFIX}${crypto.randomUUID()}`);
      try {
        await stage(staging, reader, signed, options);
        // Before it is in its place, where a load would refuse it.
        if (below) keepReleases(home, { ...record, allowed: allowance(signed) });
        promote(staging, dir);
      } finally {
        discard(staging);
      }
      keepReleases(home, afterInstall(record, signed, below));
      return { ...result(signed), replaced: old ? releaseOf(old.manifest) : null };
    });
  } finally {
    reader.close();
  }
}

/** Writes an install into a new folder. Of the bundle's files only verified bytes reach the disk. */
async function stage(
  staging: string,
  reader: BundleReader,
  { manifest, bytes, signature, anchors }: SignedManifest,
  options: InstallOptions,
): Promise<void> {
  makeDirectory(staging);
  const folders = new Set([staging]);
  writeCompared(join(staging, MANIFEST_NAME), bytes);
  writeCompared(join(staging, SIGNATURE_NAME), signature);
  for await (const verified of reader.artifacts(manifest)) {
    refuseOtherAbi(verified, options.abi ?? buildInfo().abi);
    const path = join(staging, verified.artifact.name);
    makeDirectory(dirname(path));
    folders.add(dirname(path));
    writeCompared(path, verified.bytes);
  }
  const encoder = new TextEncoder();
  writeNew(join(staging, "license.jwt"), encoder.encode(options.license.jwt), 0o600);
  const record: InstalledRecord = {
    ...releaseOf(manifest),
    provenance: {
      source: options.provenance ?? "bundle",
      bundle_sha256: sha256(options.bundle),
      release_key: anchors.override ?? "built-in",
    },
    installed_at: new Date().toISOString(),
  };
  writeNew(join(staging, "installed.json"), encoder.encode(`${JSON.stringify(record, null, 2)}\n`), 0o644);
  for (const folder of folders) syncDirectory(folder);
}

function refuseOtherAbi(library: VerifiedArtifact, abi: AbiVersions): void {
  if (!isLibrary(library.artifact.role)) return;
  try {
    requireAbi(library, abi);
  } catch (error) {
    const reason = (error as Error).message;
    throw new RuntimeError(`the bundle was not installed: abi ${library.artifact.name}: ${reason}`);
  }
}

/** Writes a new file, reads it back and compares. @throws OSError */
function writeCompared(path: string, bytes: Uint8Array): void {
  writeNew(path, bytes, 0o644);
  const written = readCapped(path, bytes.length, { noFollow: true });
  if (!written || Buffer.compare(written, bytes) !== 0) {
    throw new OSError(`cannot write '${basename(path)}': the disk holds other bytes than were written`);
  }
}

function refuseMisfit(manifest: RuntimeManifest, tag: PlatformTag, options: InstallOptions): void {
  const { version, fromServer = false } = options;
  if (manifest.platform !== tag) {
    throw new ValueError(`the bundle is for ${manifest.platform}; this machine is ${tag}`);
  }
  if (version !== undefined && manifest.version !== version) {
    throw new ValueError(`the bundle is of version ${manifest.version}, not ${version}`);
  }
  // A server could go on for ever with a release whose faults are known. What is installed never stops on a date.
  if (fromServer && Date.now() >= Date.parse(manifest.expires)) {
    throw new RuntimeError(
      `the packages server offers release ${manifest.release} (${manifest.version}), which it must not after ` +
        `${manifest.expires}: ask for a newer version, or set this machine's clock if it is wrong`,
    );
  }
}

/**
 * Whether the install that was found may stay where it is newer than what is offered: it would load. What is missing in
 * the record is written.
 */
async function stays(home: string, dir: string, present: SignedManifest, anchors: ReleaseAnchors): Promise<boolean> {
  const record = recordForInstall(home, present, anchors);
  if (loadRefusal(present, record)) return false;
  if (!isKept(home, record)) {
    const write = () => keepReleases(home, recordForInstall(home, present, anchors));
    await withLock(join(dirname(dir), ".lock"), write);
  }
  return true;
}

function releaseOf({ version, release }: Release): Release {
  return { version, release };
}

function result({ manifest, anchors }: SignedManifest) {
  return { ...releaseOf(manifest), platform: manifest.platform, anchor: anchors.override ?? ("built-in" as const) };
}

function kept(current: SignedManifest, offered: Release): InstallResult {
  return { ...result(current), replaced: null, declined: releaseOf(offered) };
}

function isOlder(offered: Release, current: SignedManifest | undefined): current is SignedManifest {
  return current !== undefined && offered.release < current.manifest.release;
}

/**
 * The install's verified manifest. An install that does not verify counts as none: it is to be replaced, and the
 * unsigned number in installed.json must not prevent that.
 */
async function installed(
  dir: string,
  tag: PlatformTag,
  anchors: ReleaseAnchors,
  known?: SignedManifest,
): Promise<SignedManifest | undefined> {
  return readSigned(dir, tag, anchors, known).catch(() => undefined);
}
