/**
 * What sent a request: a device, this site's own page, a link that a person followed, or another site's page. Browsers
 * say so in headers that pages cannot change (Fetch Metadata; RFC 6454). What another site's page sends is refused
 * before anything is looked up, counted or stored, so that no web page can use up limits in the name of the person who
 * sees it.
 */
import { isLoopback } from "../account/trusted/endpoints.ts";
import type { Authority, Call } from "./context.ts";

/** The host of a `Host` header, without its port; empty if it is invalid. */
export function hostOf(header: string): string {
  return URL.parse(`http://${header}/`)?.hostname ?? "";
}

/** Whether a browser sent it for a page: devices, which the endpoints are for, send neither header. */
export function isFromBrowser(request: Request): boolean {
  return request.headers.has("origin") || request.headers.has("sec-fetch-site");
}

export type Visit =
  /** This site's page, an address that was typed, or a client that is not a browser. */
  | "own"
  /** A link of another site, into a window of its own: shown to a person, who has done nothing here yet. */
  | "link"
  /** An image, a script, a frame, a form of another site. */
  | "foreign";

/** What asks for a page. Another port of the same host is another site here, though browsers call it "same-site". */
export function visitOf(authority: Authority, call: Call): Visit {
  const { headers } = call.request;
  const site = headers.get("sec-fetch-site");
  if (site === null || site === "same-origin" || site === "none")
    return isOwnOrigin(authority, call) ? "own" : "foreign";
  const isWindow = headers.get("sec-fetch-mode") === "navigate" && headers.get("sec-fetch-dest") === "document";
  return isWindow && !headers.has("origin") ? "link" : "foreign";
}

/**
 * Whether `Origin`, which browsers send with forms and with scripts' requests, is absent or this site. On loopback it
 * has several names, of which `Host` has the one that was used; anywhere else `Host` is what the client likes.
 */
function isOwnOrigin(authority: Authority, call: Call): boolean {
  const origin = call.request.headers.get("origin");
  const { origin: own, hostname, protocol } = new URL(authority.publicUrl());
  if (origin === null || origin === own) return true;
  const host = call.request.headers.get("host") ?? "";
  return isLoopback(hostname) && isLoopback(hostOf(host)) && origin === `${protocol}//${host}`;
}
