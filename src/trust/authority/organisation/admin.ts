/**
 * What every page and form of administrators goes through: who sent it, whose session it is, the form's token. A form
 * is answered with another page (303), so that neither a reload nor the way back sends it again.
 */
import { type Authority, type Call, formOf, type Handler } from "../context.ts";
import { problemPage, type Section, type Signed } from "../pages/parts.ts";
import { followedLinkPage, refusedPage, type SignInPage, signInPage } from "../pages/sign-in.ts";
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

/** The purpose of the sign-in form's token. */
export const SIGN_IN = "administrator's sign-in";
const KEPT = "You were signed out before this was done. Nothing was changed: check it, then send it again.";
const ENDED =
  "You are signed out: a session ends after an hour without use, after eight hours, and when the server starts again.";

/** A signed-in administrator's request. */
export interface Visitor {
  readonly authority: Authority;
  readonly call: Call;
  readonly session: Session;
  /** The path below which the pages are, as browsers see it. */
  readonly base: string;
  readonly now: number;
  /** What every page shows. */
  readonly signed: Signed;
  /** What is to be said on this page, from what was done before; once. */
  readonly said: string | undefined;
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
  const [site, base] = [siteName(authority), adminBase(authority)];
  // Browsers send the session's cookie with no link of another site. The person's own click goes on from here.
  if (visit === "link" && call.request.method === "GET") {
    return html(200, followedLinkPage(site, base + below(call)));
  }
  return html(403, refusedPage(site, base, "Another site's page asked for this one."));
}

/** A page. Without a session the sign-in is shown, and leads back to it. */
export function view(page: Shown): Handler {
  return (authority, call) => {
    const refused = refusal(authority, call);
    if (refused) return refused;
    const visitor = visitorOf(authority, call);
    if (visitor) return page(visitor);
    const { base, search } = { base: adminBase(authority), search: call.url.search };
    return seeOther(`${base}?${new URLSearchParams({ next: below(call) + search })}`);
  };
}

/**
 * A form. What was typed is not lost with a session: the sign-in leads back to the form as it was, and nothing was
 * done.
 * @param back the path and query below the base that show the form with what it had
 */
export function sent(back: (call: Call, form: URLSearchParams) => string, action: Sent): Handler {
  return async (authority, call) => {
    const [site, base] = [siteName(authority), adminBase(authority)];
    if (visitOf(authority, call) !== "own") {
      return html(403, refusedPage(site, base, "This form did not come from this site."));
    }
    const form = await formOf(call.request);
    if (form === undefined) return html(400, refusedPage(site, base, "That is not a form of this site."));
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

/** A page for what is not there, or no longer. */
export function missing({ signed }: Visitor, section: Section, problem: string, back: string): Response {
  return html(404, problemPage(signed, section, problem, back));
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
  const addedAt = (name: string) => authority.ledger.admins.list().find((admin) => admin.name === name)?.createdAt;
  return id === undefined ? undefined : authority.sessions.of(id, addedAt, authority.now());
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
  return { authority, call, session, base, now: authority.now(), signed, said };
}
