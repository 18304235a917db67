/** Downloads a runtime bundle. Its bytes are untrusted until the runtime has verified them. */
import { PermissionError, RuntimeError } from "../errors.ts";
import { BUNDLE_BYTES_MAX } from "../limits.ts";
import type { PlatformTag } from "../paths.ts";
import { httpRequest } from "./http.ts";

export interface BundleRequest {
  /** Base address of the packages server. */
  readonly packages: string;
  readonly version: string;
  readonly tag: PlatformTag;
  /** The API key of this device (credentials.ts). */
  readonly apiKey?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (received: number, total: number | undefined) => void;
}

const PEER = "the packages server";
const TIMEOUT_MS = 15 * 60_000;

/**
 * `<packages>/runtime/<version>/<tag>.bundle`, whole, at most 1 GiB.
 * @throws RuntimeError if there is no such bundle; PermissionError if the API key is refused; and what httpRequest
 * throws.
 */
export async function fetchBundle(request: BundleRequest): Promise<Uint8Array> {
  const { packages, version, tag, apiKey, signal, onProgress } = request;
  const answer = await httpRequest(packages, `/runtime/${encodeURIComponent(version)}/${tag}.bundle`, {
    peer: PEER,
    bearer: apiKey,
    bytesMax: BUNDLE_BYTES_MAX,
    timeoutMs: TIMEOUT_MS,
    signal,
    onProgress,
  });
  if (answer.status === 200) return answer.body;
  if (answer.status === 401 || answer.status === 403) {
    throw new PermissionError(`${PEER} refuses the API key: run 'svc login' again`);
  }
  if (answer.status === 404) throw new RuntimeError(`${PEER} has no runtime ${version} for ${tag}`);
  throw new RuntimeError(`${PEER} answered with status ${answer.status}: try again later`);
}
