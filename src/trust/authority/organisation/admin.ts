/**
 * What every page and form of administrators goes through: who sent it, whose session it is, the form's token. A form
 * is answered with another page (303), so that neither a reload nor the way back sends it again.
 */

import { errorPage } from "../../../pages/error.ts";
import { type Authority, type Call, formOf, type Handler } from "../context.ts";
import { type Page, problemPage, type Section } from "../pages/parts.ts";
import { followedLinkPage, type SignInPage, signInPage } from "../pages/sign-in.ts";
import { visitOf } from "../senders.ts";
import type { Session } from "../sessions.ts";
import {
  cookieOf,
  FORM_COOKIE,
  formCookie,
  formToken,
  hasToken,
  html,
  SESSION_COOKIE,
  seeOther,
  siteName,
  withCookie,
} from "../site.ts";
import type { Actor } from "./device-actions.ts";

/** The purpose of the sign-in form's token. */
export const SIGN_IN = "administrator's sign-in";
/** What a form of another site is answered. */
export const NOT_OURS = "This form did not come from this site.";
const KEPT = "You were signed out before this was done. Nothing was changed: check it, then send it again.";
const ENDED =
  "You are signed out: a session ends after an hour without use, after eight hours, and when the server starts again.";

/** A signed-in administrator's request. */
export interface Visitor extends Page {
  readonly authority: Authority;
  readonly call: Call;
  readonly session: Session;
  /** The path below which the pages are, as browsers see it. */
  readonly base: string;
  /** Who does what a form asks for. */
  readonly actor: Actor;
}

export type Shown = (visitor: Visitor) => Response | Promise<Response>;
export type Sent = (visitor: Visitor, form: URLSearchParams) => Response | Promise<Response>;

/** The path of the pages for browsers, without a slash at its end. */
export function adminBase(authority: Authority): string {
  return `${new URL(authority.publicUrl()).pathname.replace(/\/+$/, "")}/admin`;
}

/**
 * Answers what other sites sent, before anything is looked up: a link shows a page with a link, the rest is refused.
 */
export function refusal(authority: Authority, call: Call): Response | undefined {
  const visit = visitOf(authority, call);
  if (visit === "own") return undefined;
  // Browsers send the session's cookie with no link of another site. The person's own click goes on from here.
  if (visit === "link" && call.request.method === "GET") {
    return html(200, followedLinkPage(siteName(authority), adminBase(authority) + below(call)));
  }
  return refused(authority, 403, "Another site's page asked for this one.");
}

/** An error, for a person who may not be signed in. */
export function refused(authority: Authority, status: number, problem: string): Response {
  const way = `<p><a href="${adminBase(authority)}">Administration</a></p>`;
  return html(status, errorPage(siteName(authority), problem, way));
}

/** A page. Without a session the sign-in is shown, and leads back to it. */
export function view(page: Shown): Handler {
  return (authority, call) => {
    const foreign = refusal(authority, call);
    if (foreign) return foreign;
    const visitor = visitorOf(authority, call);
    if (visitor) return page(visitor);
    const next = below(call) + call.url.search;
    return seeOther(`${adminBase(authority)}?${new URLSearchParams({ next })}`);
  };
}

/**
 * A form. What was typed is not lost with a session: the sign-in leads back to the form as it was, and nothing was
 * done.
 * @param back the path and query below the base that show the form with what it had
 */
export function sent(back: (call: Call, form: URLSearchParams) => string, action: Sent): Handler {
  return async (authority, call) => {
    if (visitOf(authority, call) !== "own") return refused(authority, 403, NOT_OURS);
    const form = await formOf(call.request);
    if (form === undefined) return refused(authority, 400, "That is not a form of this site.");
    const visitor = visitorOf(authority, call);
    if (visitor === undefined) {
      const problem = "You are signed out, and nothing was changed. Sign in, and the form is there as you had it.";
      return signIn(authority, call, 403, { next: back(call, form), isKept: true, problem });
    }
    if (hasToken(form, tokenFor(visitor, below(call)))) return action(visitor, form);
    // A form of an earlier session, most often in another tab.
    return done(visitor, back(call, form), KEPT);
  };
}

