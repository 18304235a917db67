/**
 * Maps the verified native libraries. Everything under SVC_HOME/runtime is untrusted: the permissions of its parent
 * folders and the manifest's signature are checked, and each library is read once; the bytes that were hashed are the
 * bytes that are mapped. The licence is the login's; the copy beside the libraries is not read.
 */
import { abiVersion, type MappedBytes, mapVerified } from "../../ffi/system/map.ts";
import type { License } from "../account/license.ts";
import { permissionFaults } from "../account/permissions.ts";
import type { BuildInfo } from "../build-info.ts";
import { PermissionError, RuntimeError } from "../errors.ts";
import { type Env, runtimePaths } from "../paths.ts";
import { releaseAnchors } from "./anchor.ts";
import { libraryArtifact } from "./bundle-manifest.ts";
import { readArtifact, readSigned, requirePlatform, type VerifiedArtifact } from "./signed.ts";

/** The path of each library for `dlopen`. */
export interface LibraryPaths {
  kernelPath: string;
  runtimePath: string;
}

/** Two libraries ready for `dlopen`. */
export interface MappedLibraries extends LibraryPaths {
  /** Closes the mapped files. Call it after both were opened; the libraries stay loaded. */
  close(): void;
}

/** The ABI versions an executable expects of the two libraries. */
export type AbiVersions = BuildInfo["abi"];

/**
 * Reads and hashes the installed libraries and makes those bytes loadable.
 *
 * @param options.license required, so that no library is mapped without a verified licence
 * @throws RuntimeError where nothing is installed or a file does not verify; PermissionError where others can change it
 */
export async function loadVerified(options: { home: string; env: Env; license: License }): Promise<MappedLibraries> {
  const { home, env } = options;
  const tag = requirePlatform();
  const paths = runtimePaths(home, tag);
  const { manifest } = await readSigned(paths.dir, tag, releaseAnchors(env));
  const faults = permissionFaults(home, [paths.manifest, paths.signature, paths.kernelLibrary, paths.runtimeLibrary]);
  if (faults.length > 0) throw new PermissionError(`the native runtime is not loaded: ${faults[0]}`);
  const kernel = mapArtifact(readArtifact(paths.dir, libraryArtifact(manifest, "kernel")));
  try {
    const runtime = mapArtifact(readArtifact(paths.dir, libraryArtifact(manifest, "runtime")));
    const close = () => {
      kernel.close();
      runtime.close();
    };
    return { kernelPath: kernel.path, runtimePath: runtime.path, close };
  } catch (error) {
    kernel.close();
    throw error;
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
