/**
 * A large document over HTTP, into a file as it comes. A connection that breaks is opened again for the rest, here a few
 * times and then by the next run; the rest is taken only where the server says that it is of the same document
 * (RFC 9110 §14). The bytes stay untrusted: what a server mixes all the same has to be noticed by the caller.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { CancelledError, OSError, RuntimeError, SvcError, TimeoutError, ValueError } from "../../../errors.ts";
import { errorField, type HttpRequest, openResponse, unreachable } from "../trusted/http.ts";
import { PartialFile, removePartials } from "./partial.ts";
import { factsOf, isEncoded, rangeHeaders, restOf } from "./ranges.ts";

export interface DownloadRequest extends Pick<HttpRequest, "peer" | "bearer" | "ca" | "signal"> {
  readonly base: string;
  readonly path: string;
  /** Where parts are kept, and under which name (partial.ts). */
  readonly folder: string;
  readonly name: string;
  /** Drops what an earlier run kept. */
  readonly anew?: boolean;
  /** Limit on all bytes together. */
  readonly bytesMax: number;
  /** The error for a response that brings nothing. @param code the `error` of its body, where that is JSON with one */
  readonly refused: (status: number, code: string | undefined) => SvcError;
  readonly onState?: (state: DownloadState) => void;
  readonly pace?: Partial<Pace>;
}

/** How far a download is. */
export interface DownloadState {
  /** Bytes that are there, those of earlier runs included. */
  readonly received: number;
  /** Those of them that this run did not download. */
  readonly kept: number;
  readonly total: number | undefined;
  /** The connection broke: milliseconds until it is tried again. */
  readonly pauseMs?: number;
}

/** How patient a download is. */
export interface Pace {
  /** A connection that brings less than `idleBytes` in so many milliseconds counts as broken. No limit on the whole. */
  readonly idleMs: number;
  readonly idleBytes: number;
  /** Milliseconds before the first new try, doubled with each. */
  readonly pauseMs: number;
  /** New tries in a row that bring less than `progressBytes` beyond what was there before. */
  readonly tries: number;
  readonly progressBytes: number;
}

const PACE: Pace = { idleMs: 30_000, idleBytes: 4096, pauseMs: 500, tries: 5, progressBytes: 1024 * 1024 };

/** A document that is there as a whole. */
export interface Downloaded {
  readonly bytes: Uint8Array;
  /** Whether it is put together of parts of several responses. */
  readonly resumed: boolean;
  /** Drops the file. */
  remove(): void;
  /** Leaves the file, where it was not removed, to the next run, which need not download it again. */
  close(): void;
}

/**
 * Downloads a document, or the rest of it.
 * @throws what httpRequest throws; OSError where the disk fails, or where the connection broke too often: then, and
 * after an interruption, the error says what is kept for the next run.
 */
export async function download(request: DownloadRequest): Promise<Downloaded> {
  const { folder, name, bytesMax } = request;
  removePartials(folder, name);
  const part = PartialFile.open(folder, name);
  try {
    if (request.anew || part.length > bytesMax) part.begin({});
    const transfer = new Transfer(request, part);
    await transfer.run();
    const bytes = part.read();
    return { bytes, resumed: transfer.resumed, remove: () => part.remove(), close: () => part.close() };
  } catch (error) {
    if (!isResumable(part)) part.remove();
    part.close();
    throw error;
  }
}

/** How one response ended: it brought all that was missing, or some of it, or what is kept is of no use, or it broke. */
type Outcome = "whole" | "more" | "anew" | OSError | TimeoutError;

class Transfer {
  resumed = false;
  /** Bytes of earlier runs that the part has. */
  #before: number;
  /** Whether a response of this run began to bring the document. Its bytes may be lost where it breaks at once. */
  #answered = false;
  readonly #pace: Pace;

  constructor(
    private readonly request: DownloadRequest,
    private readonly part: PartialFile,
  ) {
    this.#pace = { ...PACE, ...request.pace };
    this.#before = part.length;
  }

