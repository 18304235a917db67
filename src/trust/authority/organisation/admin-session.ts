/** Signing in to the administrator's pages, and out. */

import { administratorOf } from "../administrators.ts";
import { type Authority, type Call, formOf, type Routes, retryAfter } from "../context.ts";
import { visitOf } from "../senders.ts";
import { cookieOf, FORM_COOKIE, formToken, hasToken, SESSION_COOKIE, seeOther, withCookie } from "../site.ts";
import {
  addedAt,
  adminBase,
  endedSession,
  NOT_OURS,
  refusal,
  refused,
  SIGN_IN,
  sayKept,
  sent,
  sessionOf,
  signIn,
} from "./admin.ts";

const WRONG = "That code is not right.";
const TOO_MANY = "Too many wrong codes came from this address. The right one is still accepted.";
const OUT_OF_DATE = "This page was out of date, or the browser keeps no cookies for this site. Enter the code again.";
const FIRST = "/devices";

/** GET /admin: the sign-in, or the first page for an administrator who is signed in. */
function start(authority: Authority, call: Call): Response {
  const foreign = refusal(authority, call);
  if (foreign) return foreign;
  const { searchParams } = call.url;
  const next = below(searchParams.get("next"));
  if (sessionOf(authority, call)) return seeOther(adminBase(authority) + next);
  const isOut = searchParams.get("signed") === "out";
  const problem = isOut ? undefined : endedSession(authority, call);
  return signIn(authority, call, 200, { next, problem, ...(isOut && { said: "You are signed out." }) });
}

/** POST /admin/sign-in. The session gets a new id, whatever the browser brought along. */
async function enter(authority: Authority, call: Call): Promise<Response> {
  if (visitOf(authority, call) !== "own") return refused(authority, 403, NOT_OURS);
  const form = (await formOf(call.request)) ?? new URLSearchParams();
  const next = below(form.get("next"));
  const isKept = form.get("kept") === "yes";
  const again = (status: number, page: { problem: string; isWrong?: boolean }, headers = {}) =>
    signIn(authority, call, status, { next, isKept, ...page }, headers);
  const cookie = cookieOf(authority, call, FORM_COOKIE);
  if (cookie === undefined || !hasToken(form, formToken(authority, cookie, SIGN_IN))) {
    return again(403, { problem: OUT_OF_DATE });
  }
  const { ledger, sessions } = authority;
  const name = administratorOf(authority, (form.get("code") ?? "").trim(), call.address);
  if (name === undefined) return again(403, { problem: WRONG, isWrong: true });
  if (typeof name === "object") {
    return again(429, { problem: TOO_MANY, isWrong: true }, retryAfter(name.waitMs));
  }
  await ledger.commit(() => authority.audit("admin_signed_in", { actor: name, address: call.address }));
  const earlier = cookieOf(authority, call, SESSION_COOKIE);
  if (earlier !== undefined) sessions.end(earlier);
  const session = sessions.start(name, addedAt(authority, name) ?? Number.NaN, authority.now());
  if (isKept) sayKept(session, next);
  return seeOther(adminBase(authority) + next, withCookie(authority, SESSION_COOKIE, session.id));
}

/** POST /admin/sign-out. */
const leave = sent(
  () => FIRST,
  ({ authority, session, base }) => {
    authority.sessions.end(session.id);
    return seeOther(`${base}?signed=out`, withCookie(authority, SESSION_COOKIE, ""));
  },
);

/** A page of a form's address was asked for, by typing it again after an answer that was no other page. */
function toStart(authority: Authority, call: Call): Response {
  return refusal(authority, call) ?? seeOther(adminBase(authority));
}

export const ADMIN_SESSION_ROUTES: Routes = {
  "GET /admin": start,
  "GET /admin/": start,
  "POST /admin/sign-in": enter,
  "GET /admin/sign-in": toStart,
  "POST /admin/sign-out": leave,
  "GET /admin/sign-out": toStart,
};

/** A path below the base and its query, as a page of this site gave it; else the first page. */
function below(next: string | null): string {
  const { origin, pathname, search } = URL.parse(next ?? "", "http://below") ?? {};
  const isPage = origin === "http://below" && /^(?:\/[\w-]{1,64}){1,3}$/.test(pathname ?? "");
  return isPage ? `${pathname}${search}`.slice(0, 4000) : FIRST;
}
