/**
 * Maps the verified native libraries. Everything under SVC_HOME/runtime is untrusted: the permissions of its parent
 * folders, the manifest's signature and its release are checked, and each library is read once; the bytes that were
 * hashed are the bytes that are mapped. The licence is the login's; the copy beside the libraries is not read.
 */
import { dirname, join } from "node:path";
import { abiVersion, type MappedBytes, mapVerified } from "../../../ffi/system/map.ts";
import type { BuildInfo } from "../../build-info.ts";
import { withLock } from "../../durable.ts";
import { PermissionError, RuntimeError, SvcError } from "../../errors.ts";
import { type Env, releasesPath, runtimePaths } from "../../paths.ts";
import type { License } from "../account/license/license.ts";
import { permissionFaults } from "../account/permissions.ts";
import { releaseAnchors } from "./anchor.ts";
import { libraryArtifact } from "./bundle-manifest.ts";
import { loadRefusal, withSeen } from "./floor.ts";
import { keepReleases, NO_RELEASES, type ReleaseRecord, readReleases } from "./releases.ts";
import { readArtifact, readSigned, requirePlatform, type SignedManifest, type VerifiedArtifact } from "./signed.ts";

/** The path of each library for `dlopen`. */
export interface LibraryPaths {
  kernelPath: string;
  runtimePath: string;
}

/** Two libraries ready for `dlopen`. */
export interface MappedLibraries extends LibraryPaths {
  /** What they were verified by. */
  signed: SignedManifest;
  /** Closes the mapped files. Call it after both were opened; the libraries stay loaded. */
  close(): void;
}

/** The ABI versions an executable expects of the two libraries. */
export type AbiVersions = BuildInfo["abi"];

/**
 * Reads and hashes the installed libraries and makes those bytes loadable.
 *
 * @param options.license required, so that no library is mapped without a verified licence
 * @param options.readsOnly nothing is written: a release that is the highest so far is not recorded
 * @throws RuntimeError where nothing is installed, a file does not verify, or the release is too old; PermissionError
 *   where others can change it
 */
export async function loadVerified(options: {
  home: string;
  env: Env;
  license: License;
  readsOnly?: boolean;
}): Promise<MappedLibraries> {
  const { home, env } = options;
  const tag = requirePlatform();
  const paths = runtimePaths(home, tag);
  const signed = await readSigned(paths.dir, tag, releaseAnchors(env));
  const { manifest } = signed;
  const files = [paths.manifest, paths.signature, paths.kernelLibrary, paths.runtimeLibrary, releasesPath(home)];
  const faults = permissionFaults(home, files);
  if (faults.length > 0) throw new PermissionError(`the native runtime is not loaded: ${faults[0]}`);
  const record = readReleases(home);
  const refusal = loadRefusal(signed, record ?? NO_RELEASES);
  if (refusal) throw refusal;
  const kernel = mapArtifact(readArtifact(paths.dir, libraryArtifact(manifest, "kernel")));
  try {
    const runtime = mapArtifact(readArtifact(paths.dir, libraryArtifact(manifest, "runtime")));
    const close = () => {
      kernel.close();
      runtime.close();
    };
    if (!options.readsOnly) await raiseRecord(home, paths.dir, signed, record);
    return { kernelPath: kernel.path, runtimePath: runtime.path, signed, close };
  } catch (error) {
    kernel.close();
    throw error;
  }
}

/**
 * Records an install that was put in its place by other means, or before the record was lost. Where that is not possible,
 * in a home that is read-only or while another process installs, a later load does it.
 */
async function raiseRecord(
  home: string,
  dir: string,
  signed: SignedManifest,
  record: ReleaseRecord | undefined,
): Promise<void> {
  const seen = record?.keys.get(signed.key.id);
  if (seen && seen.release >= signed.manifest.release) return;
  try {
    const raise = () => keepReleases(home, withSeen(readReleases(home) ?? NO_RELEASES, signed));
    await withLock(join(dirname(dir), ".lock"), raise, 0);
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
  }
}

/**
 * Loads a library from its verified bytes, reads its ABI version and unloads it again.
 * @returns the version, which is the one in `expected`
 * @throws RuntimeError where it cannot be loaded or has another version
 */
export function requireAbi(library: VerifiedArtifact, expected: AbiVersions): number {
  const role = library.artifact.role === "kernel" ? "kernel" : "runtime";
  const mapped = mapArtifact(library);
  try {
    const found = abiVersion(mapped.path, role === "kernel" ? "ame_abi_version" : "ty_abi_version");
    if (found === expected[role]) return found;
    throw new RuntimeError(
      `it answers with ABI version ${found}; this svc expects ${expected[role]}: run 'svc runtime install' again`,
    );
  } finally {
    mapped.close();
  }
}

function mapArtifact({ artifact, bytes }: VerifiedArtifact): MappedBytes {
  try {
    return mapVerified(bytes, artifact.name);
  } catch (error) {
    throw new RuntimeError(`${artifact.name} cannot be mapped: ${(error as Error).message}`);
  }
}
