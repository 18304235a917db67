/**
 * Puts a signed runtime in place. The order is the protection: size before reading, signature before parsing, hash before
 * writing, licence before promoting. Everything is staged beside its destination, made durable, checked again as it lies on
 * the disk, and exchanged with the old install in one step; whatever fails, the old install stands.
 */
import { lstatSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { exchangePaths } from "../../ffi/system/calls.ts";
import { diskError, makeDirectory, syncDirectory, withLock, writeNew } from "../durable.ts";
import { PermissionError, RuntimeError, ValueError } from "../errors.ts";
import { type Env, type PlatformTag, runtimePaths } from "../paths.ts";
import { type ReleaseAnchor, releaseAnchor, requireSignature } from "./anchor.ts";
import { BundleReader, MANIFEST_NAME, SIGNATURE_NAME } from "./bundle.ts";
import { parseManifest, type RuntimeManifest, sha256 } from "./bundle-manifest.ts";
import { type LicenseCheck, openSigned, requirePlatform } from "./load.ts";
import { permissionFaults } from "./permissions.ts";
import { type AbiVersions, stagedFaults } from "./verify.ts";

export interface InstallOptions {
  home: string;
  env: Env;
  /** The tar.gz, not yet believed in any respect. */
  bundle: Uint8Array;
  /** The licence, of which a copy is stored beside the libraries, mode 0600. */
  license: string;
  /** Throws where the licence is not good for this machine. */
  checkLicense: LicenseCheck;
  /** Lets a bundle of an older release replace a newer one. */
  allowDowngrade?: boolean;
  /** Keeps a newer install, and says so in the answer, where it would be a ValueError otherwise. */
  keepNewer?: boolean;
  /** The version that the bundle must have. */
  version?: string;
  /** Where the bundle came from, for installed.json: "embedded", "file", an origin. */
  provenance?: string;
  /** Default: those of this build. */
  abi?: AbiVersions;
}

/** A version and its place in the row of releases. */
export interface Release {
  version: string;
  release: number;
}

/** What is installed when it is over. */
export interface InstallResult extends Release {
  platform: PlatformTag;
  /** What was there before, where that was verified. */
  replaced: Release | null;
  /** The bundle that was not installed, because what was there is newer and was kept. */
  declined?: Release;
  anchor: "built-in" | "SVC_RELEASE_PUBKEY" | "SVC_RELEASE_PUBKEY_FILE";
}

/** The contents of installed.json. It records; nothing is decided by it. */
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
 * @throws RuntimeError where the bundle or its signature cannot be used; ValueError where it is of another version, or older than
 *   what is installed; PermissionError where others can write to its place; what `checkLicense` throws; OSError where the disk fails. The old install stands in every case.
 */
export async function installRuntime(options: InstallOptions): Promise<InstallResult> {
  const tag = requirePlatform();
  const anchor = releaseAnchor(options.env);
  const { dir } = runtimePaths(options.home, tag);
  const reader = new BundleReader(options.bundle);
  try {
    const head = await reader.head();
    await requireSignature(head.manifest, head.signature, anchor);
    const manifest = parseManifest(head.manifest);
    refuseMisfit(manifest, tag, options.version);
    await options.checkLicense(options.license);
    makeDirectory(dirname(dir));
    const fault = permissionFaults(options.home, [dirname(dir)])[0];
    if (fault) throw new PermissionError(`the native runtime is not installed: ${fault}`);
    return await withLock(join(dirname(dir), ".lock"), async () => {
      tidy(dir);
      const replaced = await installedRelease(dir, tag, anchor);
      if (options.keepNewer && isOlder(manifest, replaced)) return keep(replaced, manifest, tag, anchor);
      refuseDowngrade(manifest, replaced, options.allowDowngrade ?? false);
      const staging = join(dirname(dir), `${STAGING_PREFIX}${crypto.randomUUID()}`);
      try {
        await stage(staging, reader, head, manifest, options, anchor);
        const fault = (await stagedFaults(staging, tag, anchor, options.abi))[0];
        if (fault) throw new RuntimeError(`the bundle was not installed: ${fault.name}: ${fault.detail}`);
        promote(staging, dir);
      } finally {
        rmSync(staging, { recursive: true, force: true });
      }
      const { version, release } = manifest;
      return { version, release, platform: tag, replaced, anchor: anchor.override ?? "built-in" };
    });
  } finally {
    reader.close();
  }
}

/**
 * What an install with `keepNewer` would answer for an offer of this release, by the signed manifest of what is there; `undefined`
 * where the offer is not older. Writes nothing.
 */
export async function keptInstall(home: string, env: Env, offered: Release): Promise<InstallResult | undefined> {
  const tag = requirePlatform();
  const anchor = releaseAnchor(env);
  const there = await installedRelease(runtimePaths(home, tag).dir, tag, anchor);
  return isOlder(offered, there) ? keep(there, offered, tag, anchor) : undefined;
}

/**
 * Moves a staged install into place. Where the file system can exchange two names that is one step; elsewhere the old install is
 * set aside first and set back if the new one cannot follow.
 *
 * @param exchange replaced in tests to take the second way
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

/** How names beside the install begin that only last as long as the lock is held. */
export const STAGING_PREFIX = ".staging-";
const ASIDE_SUFFIX = ".old";

async function stage(
  staging: string,
  reader: BundleReader,
  head: { manifest: Uint8Array; signature: Uint8Array },
  manifest: RuntimeManifest,
  options: InstallOptions,
  anchor: ReleaseAnchor,
): Promise<void> {
  makeDirectory(staging);
  const folders = new Set([staging]);
  writeNew(join(staging, MANIFEST_NAME), head.manifest, 0o644);
  writeNew(join(staging, SIGNATURE_NAME), head.signature, 0o644);
  for await (const { artifact, bytes } of reader.artifacts(manifest)) {
    const path = join(staging, artifact.name);
    makeDirectory(dirname(path));
    folders.add(dirname(path));
    writeNew(path, bytes, 0o644);
  }
  const encoder = new TextEncoder();
  writeNew(join(staging, "license.jwt"), encoder.encode(options.license), 0o600);
  const record: InstalledRecord = {
    version: manifest.version,
    release: manifest.release,
    provenance: {
      source: options.provenance ?? "bundle",
      bundle_sha256: sha256(options.bundle),
      release_key: anchor.override ?? "built-in",
    },
    installed_at: new Date().toISOString(),
  };
  writeNew(join(staging, "installed.json"), encoder.encode(`${JSON.stringify(record, null, 2)}\n`), 0o644);
  for (const folder of folders) syncDirectory(folder);
}

function refuseMisfit(manifest: RuntimeManifest, tag: PlatformTag, version: string | undefined): void {
  if (manifest.platform !== tag) {
    throw new ValueError(`the bundle is for ${manifest.platform}; this machine is ${tag}`);
  }
  if (version !== undefined && manifest.version !== version) {
    throw new ValueError(`the bundle is of version ${manifest.version}, not ${version}`);
  }
}

function isOlder(offered: Release, there: Release | null): there is Release {
  return there !== null && offered.release < there.release;
}

function keep(there: Release, offered: Release, platform: PlatformTag, anchor: ReleaseAnchor): InstallResult {
  const declined = { version: offered.version, release: offered.release };
  return { ...there, platform, replaced: null, declined, anchor: anchor.override ?? "built-in" };
}

function refuseDowngrade(manifest: RuntimeManifest, old: Release | null, allowed: boolean): void {
  if (allowed || !isOlder(manifest, old)) return;
  throw new ValueError(
    `release ${manifest.release} (${manifest.version}) is older than the installed ${old.release} (${old.version}); ` +
      "'--allow-downgrade' installs it all the same",
  );
}

/**
 * What is installed, by its signed manifest only. An install that does not verify counts as none: replacing it is what mends it,
 * and a number in installed.json that anyone could write must not stand in the way.
 */
async function installedRelease(dir: string, tag: PlatformTag, anchor: ReleaseAnchor): Promise<Release | null> {
  try {
    const { manifest } = await openSigned(dir, tag, anchor);
    return { version: manifest.version, release: manifest.release };
  } catch {
    return null;
  }
}

/**
 * Clears away what a killed install left; the lock is ours, so none of it is in use. An install that was set aside and has no
 * successor yet goes back to its place.
 */
export function tidy(dir: string): void {
  for (const name of readdirSync(dirname(dir))) {
    if (!name.startsWith(STAGING_PREFIX)) continue;
    const path = join(dirname(dir), name);
    if (name.endsWith(ASIDE_SUFFIX) && !lstatSync(dir, { throwIfNoEntry: false })) renameSync(path, dir);
    else rmSync(path, { recursive: true, force: true });
  }
}
