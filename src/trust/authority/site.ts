/** What all pages of the authority share: the site's name, its cookies, the tokens of its forms, answers. */
import { createHmac, randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { answerHtml } from "../../pages/answer.ts";
import { policyOf } from "../../pages/frame.ts";
import { isLoopback } from "../account/trusted/endpoints.ts";
import { type Authority, type Call, sameSecret } from "./context.ts";

/** The name of the site, by which a person knows where the page is from. */
export function siteName(authority: Pick<Authority, "publicUrl">): string {
  const { hostname: host, host: withPort } = new URL(authority.publicUrl());
  return isLoopback(host) ? thisMachine() : withPort;
}

export function thisMachine(): string {
  return `this machine (${hostname().replace(/[\p{Cc}\p{Cf}]/gu, "")})`;
}

const POLICY = policyOf();

/** A page. */
export function html(status: number, body: string, headers: Record<string, string> = {}): Response {
  return answerHtml(status, body, POLICY, headers);
}

/** Another page of this site in place of the answer to a form: a reload sends nothing twice. */
export function seeOther(path: string, headers: Record<string, string> = {}): Response {
  return html(303, "", { location: path, ...headers });
}

/** A cookie of this site: `form` binds forms to a browser, `admin` is an administrator's session. */
export interface Cookie {
  readonly name: string;
  /** Characters of its value, base64url. */
  readonly length: number;
}
export const FORM_COOKIE: Cookie = { name: "svc_form", length: 22 };
export const SESSION_COOKIE: Cookie = { name: "svc_admin", length: 43 };

/** With https the name says that no other host and no plain http has set it (RFC 6265bis §4.1.3.2). */
function cookieKind(authority: Authority, { name }: Cookie): { name: string; attributes: string } {
  const isSecure = authority.publicUrl().startsWith("https:");
  return isSecure ? { name: `__Host-${name}`, attributes: "; Secure" } : { name, attributes: "" };
}

/** The value that a browser sent, if it has the shape of one that this site gave. */
export function cookieOf(authority: Authority, call: Call, cookie: Cookie): string | undefined {
  const { name } = cookieKind(authority, cookie);
  const shape = new RegExp(`(?:^|;\\s*)${name}=([\\w-]{${cookie.length}})(?:;|$)`);
  return shape.exec(call.request.headers.get("cookie") ?? "")?.[1];
}

/**
 * The header that gives a browser a cookie until it is closed, which no script and no other site's request gets. An empty
 * value takes the cookie from it.
 */
export function withCookie(authority: Authority, cookie: Cookie, value: string): { "set-cookie": string } {
  const { name, attributes } = cookieKind(authority, cookie);
  const path = value === "" ? "Path=/; Max-Age=0" : "Path=/";
  return { "set-cookie": `${name}=${value}; ${path}; HttpOnly; SameSite=Strict${attributes}` };
}

/** The value of the browser's form cookie, or of a new one. */
export function formCookie(authority: Authority, call: Call): string {
  return cookieOf(authority, call, FORM_COOKIE) ?? randomBytes(16).toString("base64url");
}

/** The token of a form: only this process can make it, for the browser with this cookie and for this purpose. */
export function formToken(authority: Authority, cookie: string, purpose: string): string {
  return createHmac("sha256", authority.formSecret).update(`${cookie}\n${purpose}`).digest("base64url");
}

/** Whether a form has the token that this site gave with it. */
export function hasToken(form: URLSearchParams, token: string): boolean {
  return sameSecret(form.get("csrf") ?? "", token);
}
