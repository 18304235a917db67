/** Which handler answers a request: pages for browsers at `/device`, endpoints for devices below a base of their own. */
import { isLoopback } from "../account/endpoints.ts";
import { deviceNonce, deviceRegister, onboard, runtimeBundle } from "./api.ts";
import { approvalDecision, approvalPage } from "./approval.ts";
import { deviceCode, deviceToken } from "./authorization.ts";
import { type Authority, answerError, type Call, sameSecret } from "./context.ts";
import { isFromBrowser } from "./senders.ts";

type Handler = (authority: Authority, call: Call) => Response | Promise<Response>;

const PAGES: Record<string, Handler> = {
  "GET /device": approvalPage,
  "POST /device": approvalDecision,
};

const ENDPOINTS: Record<string, Handler> = {
  "POST /oauth/device/code": deviceCode,
  "POST /oauth/device/token": deviceToken,
  "POST /v1/svc/onboard": onboard,
  "POST /v1/device/nonce": deviceNonce,
  "POST /v1/device/register": deviceRegister,
};

/**
 * Pages are at `/device`, endpoints below `apiPath`. A login's own authority has a secret there: loopback is open to all
 * users of the machine and to web pages, who could otherwise ask for codes until there are no more.
 */
export function answer(
  authority: Authority,
  apiPath: string,
  request: Request,
  address: string | undefined,
): Response | Promise<Response> {
  const url = new URL(request.url);
  // DNS rebinding (an attacker's name for loopback) shows in Host; with an approval code it is harmless.
  if (authority.approvalCode === undefined && !isLoopback(url.hostname)) return answerError(421, "misdirected_request");
  const page = routed(PAGES, request.method, url.pathname);
  if (typeof page === "function") return page(authority, { request, url, address });
  if (page !== undefined) return page;
  const base = url.pathname.slice(0, apiPath.length);
  if (!sameSecret(base, apiPath)) return answerError(404, "not_found");
  // Before the body is read: a web page that posts here costs no code and no room in the ledger.
  if (isFromBrowser(request)) return answerError(403, "access_denied");
  url.pathname = url.pathname.slice(apiPath.length);
  const call = { request, url, address };
  const endpoint = routed(ENDPOINTS, request.method, url.pathname);
  if (typeof endpoint === "function") return endpoint(authority, call);
  if (endpoint !== undefined) return endpoint;
  const reads = request.method === "GET" || request.method === "HEAD";
  if (reads && url.pathname.startsWith("/runtime/")) return runtimeBundle(authority, call);
  return answerError(404, "not_found");
}

/** The handler of a method and path, 405 for a known path with another method, or undefined. */
function routed(routes: Record<string, Handler>, method: string, path: string): Handler | Response | undefined {
  const handler = routes[`${method} ${path}`];
  if (handler) return handler;
  const known = Object.keys(routes).some((route) => route.endsWith(` ${path}`));
  return known ? answerError(405, "method_not_allowed") : undefined;
}
