/**
 * Which verified native build does this process map? Nothing under SVC_HOME/runtime is believed because it is there: the way to
 * it is checked, the manifest's signature, the licence, and each library is read once; the bytes that were hashed are the bytes
 * that are mapped. The licence is the login's, from the caller; the copy of it beside the libraries has no say.
 */
import { type MappedBytes, mapVerified } from "../../ffi/system/map.ts";
import { readCapped } from "../durable.ts";
import { PermissionError, RuntimeError, SvcError } from "../errors.ts";
import { RUNTIME_MANIFEST_BYTES_MAX, RUNTIME_SIGNATURE_BYTES_MAX } from "../limits.ts";
import { type Env, type PlatformTag, platformTag, runtimePaths } from "../paths.ts";
import { type ReleaseAnchor, releaseAnchor, requireSignature } from "./anchor.ts";
import { type Artifact, fits, libraryArtifact, parseManifest, type RuntimeManifest } from "./bundle-manifest.ts";
import { permissionFaults } from "./permissions.ts";

/** What says whether a licence is good, from the account layer; it throws PermissionError where it is not. */
export type LicenseCheck = (jwt: string) => Promise<unknown>;

/** What `dlopen` is given for each library. */
export interface LibraryPaths {
  kernelPath: string;
  runtimePath: string;
}

/** Two libraries ready for `dlopen`. */
export interface MappedLibraries extends LibraryPaths {
  /** Version and release of the install, from its signed manifest. */
  version: string;
  release: number;
  /** Lets go of the mapped files. Call it after both were opened; the libraries stay loaded. */
  close(): void;
}

/** An install whose manifest is signed; its artifacts are not read yet. */
export interface SignedInstall {
  dir: string;
  manifest: RuntimeManifest;
  anchor: ReleaseAnchor;
}

/**
 * Reads and hashes the installed libraries and makes those bytes loadable.
 *
 * @throws RuntimeError where nothing is installed or something is not what was signed; PermissionError where others could have
 *   changed it, or from `checkLicense`
 */
export async function loadVerified(options: {
  home: string;
  env: Env;
  /** As signed: the one of this machine's login. */
  license: string;
  checkLicense: LicenseCheck;
}): Promise<MappedLibraries> {
  const { home, env, license, checkLicense } = options;
  const tag = requirePlatform();
  const paths = runtimePaths(home, tag);
  const install = await openSigned(paths.dir, tag, releaseAnchor(env));
  const faults = permissionFaults(home, [paths.manifest, paths.signature, paths.kernelLibrary, paths.runtimeLibrary]);
  if (faults.length > 0) throw new PermissionError(`the native runtime is not loaded: ${faults[0]}`);
  await checkLicense(license);
  const kernel = mapArtifact(install, libraryArtifact(install.manifest, "kernel"));
  try {
    const runtime = mapArtifact(install, libraryArtifact(install.manifest, "runtime"));
    const { version, release } = install.manifest;
    const close = () => {
      kernel.close();
      runtime.close();
    };
    return { kernelPath: kernel.path, runtimePath: runtime.path, version, release, close };
  } catch (error) {
    kernel.close();
    throw error;
  }
}

/** This machine's platform. @throws RuntimeError where no runtime is built for it */
export function requirePlatform(): PlatformTag {
  const tag = platformTag();
  if (!tag) throw new RuntimeError(`there is no native runtime for ${process.platform} on ${process.arch}`);
  return tag;
}

/** The manifest of an install once its signature was found good. @throws RuntimeError */
export async function openSigned(dir: string, tag: PlatformTag, anchor: ReleaseAnchor): Promise<SignedInstall> {
  const manifest = readPart(dir, "telys_manifest.json", RUNTIME_MANIFEST_BYTES_MAX);
  const signature = readPart(dir, "telys_manifest.sig", RUNTIME_SIGNATURE_BYTES_MAX);
  if (!manifest && !signature) throw new RuntimeError("the native runtime is not installed: run 'svc runtime install'");
  if (!manifest || !signature) throw notVerified(`telys_manifest.${manifest ? "sig" : "json"} is missing`);
  return openSignedBytes(manifest, signature, dir, tag, anchor);
}

/** The bytes of an artifact, read once, if they are what was signed. @throws RuntimeError naming the file */
export function readArtifact(install: SignedInstall, artifact: Artifact): Uint8Array {
  const bytes = readPart(install.dir, artifact.name, artifact.size_bytes);
  if (!bytes) throw notVerified(`${artifact.name} is missing`);
  if (!fits(artifact, bytes)) throw notVerified(`${artifact.name} is not the file that was signed`);
  return bytes;
}

/** An artifact's bytes as something to load. @throws RuntimeError */
export function mapArtifact(install: SignedInstall, artifact: Artifact): MappedBytes {
  const bytes = readArtifact(install, artifact);
  try {
    return mapVerified(bytes, artifact.name);
  } catch (error) {
    throw new RuntimeError(`${artifact.name} cannot be mapped: ${(error as Error).message}`);
  }
}

async function openSignedBytes(
  manifestBytes: Uint8Array,
  signature: Uint8Array,
  dir: string,
  tag: PlatformTag,
  anchor: ReleaseAnchor,
): Promise<SignedInstall> {
  try {
    await requireSignature(manifestBytes, signature, anchor);
    const manifest = parseManifest(manifestBytes);
    if (manifest.platform !== tag)
      throw new RuntimeError(`telys_manifest.json is for ${manifest.platform}, not ${tag}`);
    return { dir, manifest, anchor };
  } catch (error) {
    if (error instanceof RuntimeError) throw notVerified(error.message);
    throw error;
  }
}

/** A file of the install, never through a link; one that is too large or no regular file is not what was signed either. */
function readPart(dir: string, name: string, maxBytes: number): Uint8Array | undefined {
  try {
    return readCapped(`${dir}/${name}`, maxBytes, { noFollow: true });
  } catch (error) {
    if (error instanceof SvcError) throw notVerified(error.message);
    throw error;
  }
}

function notVerified(what: string): RuntimeError {
  return new RuntimeError(`the native runtime is not verified: ${what}; run 'svc runtime install' again`);
}
