/**
 * Which handler answers a request: pages for browsers at `/device`, endpoints for devices below a base of their own.
 */
import { compiled, type Found, type Route, routed } from "../../../pages/routes.ts";
import { isLoopback } from "../../account/trusted/endpoints.ts";
import { API_ROUTES } from "../api.ts";
import { APPROVAL_ROUTES } from "../approval.ts";
import { AUTHORIZATION_ROUTES } from "../authorization.ts";
import { type Authority, answerError, type Call, type Handler, sameSecret } from "../context.ts";
import { LICENSE_KEY_ROUTES } from "../license-keys.ts";
import { hostOf, isFromBrowser } from "../senders.ts";

/** Pages for browsers. Their handlers ask `visitOf` who asks. */
const PAGES = [APPROVAL_ROUTES];

/** What devices ask. A request that a web page sends is refused before any of these. */
const ENDPOINTS = [AUTHORIZATION_ROUTES, API_ROUTES, LICENSE_KEY_ROUTES];

/** What a server answers: pages by their path, endpoints by theirs below the base. */
export interface RouteTables {
  readonly pages: readonly Route<Handler>[];
  readonly endpoints: readonly Route<Handler>[];
}

/** What the local authority answers. */
export function localRoutes(): RouteTables {
  return { pages: compiled(PAGES), endpoints: compiled(ENDPOINTS) };
}

/**
 * What an organisation's authority also does. Its modules are loaded here: a login at the local authority has no use
 * for them.
 */
export async function organisationRoutes(): Promise<RouteTables> {
  const { ORGANISATION_ENDPOINTS, ORGANISATION_PAGES } = await import("../organisation/organisation-routes.ts");
  return {
    pages: compiled([...PAGES, ...ORGANISATION_PAGES]),
    endpoints: compiled([...ENDPOINTS, ...ORGANISATION_ENDPOINTS]),
  };
}

/**
 * Pages are at `/device`, endpoints below `apiPath`. The local authority has a secret there: loopback is open to
 * all users of the machine and to web pages, who could otherwise ask for codes until there are no more.
 */
export function answer(
  authority: Authority,
  { routes, apiPath }: { readonly routes: RouteTables; readonly apiPath: string },
  call: Omit<Call, "params">,
): Response | Promise<Response> {
  const { request, url } = call;
  // DNS rebinding (an attacker's name for loopback) shows in Host; with an approval code it is harmless.
  if (authority.approvalCode === undefined && !isLoopback(hostOf(request.headers.get("host") ?? ""))) {
    return answerError(421, "misdirected_request");
  }
  const page = routed(routes.pages, request.method, url.pathname);
  if (page !== undefined) return handled(authority, call, page);
  const base = url.pathname.slice(0, apiPath.length);
  if (!sameSecret(base, apiPath)) return answerError(404, "not_found");
  // Before the body is read: a web page that posts here costs no code and no room in the ledger.
  if (isFromBrowser(request)) return answerError(403, "access_denied");
  url.pathname = url.pathname.slice(apiPath.length);
  const endpoint = routed(routes.endpoints, request.method, url.pathname);
  return endpoint === undefined ? answerError(404, "not_found") : handled(authority, call, endpoint);
}

function handled(authority: Authority, call: Omit<Call, "params">, { route, params }: Found<Handler>) {
  if (route === undefined) return answerError(405, "method_not_allowed");
  call.fields.route = route.pattern;
  return route.handler(authority, { ...call, params });
}