  async run(): Promise<void> {
    const { part, request } = this;
    const { tries, pauseMs, progressBytes } = this.#pace;
    let best = part.length;
    for (let failures = 0; ; ) {
      const outcome = await this.#response();
      if (outcome === "whole") return;
      // Counted from the farthest point: a server that begins anew each time and breaks would be asked for ever.
      if (part.length >= best + progressBytes) {
        best = part.length;
        failures = 0;
      }
      failures++;
      if (outcome instanceof Error) {
        if (!this.#answered || failures > tries) throw this.#kept(outcome);
        const ms = pauseMs * 2 ** (failures - 1);
        this.#report(ms);
        // An interruption is noticed by the next request.
        await sleep(ms, undefined, { signal: request.signal }).catch(() => undefined);
      } else if (failures > tries) {
        throw new RuntimeError(`${this.#server} does not answer with the parts that it is asked for: try again later`);
      }
    }
  }

  /** Sends one request for what is missing and takes what comes. */
  async #response(): Promise<Outcome> {
    const { part, request } = this;
    const { base, path, peer, bearer, ca } = request;
    // All of it may be there, of a run that could not install it: its last byte shows whether it is still the document.
    if (part.length === part.facts.total) part.dropLast();
    const idle = new IdleLimit(this.#pace);
    try {
      const headers = rangeHeaders(part.length, part.facts);
      const signal = request.signal ? AbortSignal.any([request.signal, idle.signal]) : idle.signal;
      const response = await openResponse(base, path, { peer, bearer, ca, headers, undecoded: true }, signal);
      const end = this.#begin(response, headers !== undefined) ?? (await this.#refusal(response));
      if (end === "anew" || end instanceof Error) {
        await response.body?.cancel();
        return end;
      }
      this.#answered = true;
      return await this.#take(response, end, idle);
    } catch (error) {
      if (request.signal?.aborted) throw this.#kept(new CancelledError("interrupted"));
      if (error instanceof SvcError) throw error;
      if (idle.signal.aborted) return new TimeoutError(`${this.#server} did not answer in time`);
      return unreachable(this.#server, error, "disconnected");
    } finally {
      idle.stop();
    }
  }

  /**
   * Decides about a response by its status and headers: with which length of the part its body ends, if known. Undefined
   * for one that brings nothing.
   */
  #begin(response: Response, asksForRest: boolean): { end: number | undefined } | "anew" | undefined {
    const { part, request } = this;
    const { status, headers } = response;
    if (status === 200) {
      // Refused and not decoded: offsets, lengths and the cap are those of the document's own bytes.
      if (isEncoded(headers)) throw new RuntimeError(`${this.#server} encodes what it was asked to send as it is`);
      const facts = factsOf(headers);
      if (facts.total !== undefined && facts.total > request.bytesMax) throw this.#tooLong();
      part.begin(facts);
      this.#before = 0;
      this.resumed = false;
      return { end: facts.total };
    }
    if (asksForRest && (status === 206 || status === 416)) {
      const rest = status === 206 ? restOf(headers, part.length, part.facts) : undefined;
      if (rest !== undefined) {
        if (rest.total > request.bytesMax) throw this.#tooLong();
        part.facts = { ...part.facts, total: rest.total };
        this.resumed = true;
        return { end: rest.end };
      }
      part.begin({});
      return "anew";
    }
    return undefined;
  }

  /** The error where it passes by itself. @throws the error where it does not */
  async #refusal(response: Response): Promise<OSError> {
    const { status } = response;
    // Of a status that is refused for good the reason counts; its text is short, or is not read.
    const code = status === 403 ? errorField(await beginningOf(response, ERROR_BYTES_MAX)) : undefined;
    const error = this.request.refused(status, code);
    if (this.#answered && TEMPORARY.includes(status)) return new OSError(error.message);
    throw error;
  }

  async #take(response: Response, { end }: { end: number | undefined }, idle: IdleLimit): Promise<Outcome> {
    const { part, request } = this;
    // Counted as it comes: an announced length can be absent or wrong. Leaving the loop cancels the stream.
    for await (const chunk of response.body ?? []) {
      idle.note(chunk.byteLength);
      const length = part.length + chunk.byteLength;
      if (length > request.bytesMax) throw this.#tooLong();
      if (end !== undefined && length > end) {
        part.begin({});
        return "anew";
      }
      part.append(chunk);
      this.#report();
    }
    const { total } = part.facts;
    return total === undefined || part.length === total ? "whole" : "more";
  }

  #report(pauseMs?: number): void {
    const { length, facts } = this.part;
    this.request.onState?.({ received: length, kept: Math.min(this.#before, length), total: facts.total, pauseMs });
  }

  get #server(): string {
    return `${this.request.peer} at ${new URL(this.request.base).origin}`;
  }

  #tooLong(): ValueError {
    this.part.remove();
    return new ValueError(`${this.request.peer} answered with more than ${this.request.bytesMax} bytes`);
  }

  /** The same error, saying what is kept. */
  #kept<E extends Error>(error: E): E {
    const { part } = this;
    const { total } = part.facts;
    if (isResumable(part)) {
      const of = total === undefined ? "" : ` of ${megabytes(total)}`;
      error.message += `; ${megabytes(part.length)}${of} MB are kept, and the same command goes on from there`;
    }
    return error;
  }
}

/** At most so many bytes of a body; the rest is not read. */
async function beginningOf({ body }: Response, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let received = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    received += chunk.byteLength;
    if (received >= bytesMax) break;
  }
  return Buffer.concat(chunks).subarray(0, bytesMax);
}

/** Bytes of an error's body that are read. */
const ERROR_BYTES_MAX = 4096;

/** Statuses that pass by themselves, in the middle of a download. */
const TEMPORARY = [408, 429, 500, 502, 503, 504];

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

function isResumable(part: PartialFile): boolean {
  return part.length > 0 && part.facts.validator !== undefined;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
