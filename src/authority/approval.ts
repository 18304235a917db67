/** The approval page (RFC 8628 §3.3): a person sees which request a code belongs to, and approves or denies it, once. */
import { createHmac, randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { isLoopback } from "../account/endpoints.ts";
import { addressGroup } from "./addresses.ts";
import { type Authority, answerHtml, type Call, formOf, LOCAL_ACCOUNT, sameSecret } from "./context.ts";
import type { PendingCode } from "./database.ts";
import { confirmPage, decidedPage, enterCodePage, type Problem, problemPage } from "./pages/approval.ts";
import { PAGE_POLICY } from "./pages/frame.ts";
import { visitOf } from "./senders.ts";

const NOT_KNOWN = "That code is not known, has expired, or has been used. Check it, or run 'svc login' again.";
const TOO_MANY = "Too many wrong codes were entered. The right one is still accepted: check it in your terminal.";
const PAUSED = "Far too many wrong codes were entered. Wait some minutes, then try again.";

/** GET /device: the form for the code, or the code with the two buttons. */
export function approvalPage(authority: Authority, call: Call): Response {
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
  const pending = authority.ledger.pendingCode(userCode, now);
  if (pending !== undefined) return confirmation(authority, call, userCode, pending);
  const cookie = cookieOf(authority, call);
  const decision = cookie && authority.decisions.of(formToken(authority, cookie, userCode));
  if (decision) return html(200, decidedPage({ site, ...decision }));
  const waitMs = authority.guesses.miss(group, authority.ledger.openCodes(now).count, now);
  if (waitMs > 0) return html(429, enterCodePage({ site, problem: TOO_MANY }), retryAfter(waitMs));
  return html(404, enterCodePage({ site, problem: NOT_KNOWN }));
}

/** POST /device: the decision. Only a form that this process sent to this browser for this code is accepted. */
export async function approvalDecision(authority: Authority, call: Call): Promise<Response> {
  const site = siteName(authority);
  if (visitOf(authority, call) !== "own") return html(403, problemPage(site, "This form did not come from this site."));
  const form = await formOf(call.request);
  const userCode = normalised(form?.get("user_code") ?? "");
  const cookie = cookieOf(authority, call);
  const token = cookie && formToken(authority, cookie, userCode);
  if (!form || !token || !sameSecret(form.get("csrf") ?? "", token)) {
    return html(403, problemPage(site, "This page is out of date, or the browser did not keep its cookie."));
  }
  const choice = form.get("decision");
  if (choice !== "approve" && choice !== "deny") return html(400, problemPage(site, "Neither approved nor denied."));
  const approved = choice === "approve";
  // A second click on a button, or a page that is sent again, is answered as the first was.
  const earlier = authority.decisions.of(token);
  if (earlier) {
    if (earlier.approved === approved) return html(200, decidedPage({ site, ...earlier }));
    return html(409, problemPage(site, `This login was ${earlier.approved ? "approved" : "denied"} before.`));
  }
  const now = authority.now();
  const pending = authority.ledger.pendingCode(userCode, now);
  // The form is proof that its code was right: this is no guess.
  if (pending === undefined) {
    return html(409, problemPage(site, "That code has expired or has been used. Run 'svc login' again."));
  }
  const account = (form.get("account") ?? "").trim();
  if (approved && authority.approvalCode !== undefined) {
    if (!/^[^\p{Cc}\p{Cf}]{1,128}$/u.test(account)) {
      const problem: Problem = { field: "account", text: "Say who the machine is for, in at most 128 characters." };
      return confirmation(authority, call, userCode, pending, { problem });
    }
    if (!sameSecret(form.get("approval_code") ?? "", authority.approvalCode)) {
      const waitMs = authority.guesses.miss(addressGroup(call.address), 0, now);
      const problem: Problem = { field: "approval_code", text: "That approval code is not right." };
      return confirmation(authority, call, userCode, pending, { problem, account, waitMs });
    }
  }
  const owner = authority.approvalCode === undefined ? LOCAL_ACCOUNT : account;
  authority.ledger.decide(userCode, approved ? "approved" : "denied", owner, now);
  const decision = { approved, account: authority.approvalCode !== undefined && approved ? account : undefined };
  authority.decisions.add(token, decision);
  return html(200, decidedPage({ site, ...decision }));
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
  const cookie = cookieOf(authority, call) ?? randomBytes(16).toString("base64url");
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
  const { name, attributes } = cookieKind(authority);
  const cookieHeader = { "set-cookie": `${name}=${cookie}; Path=/; HttpOnly; SameSite=Strict${attributes}` };
  if (again?.waitMs) return html(429, body, { ...cookieHeader, ...retryAfter(again.waitMs) });
  return html(again ? 403 : 200, body, cookieHeader);
}

/** The name of the site, by which a person knows where the page is from. */
function siteName(authority: Authority): string {
  const { hostname: host, host: withPort } = new URL(authority.publicUrl());
  return isLoopback(host) ? thisMachine() : withPort;
}

function requesterName(call: Call, address: string): string {
  if (address === "") return "not known (the proxy of this server does not say)";
  if (isLoopback(address)) return thisMachine();
  return address === call.address ? `${address}, the address of this browser too` : address;
}

function thisMachine(): string {
  return `this machine (${hostname().replace(/[\p{Cc}\p{Cf}]/gu, "")})`;
}

/** The form's token: only this process can make it, for the browser with this cookie and for this code. */
function formToken(authority: Authority, cookie: string, userCode: string): string {
  return createHmac("sha256", authority.formSecret).update(`${cookie}\n${userCode}`).digest("base64url");
}

/** With https the name says that no other host and no plain http has set it (RFC 6265bis §4.1.3.2). */
function cookieKind(authority: Authority): { name: string; attributes: string } {
  const isSecure = authority.publicUrl().startsWith("https:");
  return isSecure ? { name: "__Host-svc_form", attributes: "; Secure" } : { name: "svc_form", attributes: "" };
}

function cookieOf(authority: Authority, call: Call): string | undefined {
  const { name } = cookieKind(authority);
  return new RegExp(`(?:^|;\\s*)${name}=([\\w-]{22})(?:;|$)`).exec(call.request.headers.get("cookie") ?? "")?.[1];
}

function retryAfter(ms: number): Record<string, string> {
  return { "retry-after": String(Math.ceil(ms / 1000)) };
}

function html(status: number, body: string, headers: Record<string, string> = {}): Response {
  return answerHtml(status, body, PAGE_POLICY, headers);
}
