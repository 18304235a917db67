/** Downloads a runtime bundle into memory. Its bytes are untrusted until the runtime has verified them. */
import { PermissionError, RuntimeError, type SvcError } from "../../../errors.ts";
import { BUNDLE_BYTES_MAX } from "../../../limits.ts";
import type { PlatformTag } from "../../../paths.ts";
import { DEVICE_REVOKED, DeviceRevoked } from "../license/revocation.ts";
import { type Download, download } from "../trusted/download.ts";
import type { PinnedCa } from "../trusted/endpoints.ts";
import { errorField } from "../trusted/http.ts";

export interface BundleRequest extends Pick<Download, "signal" | "onProgress" | "pace"> {
  /** Base address of the packages server. */
  readonly packages: string;
  readonly version: string;
  readonly tag: PlatformTag;
  /** The API key of this device (credentials.ts). */
  readonly apiKey?: string | undefined;
  readonly ca?: PinnedCa | undefined;
}

/** Bytes of an error's body that are read. */
const ERROR_BYTES_MAX = 4096;

const PEER = "the packages server";

/** The packages server has no bundle of the version for the platform. */
export class NoBundle extends RuntimeError {}

/**
 * `<packages>/runtime/<version>/<tag>.bundle`, whole, at most BUNDLE_BYTES_MAX.
 * @throws NoBundle if there is no such bundle; DeviceRevoked if the authority revoked this device; PermissionError if
 * the API key is refused, for plain http beyond loopback and for a redirect to another origin; ValueError for more
 * bytes; OSError or TimeoutError if the server cannot be reached or the connection broke in each attempt;
 * CancelledError.
 */
export function fetchBundle(request: BundleRequest): Promise<Uint8Array> {
  const { packages: base, version, tag, apiKey: bearer, ca, signal, onProgress, pace } = request;
  const path = `/runtime/${encodeURIComponent(version)}/${tag}.bundle`;
  const refusal = (response: Response) => refused(response, request);
  const bytesMax = BUNDLE_BYTES_MAX;
  return download({ base, path, peer: PEER, bearer, ca, bytesMax, signal, onProgress, pace, refusal });
}

async function refused(response: Response, { packages, version, tag }: BundleRequest): Promise<SvcError> {
  const { status } = response;
  const code = errorField(await beginningOf(response));
  if (status === 403 && code === DEVICE_REVOKED) return new DeviceRevoked(packages);
  if (status === 401 || status === 403) {
    return new PermissionError(`${PEER} refuses the API key: run 'svc login' again`);
  }
  if (status === 404) return new NoBundle(`${PEER} has no runtime ${version} for ${tag}`);
  return new RuntimeError(`${PEER} answered with status ${status}: try again later`);
}

/** The first bytes of a body, fewer than ERROR_BYTES_MAX where it is shorter or breaks off. The rest is not read. */
async function beginningOf(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    // Leaving the loop cancels the stream.
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk);
      bytes += chunk.byteLength;
      if (bytes >= ERROR_BYTES_MAX) break;
    }
  } catch {
    // The status says enough.
  }
  return Buffer.concat(chunks).subarray(0, ERROR_BYTES_MAX);
}
