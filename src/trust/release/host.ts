/** The host of releases: manifests with their signatures, and the files that they name. */

import { RuntimeError } from "../../errors.ts";
import { RELEASE_MANIFEST_BYTES_MAX, RUNTIME_SIGNATURE_BYTES_MAX } from "../../limits.ts";
import type { Env } from "../../paths.ts";
import { RELEASES_URL } from "../../published.ts";
import { type Download, download } from "../account/trusted/download.ts";
import { secureBase } from "../account/trusted/endpoints.ts";
import type { ReleaseAnchors } from "../runtime/anchor.ts";
import { sha256 } from "../runtime/bundle-manifest.ts";
import {
  type PlatformFiles,
  RELEASE_MANIFEST,
  RELEASE_SIGNATURE,
  type ReleaseFile,
  type SignedRelease,
  verifyRelease,
} from "./manifest.ts";

const PEER = "the release host";

/** How a request waits, and what ends it. */
export type Requests = Pick<Download, "signal" | "pace">;

/** Where releases are: SVC_BASE_URL, a mirror, or the project's own. @throws ValueError, PermissionError for plain http */
export function releaseHost(env: Env): string {
  const base = env.SVC_BASE_URL || RELEASES_URL;
  return secureBase(base, env.SVC_BASE_URL ? "SVC_BASE_URL" : PEER).href.replace(/\/+$/, "");
}

/** The release host has no such file. */
class NoFile extends RuntimeError {}

/**
 * The verified manifest of a version, or of the newest one.
 * @throws RuntimeError where there is none, or it is not verified or of another version; what `download` throws
 */
export async function fetchRelease(
  base: string,
  version: string | undefined,
  anchors: ReleaseAnchors,
  requests: Requests,
): Promise<SignedRelease> {
  const folder = version === undefined ? "/latest/download" : folderOf(version);
  const none = version === undefined ? "no release" : `no release ${version}`;
  const get = (name: string, bytesMax: number) => fetchFile(base, `${folder}/${name}`, none, { ...requests, bytesMax });
  for (let tries = 1; ; tries++) {
    const bytes = await get(RELEASE_MANIFEST, RELEASE_MANIFEST_BYTES_MAX);
    const signature = await get(RELEASE_SIGNATURE, RUNTIME_SIGNATURE_BYTES_MAX);
    try {
      const release = await verifyRelease(bytes, signature, anchors);
      const found = release.manifest.version;
      if (version === undefined || found === version) return release;
      throw new RuntimeError(`the release host has ${found} in the place of ${version}: choose another version`);
    } catch (error) {
      // A release may have become the newest one between the two files.
      if (version !== undefined || tries > 1 || !(error instanceof RuntimeError)) throw error;
    }
  }
}

/**
 * The bytes of a release's executable. The compressed file is verified before it is unpacked, and so is what it holds.
 * @throws RuntimeError where a file is not the one that was signed; what `download` throws
 */
export async function fetchExecutable(
  base: string,
  version: string,
  files: PlatformFiles,
  requests: Requests & Pick<Download, "onProgress">,
): Promise<Uint8Array> {
  const get = async (file: ReleaseFile) => {
    const path = `${folderOf(version)}/${file.name}`;
    const bytes = await fetchFile(base, path, `no ${file.name} of ${version}`, {
      ...requests,
      bytesMax: file.size_bytes,
    });
    return verified(bytes, file);
  };
  const unpacked = await get(files.zstd)
    .then((bytes) => Bun.zstdDecompress(bytes))
    .catch(async (error) => {
      if (!(error instanceof NoFile)) throw error;
      return Bun.gunzipSync((await get(files.gzip)) as Uint8Array<ArrayBuffer>);
    });
  return verified(unpacked, files.executable);
}

function folderOf(version: string): string {
  return `/download/v${encodeURIComponent(version)}`;
}

function fetchFile(
  base: string,
  path: string,
  none: string,
  request: Requests & { bytesMax: number },
): Promise<Uint8Array> {
  const refusal = ({ status }: Response) => {
    const { origin } = new URL(base);
    if (status === 404) return new NoFile(`${PEER} at ${origin} has ${none}`);
    return new RuntimeError(`${PEER} at ${origin} answered with status ${status}: try again later`);
  };
  return download({ base, path, peer: PEER, anyOrigin: true, refusal, ...request });
}

function verified(bytes: Uint8Array, { name, size_bytes, sha256: hash }: ReleaseFile): Uint8Array {
  if (bytes.length === size_bytes && sha256(bytes) === hash) return bytes;
  const what = bytes.length === size_bytes ? "other bytes" : `${bytes.length} bytes, not ${size_bytes}`;
  throw new RuntimeError(`${name} is not the file that was signed: it has ${what}; try again, or another mirror`);
}
