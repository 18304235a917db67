/**
 * All HTTP of a login and of an upgrade. Every request has a capped response, no redirect to another origin unless it is
 * allowed, no plain http beyond loopback, a deadline, and error messages without secrets.
 */
import { isObject } from "../../../checks/kinds.ts";
import {
  attempt,
  CancelledError,
  OSError,
  PermissionError,
  RuntimeError,
  SvcError,
  TimeoutError,
  ValueError,
} from "../../../errors.ts";
import { AUTHORITY_RESPONSE_BYTES_MAX } from "../../../limits.ts";
import { certificateFault } from "./certificate-fault.ts";
import { isLoopback, type PinnedCa, secureBase } from "./endpoints.ts";

export interface HttpRequest {
  /** The peer's name in messages: "the accounts server". */
  readonly peer: string;
  readonly method?: "GET" | "POST";
  /** Sent as application/x-www-form-urlencoded, as OAuth requires. */
  readonly form?: Record<string, string>;
  readonly json?: unknown;
  readonly bearer?: string | undefined;
  /** For requests to its origin, instead of the system's certificates and those of NODE_EXTRA_CA_CERTS. */
  readonly ca?: PinnedCa | undefined;
  /** Redirects may lead to other origins by https: nothing secret is sent, and a signature verifies what comes. */
  readonly anyOrigin?: boolean | undefined;
  /** Limit on the response's bytes, after any decompression. */
  readonly bytesMax?: number;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

const REDIRECTS_MAX = 3;
const TIMEOUT_MS = 30_000;

/**
 * One request to `base` + `path`, its answer in memory. Responses of any HTTP status are returned.
 * @throws PermissionError for plain http beyond loopback and for a redirect to another origin; ValueError for a
 * response beyond the cap; OSError if the peer cannot be reached; TimeoutError; CancelledError.
 */
export async function httpRequest(base: string, path: string, request: HttpRequest): Promise<HttpAnswer> {
  const deadline = AbortSignal.timeout(request.timeoutMs ?? TIMEOUT_MS);
  const signal = request.signal ? AbortSignal.any([request.signal, deadline]) : deadline;
  const bytesMax = request.bytesMax ?? AUTHORITY_RESPONSE_BYTES_MAX;
  try {
    const response = await openResponse(base, path, request, signal);
    return {
      status: response.status,
      headers: response.headers,
      body: await readBody(response, request.peer, bytesMax),
    };
  } catch (error) {
    if (error instanceof SvcError) throw error;
    if (request.signal?.aborted) throw new CancelledError("cancelled");
    const { origin } = new URL(base);
    if (deadline.aborted) throw new TimeoutError(`${request.peer} at ${origin} did not answer in time`);
    throw unreachable(`${request.peer} at ${origin}`, error);
  }
}

/**
 * The error for a peer that `fetch` did not reach. What is wrong with a certificate is named, by Bun's code alone: it
 * is not a fault of the network.
 */
export function unreachable(server: string, error: unknown, reason?: "disconnected"): OSError {
  const fault = certificateFault(String((error as { code?: unknown }).code), CA_REMEDY);
  const why = fault === undefined ? "check the address and this machine's network" : `its certificate ${fault}`;
  return new OSError(`cannot reach ${server}: ${why}`, reason);
}

const CA_REMEDY =
  "'svc login --ca-file FILE' and NODE_EXTRA_CA_CERTS name a file with the certificates of an organisation";

/**
 * The response to one request, its body unread and without a cap; redirects within the origin are followed, and with
 * `anyOrigin` others, the same headers sent again. `signal` ends the reading of the body too.
 * @throws as httpRequest for what is refused; what `fetch` throws where the peer cannot be reached or `signal` aborts.
 */
export async function openResponse(
  base: string,
  path: string,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<Response> {
  const root = secureBase(base, request.peer);
  let url = new URL(root.href.replace(/\/+$/, "") + path);
  let method = request.method ?? "GET";
  for (let hops = 0; ; hops++) {
    const response = await send(url, method, request, signal);
    const target = redirectTarget(response, url);
    if (target === undefined) return response;
    await response.body?.cancel();
    if (target.origin !== root.origin && !(request.anyOrigin && mayFollow(target, url))) {
      const where = request.anyOrigin ? `an address that is not https (${target.origin})` : "another origin";
      throw new PermissionError(`${request.peer} at ${root.origin} redirects to ${where}, refused`);
    }
    if (hops === REDIRECTS_MAX) throw new RuntimeError(`${request.peer} at ${root.origin} redirects without end`);
    // Only 307 and 308 keep the method (RFC 9110 §15.4); a POST must not become a GET.
    if (method === "POST" && response.status !== 307 && response.status !== 308) {
      throw new RuntimeError(`${request.peer} at ${root.origin} answered a POST with redirect ${response.status}`);
    }
    method = response.status === 303 ? "GET" : method;
    url = target;
  }
}

/**
 * The response's body as a JSON object, its values untrusted.
 * @throws RuntimeError if it is anything else.
 */
export function jsonObject(answer: HttpAnswer, peer: string): Record<string, unknown> {
  // The parser's own error would quote the response.
  const value: unknown = attempt(() => JSON.parse(new TextDecoder().decode(answer.body)));
  if (isObject(value)) return value;
  throw new RuntimeError(`${peer} answered ${answer.status} with something that is not a JSON object`);
}

/** The `error` of a body that is a JSON object with one (RFC 6749 §5.2); undefined for every other. */
export function errorField(body: Uint8Array): string | undefined {
  const value: unknown = attempt(() => JSON.parse(new TextDecoder().decode(body)));
  return isObject(value) && typeof value.error === "string" ? value.error : undefined;
}

/**
 * A field that must be short printable ASCII, such as a token, a code or an address: it is stored, sent or shown.
 * @throws RuntimeError naming the field, never its value.
 */
export function printableField(body: Record<string, unknown>, field: string, peer: string, lengthMax = 8192): string {
  const value = body[field];
  if (typeof value === "string" && value.length > 0 && value.length <= lengthMax && /^[\x21-\x7e]+$/.test(value))
    return value;
  throw new RuntimeError(`${peer} answered without a usable '${field}'`);
}

async function send(url: URL, method: "GET" | "POST", request: HttpRequest, signal: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = {
    accept: "application/json, application/octet-stream",
    "accept-encoding": "identity",
  };
  if (request.bearer !== undefined) headers.authorization = `Bearer ${request.bearer}`;
  let body: string | undefined;
  if (method === "POST" && request.form !== undefined) {
    headers["content-type"] = "application/x-www-form-urlencoded";
    body = new URLSearchParams(request.form).toString();
  } else if (method === "POST") {
    headers["content-type"] = "application/json";
    body = JSON.stringify(request.json ?? {});
  }
  // Bun reuses a connection that was kept open only for the same `ca`.
  const tls = request.ca?.origin === url.origin ? { ca: request.ca.pem } : undefined;
  const start = () => fetch(url, { method, headers, body, redirect: "manual", signal, tls });
  return isLoopback(url.hostname) ? withoutProxy(start) : start();
}

/**
 * Bun's fetch sends even loopback requests, with their tokens, through HTTP_PROXY, and has no option against it. It
 * reads NO_PROXY when it is called, so the variable is set only for the call.
 */
function withoutProxy<T>(start: () => T): T {
  const saved = { NO_PROXY: process.env.NO_PROXY, no_proxy: process.env.no_proxy };
  process.env.NO_PROXY = "*";
  process.env.no_proxy = "*";
  try {
    return start();
  } finally {
    for (const name of ["NO_PROXY", "no_proxy"] as const) {
      if (saved[name] === undefined) delete process.env[name];
      else process.env[name] = saved[name];
    }
  }
}

/** Whether a redirect to another origin keeps what https protects; on loopback there is nothing to lose. */
function mayFollow(target: URL, from: URL): boolean {
  const isOpen = (url: URL) => url.protocol === "http:" && isLoopback(url.hostname);
  return target.protocol === "https:" || (isOpen(target) && isOpen(from));
}

function redirectTarget(response: Response, from: URL): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(response.status)) return undefined;
  const location = response.headers.get("location");
  return location === null ? undefined : (URL.parse(location, from.href) ?? undefined);
}

/**
 * The whole body, after any decompression.
 * @param onBytes called with the length of each piece as it arrives
 * @throws ValueError for more than `bytesMax` bytes; what `fetch` throws where the connection breaks
 */
export async function readBody(
  response: Response,
  peer: string,
  bytesMax: number,
  onBytes?: (bytes: number) => void,
): Promise<Uint8Array> {
  const announced = Number(response.headers.get("content-length") ?? Number.NaN);
  const tooLong = new ValueError(`${peer} answered with more than ${bytesMax} bytes`);
  if (announced > bytesMax) {
    await response.body?.cancel().catch(() => undefined);
    throw tooLong;
  }
  const chunks: Uint8Array[] = [];
  let received = 0;
  // Counted as it arrives: an announced length can be absent or wrong. Leaving the loop cancels the stream.
  for await (const chunk of response.body ?? []) {
    received += chunk.byteLength;
    if (received > bytesMax) throw tooLong;
    chunks.push(chunk);
    onBytes?.(chunk.byteLength);
  }
  return new Uint8Array(Buffer.concat(chunks));
}
