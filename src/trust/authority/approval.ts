/**
 * The approval page (RFC 8628 §3.3): a person sees which request a code belongs to, and approves or denies it, once.
 */

import { checkAccount } from "../../checks/device-name.ts";
import { attempt } from "../../errors.ts";
import { isLoopback } from "../account/trusted/endpoints.ts";
import { addressGroup } from "./addresses.ts";
import { administratorOf } from "./administrators.ts";
import { type Authority, type Call, formOf, LOCAL_ACCOUNT, type Routes, retryAfter, sameSecret } from "./context.ts";
import type { PendingCode } from "./ledger/codes.ts";
import { confirmPage, decidedPage, enterCodePage, type Problem, problemPage } from "./pages/approval.ts";
import { visitOf } from "./senders.ts";
import {
  cookieOf,
  FORM_COOKIE,
  formCookie,
  formToken,
  hasToken,
  html,
  siteName,
  thisMachine,
  withCookie,
} from "./site.ts";

const NOT_KNOWN = "That code is not known, has expired, or has been used. Check it, or run 'svc login' again.";
const TOO_MANY = "Too many wrong codes were entered. The right one is still accepted: check it in your terminal.";
const PAUSED = "Far too many wrong codes were entered. Wait some minutes, then try again.";

/** GET /device: the form for the code, or the code with the two buttons. */
function approvalPage(authority: Authority, call: Call): Response {
  const site = siteName(authority);
  const visit = visitOf(authority, call);
  if (visit === "foreign") return html(403, problemPage(site, "Another site's page asked for this one."));
  const typed = call.url.searchParams.get("user_code") ?? "";
  const userCode = normalised(typed);
  // A link is not looked up: another site would learn by it, or guess in the name of the person who follows it.
  if (visit === "link" || typed.trim() === "") return html(200, enterCodePage({ site, userCode }));
  const now = authority.now();
  const group = addressGroup(call.address);
  const pauseMs = authority.guesses.pauseMs(group, now);
  if (pauseMs > 0) return html(429, enterCodePage({ site, problem: PAUSED }), retryAfter(pauseMs));
  const pending = authority.ledger.codes.pendingCode(userCode, now);
  if (pending !== undefined) return confirmation(authority, call, userCode, pending);
  const cookie = cookieOf(authority, call, FORM_COOKIE);
  const decision = cookie && authority.decisions.of(formToken(authority, cookie, userCode));
  if (decision) return html(200, decidedPage({ site, ...decision }));
  const waitMs = authority.guesses.miss(group, authority.ledger.codes.openCodes(now).count, now);
  if (waitMs > 0) return html(429, enterCodePage({ site, problem: TOO_MANY }), retryAfter(waitMs));
  return html(404, enterCodePage({ site, problem: NOT_KNOWN }));
}

/** POST /device: the decision. Only a form that this process sent to this browser for this code is accepted. */
async function approvalDecision(authority: Authority, call: Call): Promise<Response> {
  const site = siteName(authority);
  if (visitOf(authority, call) !== "own") return html(403, problemPage(site, "This form did not come from this site."));
  const form = await formOf(call.request);
  const userCode = normalised(form?.get("user_code") ?? "");
  const cookie = cookieOf(authority, call, FORM_COOKIE);
  const token = cookie && formToken(authority, cookie, userCode);
  if (!form || !token || !hasToken(form, token)) {
    return html(403, problemPage(site, "This page is out of date, or the browser did not keep its cookie."));
  }
  const choice = form.get("decision");
  if (choice !== "approve" && choice !== "deny") return html(400, problemPage(site, "Neither approved nor denied."));
  const approved = choice === "approve";
  const now = authority.now();
  const pending = authority.ledger.codes.pendingCode(userCode, now);
  if (authority.decisions.of(token) || pending === undefined) return decidedBefore(authority, token, approved);
  const account = (form.get("account") ?? "").trim();
  let decider = ANYONE;
  if (approved && authority.approvalCode !== undefined) {
    // Machines refuse a licence whose account has other characters, after the approval.
    if (attempt(() => checkAccount(account)) === undefined) {
      const problem: Problem = {
        field: "account",
        text: "Say who the machine is for, in at most 128 characters that can be seen.",
      };
      return confirmation(authority, call, userCode, pending, { problem });
    }
    const approver = approverOf(authority, call, form.get("approval_code") ?? "");
    if (typeof approver !== "string") {
      const problem: Problem = { field: "approval_code", text: "That approval code is not right." };
      return confirmation(authority, call, userCode, pending, { problem, account, waitMs: approver?.waitMs });
    }
    decider = approver;
  }
  const owner = authority.approvalCode === undefined ? LOCAL_ACCOUNT : account;
  const isDecided = await authority.ledger.commit(() => {
    if (!authority.ledger.codes.decide(userCode, approved ? "approved" : "denied", owner, now, decider)) return false;
    const { platform, address } = pending;
    const detail = { ...(approved && { account: owner }), platform, asked_from: address };
    authority.audit(approved ? "login_approved" : "login_denied", { actor: decider, address: call.address, detail });
    return true;
  });
  if (!isDecided) return decidedBefore(authority, token, approved);
  const decision = { approved, account: authority.approvalCode !== undefined && approved ? account : undefined };
  authority.decisions.add(token, decision);
  return html(200, decidedPage({ site, ...decision }));
}