/** Goes on to another page below the base, which says what was done. */
export function done({ base, session }: Visitor, next: string, said?: string): Response {
  if (said !== undefined) session.said.set(next.replace(/\?.*/, ""), said);
  return seeOther(base + next);
}

/** Gives a page or a form the record that its address names, or answers that it is not there. */
export function about<T>(find: (visitor: Visitor) => T | undefined, absent: (visitor: Visitor) => Response) {
  return <A extends unknown[]>(action: (visitor: Visitor, record: T, ...more: A) => Response | Promise<Response>) =>
    (visitor: Visitor, ...more: A): Response | Promise<Response> => {
      const record = find(visitor);
      return record === undefined ? absent(visitor) : action(visitor, record, ...more);
    };
}

/** A page for what is not there, or no longer. */
export function missing({ signed }: Visitor, section: Section, problem: string, back: string): Response {
  return html(404, problemPage(signed, section, problem, back));
}

/** The message of an error as a sentence. */
export function sentence({ message }: Error): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}

/** A field of a form, or a parameter; what is longer than any valid value is cut off. */
export function entered(form: URLSearchParams, name: string): string {
  return (form.get(name) ?? "").slice(0, 1000);
}

/** The token of a form that is sent to a path below the base: of this session, for this path. */
export function tokenFor({ authority, session }: Pick<Visitor, "authority" | "session">, path: string): string {
  return formToken(authority, session.id, path);
}

/** The path of a request below the base. */
function below(call: Call): string {
  return call.url.pathname.replace(/^\/admin/, "");
}

/** The sign-in page. */
export function signIn(
  authority: Authority,
  call: Call,
  status: number,
  page: Omit<SignInPage, "site" | "base" | "csrf">,
  headers: Record<string, string> = {},
): Response {
  const cookie = formCookie(authority, call);
  const csrf = formToken(authority, cookie, SIGN_IN);
  const body = signInPage({ site: siteName(authority), base: adminBase(authority), csrf, ...page });
  return html(status, body, { ...withCookie(authority, FORM_COOKIE, cookie), ...headers });
}

/** What to say to a browser that has the cookie of a session which is over. */
export function endedSession(authority: Authority, call: Call): string | undefined {
  return cookieOf(authority, call, SESSION_COOKIE) === undefined ? undefined : ENDED;
}

/** What is said on a form that was sent when no session was there. */
export function sayKept(session: Session, next: string): void {
  session.said.set(next.replace(/\?.*/, ""), KEPT);
}

/** The session of a request, if it has one that goes on. */
export function sessionOf(authority: Authority, call: Call): Session | undefined {
  const id = cookieOf(authority, call, SESSION_COOKIE);
  return id === undefined ? undefined : authority.sessions.of(id, (name) => addedAt(authority, name), authority.now());
}

/** When the administrator of a name was added, if there still is one. */
export function addedAt({ ledger }: Authority, name: string): number | undefined {
  return ledger.admins.list().find((admin) => admin.name === name)?.createdAt;
}

function visitorOf(authority: Authority, call: Call): Visitor | undefined {
  const session = sessionOf(authority, call);
  if (session === undefined) return undefined;
  call.fields.administrator = session.name;
  const base = adminBase(authority);
  const path = below(call);
  const said = call.request.method === "GET" ? session.said.get(path) : undefined;
  if (said !== undefined) session.said.delete(path);
  const signOut = tokenFor({ authority, session }, "/sign-out");
  const signed = { site: siteName(authority), base, name: session.name, signOut };
  const actor = { by: session.name, address: call.address };
  return { authority, call, session, base, now: authority.now(), signed, said, actor };
}
