/** Downloads a runtime bundle. Its bytes are untrusted until the runtime has verified them. */
import { PermissionError, RuntimeError, type SvcError } from "../../../errors.ts";
import { BUNDLE_BYTES_MAX } from "../../../limits.ts";
import { downloadsPath, type PlatformTag } from "../../../paths.ts";
import { ensurePrivateDirectory } from "../files.ts";
import { DEVICE_REVOKED, DeviceRevoked } from "../license/revocation.ts";
import { secureBase } from "../trusted/endpoints.ts";
import { type Downloaded, type DownloadRequest, download } from "./download.ts";

export interface BundleRequest extends Pick<DownloadRequest, "anew" | "ca" | "signal" | "onState" | "pace"> {
  /** SVC_HOME: what came of a download that was interrupted is kept there, and gone on with. */
  readonly home: string;
  /** Base address of the packages server. */
  readonly packages: string;
  readonly version: string;
  readonly tag: PlatformTag;
  /** The API key of this device (credentials.ts). */
  readonly apiKey?: string;
}

const PEER = "the packages server";

/** The packages server has no bundle of the version for the platform. */
export class NoBundle extends RuntimeError {}

/**
 * `<packages>/runtime/<version>/<tag>.bundle`, whole, at most 1 GiB.
 * @throws NoBundle if there is no such bundle; DeviceRevoked where the authority
 * says so; PermissionError if the API key is refused, or if others can write where
 * the download is kept; and what `download` throws.
 */
export async function fetchBundle(request: BundleRequest): Promise<Downloaded> {
  const { home, packages, version, tag, apiKey, ...rest } = request;
  const path = `/runtime/${encodeURIComponent(version)}/${tag}.bundle`;
  const address = secureBase(packages, PEER).href;
  const folder = downloadsPath(home);
  ensurePrivateDirectory(folder, home);
  return download({
    ...rest,
    peer: PEER,
    base: packages,
    path,
    bearer: apiKey,
    folder,
    name: new Bun.CryptoHasher("sha256").update(`${address}\n${path}`).digest("hex").slice(0, 32),
    bytesMax: BUNDLE_BYTES_MAX,
    refused: (status, code) =>
      status === 403 && code === DEVICE_REVOKED ? new DeviceRevoked(packages) : refused(status, version, tag),
  });
}

function refused(status: number, version: string, tag: PlatformTag): SvcError {
  if (status === 401 || status === 403) {
    return new PermissionError(`${PEER} refuses the API key: run 'svc login' again`);
  }
  if (status === 404) return new NoBundle(`${PEER} has no runtime ${version} for ${tag}`);
  return new RuntimeError(`${PEER} answered with status ${status}: try again later`);
}