/**
 * What a form is answered whose code is no longer open: a second click on a button, or a page that is sent again, as
 * the first was. The form is proof that its code was right: this is not a guess.
 */
function decidedBefore(authority: Authority, form: string, approved: boolean): Response {
  const site = siteName(authority);
  const earlier = authority.decisions.of(form);
  if (earlier === undefined) {
    return html(409, problemPage(site, "That code has expired or has been used. Run 'svc login' again."));
  }
  if (earlier.approved === approved) return html(200, decidedPage({ site, ...earlier }));
  return html(409, problemPage(site, `This login was ${earlier.approved ? "approved" : "denied"} before.`));
}

export const APPROVAL_ROUTES: Routes = { "GET /device": approvalPage, "POST /device": approvalDecision };

/** Who decided, in the audit log: the holder of the approval code, or of a user code, which is enough to deny. */
const APPROVAL_CODE = "approval code";
const ANYONE = "approval page";

/**
 * Who approves with a code: one who has the authority's, or an administrator with their own. Wrong codes are limited.
 */
function approverOf(authority: Authority, call: Call, code: string): string | { readonly waitMs: number } | undefined {
  if (authority.approvalCode !== undefined && sameSecret(code, authority.approvalCode)) return APPROVAL_CODE;
  return administratorOf(authority, code.trim(), call.address);
}

/** RFC 8628 §6.1: case, spaces and dashes are ignored. Empty for what cannot be a code. */
function normalised(typed: string): string {
  const letters = typed
    .slice(0, 64)
    .toUpperCase()
    .replace(/[^A-Z]/g, "");
  return letters.length === 8 ? `${letters.slice(0, 4)}-${letters.slice(4)}` : "";
}

interface Again {
  readonly problem: Problem;
  /** What was entered, to be corrected. */
  readonly account?: string;
  readonly waitMs?: number;
}

function confirmation(
  authority: Authority,
  call: Call,
  userCode: string,
  pending: PendingCode,
  again?: Again,
): Response {
  const cookie = formCookie(authority, call);
  const body = confirmPage({
    site: siteName(authority),
    userCode,
    csrf: formToken(authority, cookie, userCode),
    asksApprover: authority.approvalCode !== undefined,
    request: {
      from: requesterName(call, pending.address),
      platform: pending.platform,
      asked: new Date(pending.askedAt),
      secondsAgo: Math.max(0, Math.round((authority.now() - pending.askedAt) / 1000)),
    },
    account: again?.account,
    problem: again?.problem,
  });
  const cookieHeader = withCookie(authority, FORM_COOKIE, cookie);
  if (again?.waitMs) return html(429, body, { ...cookieHeader, ...retryAfter(again.waitMs) });
  return html(again ? 403 : 200, body, cookieHeader);
}

function requesterName(call: Call, address: string): string {
  if (address === "") return "not known (the proxy of this server does not say)";
  if (isLoopback(address)) return thisMachine();
  return address === call.address ? `${address}, the address of this browser too` : address;
}
