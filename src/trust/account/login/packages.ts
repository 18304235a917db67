/** Downloads a runtime bundle into memory. Its bytes are untrusted until the runtime has verified them. */
import { setTimeout as sleep } from "node:timers/promises";
import { CancelledError, OSError, PermissionError, RuntimeError, SvcError, TimeoutError } from "../../../errors.ts";
import { BUNDLE_BYTES_MAX } from "../../../limits.ts";
import type { PlatformTag } from "../../../paths.ts";
import { DEVICE_REVOKED, DeviceRevoked } from "../license/revocation.ts";
import type { PinnedCa } from "../trusted/endpoints.ts";
import { errorField, openResponse, readBody, unreachable } from "../trusted/http.ts";

export interface BundleRequest {
  /** Base address of the packages server. */
  readonly packages: string;
  readonly version: string;
  readonly tag: PlatformTag;
  /** The API key of this device (credentials.ts). */
  readonly apiKey?: string | undefined;
  readonly ca?: PinnedCa | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (progress: DownloadProgress) => void;
  readonly pace?: Partial<Pace>;
}

export interface DownloadProgress {
  /** From 1; each attempt begins at the first byte. */
  readonly attempt: number;
  readonly received: number;
  /** Bytes of the whole, where the server announced them. */
  readonly total: number | undefined;
}

/** How long a download waits. */
interface Pace {
  /**
   * A connection that brings fewer than `idleBytes` in this many milliseconds counts as broken. The whole has no
   * deadline: a bundle over a slow line takes minutes.
   */
  readonly idleMs: number;
  readonly idleBytes: number;
  /** Milliseconds before the second attempt, doubled with each. */
  readonly pauseMs: number;
}

const PACE: Pace = { idleMs: 30_000, idleBytes: 4096, pauseMs: 500 };

/** Attempts of a download. Each begins again: a bundle has less than 10 MB, so a kept part would save little. */
export const ATTEMPTS = 3;

/** Bytes of an error's body that are read. */
const ERROR_BYTES_MAX = 4096;
/** Statuses of a server or proxy that may answer the next attempt. */
const TEMPORARY: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

const PEER = "the packages server";

/** The packages server has no bundle of the version for the platform. */
export class NoBundle extends RuntimeError {}

/** A failure after the server had begun to send the bundle: the next attempt may succeed. */
class Interrupted extends Error {
  constructor(override readonly cause: SvcError) {
    super(cause.message);
  }
}

/**
 * `<packages>/runtime/<version>/<tag>.bundle`, whole, at most BUNDLE_BYTES_MAX.
 * @throws NoBundle if there is no such bundle; DeviceRevoked if the authority revoked this device; PermissionError if
 * the API key is refused, for plain http beyond loopback and for a redirect to another origin; ValueError for more
 * bytes; OSError or TimeoutError if the server cannot be reached or the connection broke in each attempt;
 * CancelledError.
 */
export async function fetchBundle(request: BundleRequest): Promise<Uint8Array> {
  const { signal, pace } = request;
  for (let attempt = 1; ; attempt++) {
    try {
      return await fetchOnce(request, attempt);
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error;
      if (attempt === ATTEMPTS) throw error.cause;
      const pauseMs = (pace?.pauseMs ?? PACE.pauseMs) * 2 ** (attempt - 1);
      // The next attempt notices an interruption.
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

async function fetchOnce(request: BundleRequest, attempt: number): Promise<Uint8Array> {
  const { packages, version, tag, apiKey: bearer, ca } = request;
  const server = () => `${PEER} at ${new URL(packages).origin}`;
  const idle = new IdleLimit({ ...PACE, ...request.pace });
  const signal = request.signal ? AbortSignal.any([request.signal, idle.signal]) : idle.signal;
  let total: number | undefined;
  let isBegun = false;
  try {
    const path = `/runtime/${encodeURIComponent(version)}/${tag}.bundle`;
    const response = await openResponse(packages, path, { peer: PEER, bearer, ca }, signal);
    if (response.status !== 200) {
      const refused = await refusal(response, request);
      throw attempt > 1 && TEMPORARY.has(response.status) ? new Interrupted(refused) : refused;
    }
    isBegun = true;
    const announced = Number(response.headers.get("content-length") ?? Number.NaN);
    // Of a body that a proxy compresses on the way, the length is that of the compressed bytes.
    const isPlain = (response.headers.get("content-encoding") ?? "identity") === "identity";
    total = isPlain && Number.isSafeInteger(announced) ? announced : undefined;
    let received = 0;
    const bundle = await readBody(response, PEER, BUNDLE_BYTES_MAX, (bytes) => {
      received += bytes;
      idle.note(bytes);
      request.onProgress?.({ attempt, received, total });
    });
    if (total !== undefined && received !== total) {
      throw new OSError(`${server()} sent ${received} of ${total} bytes`, "disconnected");
    }
    return bundle;
  } catch (error) {
    if (request.signal?.aborted) throw new CancelledError("interrupted");
    if (error instanceof OSError && isBegun) throw new Interrupted(error);
    if (error instanceof SvcError || error instanceof Interrupted) throw error;
    const broken = idle.signal.aborted
      ? new TimeoutError(`${server()} did not answer in time`)
      : unreachable(server(), error, "disconnected");
    // A wrong address or a server that does not run fails at once.
    throw isBegun ? new Interrupted(broken) : broken;
  } finally {
    idle.stop();
  }
}

async function refusal(response: Response, { packages, version, tag }: BundleRequest): Promise<SvcError> {
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

/** Aborts `signal` where too little comes. */
class IdleLimit {
  readonly #controller = new AbortController();
  readonly #timer: ReturnType<typeof setInterval>;
  #bytes = 0;

  constructor({ idleMs, idleBytes }: Pace) {
    this.#timer = setInterval(() => {
      if (this.#bytes < idleBytes) this.#controller.abort();
      this.#bytes = 0;
    }, idleMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  note(bytes: number): void {
    this.#bytes += bytes;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
