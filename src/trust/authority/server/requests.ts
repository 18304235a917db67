/** What every request goes through: whom it is from, whether there is room for it, its answer, a line of the log. */

import { OSError, TimeoutError } from "../../../errors.ts";
import { isLoopback } from "../../account/trusted/endpoints.ts";
import { addressGroup, clientAddress, type Proxies } from "../addresses.ts";
import { type Authority, answerError, type Call, errorCodeOf, retryAfter } from "../context.ts";
import { shownTo } from "../errors-shown.ts";
import { Guesses } from "../guesses.ts";
import { Room } from "./room.ts";
import { answer, type RouteTables } from "./routes.ts";

export interface Arrival {
  /** Whose X-Forwarded-For is believed. */
  readonly proxies: Proxies | undefined;
  /** Whether this server speaks TLS itself. */
  readonly isEncrypted: boolean;
  readonly routes: RouteTables;
  /** Base of the endpoints. */
  readonly apiPath: string;
  readonly room?: Room;
  /** Wrong secrets of one address in `windowMs` that are answered as such. */
  readonly missesOfAddress?: number;
}

/**
 * Wrong tokens and keys of one address in ten minutes, beyond which they are answered 429. A right one never waits: an
 * office behind one address has more of these after a revocation than any person makes.
 */
const MISSES_OF_ADDRESS = 300;
const WINDOW_MS = 600_000;

/** The method of a request as the log has it; others are whatever a client likes. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]);

/** Answers requests. @param peer the address at the other end of the connection */
export type Answering = (request: Request, peer: string | undefined) => Promise<Response>;

export function answering(authority: Authority, arrival: Arrival): Answering {
  const { proxies, isEncrypted, room = new Room() } = arrival;
  const perAddress = arrival.missesOfAddress ?? MISSES_OF_ADDRESS;
  const misses = new Guesses({ perAddress, windowMs: WINDOW_MS, chance: Infinity });

  /** The answer of the handlers, where the request gets so far. */
  async function answered(peer: string | undefined, call: Omit<Call, "params">): Promise<Response> {
    if (proxies !== undefined && !isEncrypted && !isProxied(peer, proxies)) return answerError(403, "use_https");
    const response = await answer(authority, arrival, call);
    if (response.status !== 401) return response;
    const waitMs = misses.miss(addressGroup(call.address), 0, authority.now());
    return waitMs > 0 ? answerError(429, "too_many_failures", retryAfter(waitMs)) : response;
  }

  return async (request, peer) => {
    const started = performance.now();
    const address = clientAddress(peer, request.headers, proxies);
    const group = address === undefined ? undefined : addressGroup(address);
    const fields: Call["fields"] = {};
    let response: Response;
    let fault: unknown;
    if (!room.enter(group)) {
      response = answerError(503, "temporarily_unavailable", retryAfter(1000));
    } else {
      try {
        const url = targetOf(request, authority.publicUrl());
        if (url === undefined) response = answerError(400, "invalid_request");
        else response = await answered(peer, { request, url, address, fields });
      } catch (error) {
        fault = error;
        response = failed(error);
      } finally {
        room.leave(group);
      }
    }
    // A client that has gone away is answered in vain, and its unread body is not a fault.
    const isGone = request.signal.aborted;
    const { route = "-", ...more } = fields;
    const ms = Math.round(performance.now() - started);
    const method = METHODS.has(request.method) ? request.method : "other";
    const { status } = response;
    const error = errorCodeOf(response);
    const about = {
      ...{ method, route, status, ms, address: address ?? null, ...more },
      ...(error !== undefined && { error }),
      ...(isGone && { gone: true }),
    };
    const outcome = error === undefined ? status : `${status} ${error}`;
    const message = `${method} ${route} ${outcome} in ${ms} ms for ${address ?? "an address that the proxy does not say"}`;
    authority.log({ level: status < 500 || isGone ? "info" : "warn", event: "request", message, fields: about });
    if (fault !== undefined && !isGone) reported(authority, fault, route);
    return shownTo(request, authority, response);
  };
}

/** The one place that makes answers of errors: what the disk or another process causes passes, all else is a fault. */
function failed(error: unknown): Response {
  return isPassing(error)
    ? answerError(503, "temporarily_unavailable", retryAfter(RETRY_MS))
    : answerError(500, "server_error");
}

/** After which a client may ask again where the records could not be read or written. */
const RETRY_MS = 5000;

/** SQLite's errors that the system or another process causes; SQLITE_ERROR, a constraint or misuse is ours. */
const PASSING = /^SQLITE_(?:BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|NOMEM|PROTOCOL)/;

function isPassing(error: unknown): boolean {
  return error instanceof OSError || error instanceof TimeoutError || PASSING.test(codeOf(error));
}

function codeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: string };
  return typeof code === "string" ? code : (name ?? "unknown");
}

/** The message of a passing error is SQLite's or ours, without values; others may quote what a client sent. */
function reported(authority: Authority, error: unknown, route: string | number | boolean | null): void {
  const code = codeOf(error);
  const reason = isPassing(error) && error instanceof Error ? error.message : code;
  authority.log({ level: "error", event: "failure", message: `${route} failed: ${reason}`, fields: { route, code } });
}

/** Whether a connection is a proxy's, or of this machine, whose other users can reach the port in any case. */
function isProxied(peer: string | undefined, proxies: Proxies): boolean {
  const plain = peer?.replace(/^::ffff:(?=[\d.]+$)/i, "") ?? "";
  return isLoopback(plain) || proxies.has(plain);
}

const METADATA = "/.well-known/oauth-authorization-server";

/**
 * The address that was asked for, on the public origin and relative to the public address, whatever host the request
 * names. Proxies may pass on the path of the public address or strip it; metadata has it at its end (RFC 8414 §3.1).
 * Bun gives the path alone if `Host` is invalid or missing (HTTP/1.0).
 */
export function targetOf(request: Request, publicUrl: string): URL | undefined {
  const { pathname, search } = URL.parse(request.url, publicUrl) ?? {};
  if (!pathname?.startsWith("/")) return undefined;
  const { origin, pathname: base } = new URL(publicUrl);
  const hasBase = base !== "/";
  if (hasBase && pathname === METADATA + base) return new URL(`${origin}${METADATA}${search}`);
  const relative = hasBase && pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : pathname;
  return new URL(`${origin}${relative}${search}`);
}
