/**
 * Installs a signed runtime. The order is the protection: licence before anything, size before reading, signature
 * before parsing, hash and ABI before writing. Everything is staged beside its destination, made durable, read back and
 * compared, and exchanged with the old install in one step; after any failure the old install stands.
 */
import { lstatSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { exchangePaths } from "../../ffi/system/calls.ts";
import type { License } from "../account/license.ts";
import { permissionFaults } from "../account/permissions.ts";
import { buildInfo } from "../build-info.ts";
import { diskError, makeDirectory, readCapped, syncDirectory, withLock, writeNew } from "../durable.ts";
import { OSError, PermissionError, RuntimeError, ValueError } from "../errors.ts";
import { type Env, type PlatformTag, runtimePaths } from "../paths.ts";
import { type ReleaseAnchors, releaseAnchors } from "./anchor.ts";
import { BundleReader, MANIFEST_NAME, SIGNATURE_NAME } from "./bundle.ts";
import { type RuntimeManifest, sha256 } from "./bundle-manifest.ts";
import { type AbiVersions, requireAbi } from "./load.ts";
import { readSigned, requirePlatform, type SignedManifest, type VerifiedArtifact, verifyManifest } from "./signed.ts";

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
  /** Where the bundle came from, for installed.json: "embedded", "file", an origin. */
  provenance?: string;
  /** Default: those of this build. */
  abi?: AbiVersions;
}

/** A version and its release number. */
export interface Release {
  version: string;
  release: number;
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
 * @throws RuntimeError where the bundle or its signature cannot be used; ValueError where it is of another version, or
 *   older than the install; PermissionError where others can write to the install's folder; OSError where the disk
 *   fails. The old install stands in every case.
 */
export async function installRuntime(options: InstallOptions): Promise<InstallResult> {
  const { home, env, keepNewer = false, offered } = options;
  const tag = requirePlatform();
  const anchors = releaseAnchors(env);
  const { dir } = runtimePaths(home, tag);
  const before = await installed(dir, tag, anchors);
  if (keepNewer && offered && isOlder(offered, before)) return kept(before, offered);
  const reader = new BundleReader(options.bundle);
  try {
    const head = await reader.head();
    const signed = await verifyManifest(head.manifest, head.signature, anchors, before);
    const { manifest } = signed;
    refuseMisfit(manifest, tag, options.version);
    makeDirectory(dirname(dir));
    const fault = permissionFaults(home, [dirname(dir)])[0];
    if (fault) throw new PermissionError(`the native runtime is not installed: ${fault}`);
    return await withLock(join(dirname(dir), ".lock"), async () => {
      tidy(dir);
      // Read again: another process may have installed before the lock was acquired.
      const old = await installed(dir, tag, anchors, before);
      if (keepNewer && isOlder(manifest, old)) return kept(old, manifest);
      refuseDowngrade(manifest, old, options.allowDowngrade ?? false);
      const staging = join(dirname(dir), `${STAGING_PREFIX}${crypto.randomUUID()}`);
      try {
        await stage(staging, reader, signed, options);
        promote(staging, dir);
      } finally {
        rmSync(staging, { recursive: true, force: true });
      }
      return { ...result(signed), replaced: old ? releaseOf(old.manifest) : null };
    });
  } finally {
    reader.close();
  }
}

/**
 * Moves a staged install into place, in one step where the file system can exchange two names; elsewhere the old
 * install is renamed first, and renamed back if the new one fails.
 *
 * @param exchange replaced in tests for the second way
 */
export function promote(
  staging: string,
  dir: string,
  exchange: (a: string, b: string) => boolean = exchangePaths,
): void {
  const parent = dirname(dir);
  try {
    if (lstatSync(dir, { throwIfNoEntry: false }) === undefined) {
      renameSync(staging, dir);
      syncDirectory(parent);
    } else if (exchange(staging, dir)) {
      try {
        syncDirectory(parent);
      } catch (error) {
        exchange(staging, dir);
        throw error;
      }
    } else {
      const aside = `${staging}${ASIDE_SUFFIX}`;
      renameSync(dir, aside);
      try {
        renameSync(staging, dir);
        syncDirectory(parent);
      } catch (error) {
        rmSync(dir, { recursive: true, force: true });
        renameSync(aside, dir);
        throw error;
      }
      rmSync(aside, { recursive: true, force: true });
    }
  } catch (error) {
    throw diskError(error, "install", dir);
  }
}

/** Prefix of temporary names beside the install, which exist only while the lock is held. */
export const STAGING_PREFIX = ".staging-";
const ASIDE_SUFFIX = ".old";

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
  if (library.artifact.role === "pysite") return;
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

function refuseMisfit(manifest: RuntimeManifest, tag: PlatformTag, version: string | undefined): void {
  if (manifest.platform !== tag) {
    throw new ValueError(`the bundle is for ${manifest.platform}; this machine is ${tag}`);
  }
  if (version !== undefined && manifest.version !== version) {
    throw new ValueError(`the bundle is of version ${manifest.version}, not ${version}`);
  }
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

function refuseDowngrade(offered: Release, current: SignedManifest | undefined, allowed: boolean): void {
  if (allowed || !isOlder(offered, current)) return;
  const { version, release } = current.manifest;
  throw new ValueError(
    `release ${offered.release} (${offered.version}) is older than the installed ${release} (${version}); ` +
      "'--allow-downgrade' installs it all the same",
  );
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

/**
 * Removes the files of a killed install; the caller holds the lock, so that none is in use. An install that was renamed
 * and not yet replaced is renamed back.
 */
export function tidy(dir: string): void {
  for (const name of readdirSync(dirname(dir))) {
    if (!name.startsWith(STAGING_PREFIX)) continue;
    const path = join(dirname(dir), name);
    if (name.endsWith(ASIDE_SUFFIX) && !lstatSync(dir, { throwIfNoEntry: false })) renameSync(path, dir);
    else rmSync(path, { recursive: true, force: true });
  }
}
