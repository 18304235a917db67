/**
 * Downloads into memory: a connection that brings too little ends, and one that breaks is tried again. The bytes are
 * untrusted.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { CancelledError, OSError, SvcError, TimeoutError } from "../../../errors.ts";
import { type HttpRequest, openResponse, readBody, unreachable } from "./http.ts";

export interface Download extends Pick<HttpRequest, "peer" | "bearer" | "ca" | "anyOrigin"> {
  /** Base address of the server. */
  readonly base: string;
  readonly path: string;
  readonly bytesMax: number;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined;
  readonly pace?: Partial<Pace> | undefined;
  /** The error for a response of another status than 200. Its body is unread. */
  refusal(response: Response): SvcError | Promise<SvcError>;
}

export interface DownloadProgress {
  /** From 1; each attempt begins at the first byte. */
  readonly attempt: number;
  readonly received: number;
  /** Bytes of the whole, where the server announced them. */
  readonly total: number | undefined;
}

/** How long a download waits. */
export interface Pace {
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

/** Attempts of a download. Each begins again. */
export const ATTEMPTS = 3;

/** Statuses of a server or proxy that may answer the next attempt. */
const TEMPORARY: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/** A failure after the server had begun to send: the next attempt may succeed. */
class Interrupted extends Error {
  constructor(override readonly cause: SvcError) {
    super(cause.message);
  }
}

/**
 * `base` + `path`, whole.
 * @throws what `refusal` returns; PermissionError for plain http beyond loopback and for a redirect that is refused;
 *   ValueError for more than `bytesMax` bytes; OSError or TimeoutError if the server cannot be reached or the connection
 *   broke in each attempt; CancelledError
 */
export async function download(request: Download): Promise<Uint8Array> {
  const { signal, pace } = request;
  for (let attempt = 1; ; attempt++) {
    try {
      return await once(request, attempt);
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error;
      if (attempt === ATTEMPTS) throw error.cause;
      const pauseMs = (pace?.pauseMs ?? PACE.pauseMs) * 2 ** (attempt - 1);
      // The next attempt notices an interruption.
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

async function once(request: Download, attempt: number): Promise<Uint8Array> {
  const { base, path, peer, bytesMax } = request;
  const server = () => `${peer} at ${new URL(base).origin}`;
  const idle = new IdleLimit({ ...PACE, ...request.pace });
  const signal = request.signal ? AbortSignal.any([request.signal, idle.signal]) : idle.signal;
  let total: number | undefined;
  let isBegun = false;
  try {
    const { bearer, ca, anyOrigin } = request;
    const response = await openResponse(base, path, { peer, bearer, ca, anyOrigin }, signal);
    if (response.status !== 200) {
      const refused = await request.refusal(response);
      throw attempt > 1 && TEMPORARY.has(response.status) ? new Interrupted(refused) : refused;
    }
    isBegun = true;
    const announced = Number(response.headers.get("content-length") ?? Number.NaN);
    // Of a body that a proxy compresses on the way, the length is that of the compressed bytes.
    const isPlain = (response.headers.get("content-encoding") ?? "identity") === "identity";
    total = isPlain && Number.isSafeInteger(announced) ? announced : undefined;
    let received = 0;
    const whole = await readBody(response, peer, bytesMax, (bytes) => {
      received += bytes;
      idle.note(bytes);
      request.onProgress?.({ attempt, received, total });
    });
    if (total !== undefined && received !== total) {
      throw new OSError(`${server()} sent ${received} of ${total} bytes`, "disconnected");
    }
    return whole;
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
