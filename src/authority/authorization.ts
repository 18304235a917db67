/** The device authorization grant (RFC 8628), server side, with the approval page. */
import { createHmac, randomBytes, randomInt } from "node:crypto";
import { CLIENT_ID, DEVICE_GRANT } from "../account/device-flow.ts";
import { type Authority, answerError, answerHtml, answerJson, type Call, formOf, sameSecret } from "./context.ts";
import { confirmPage, decidedPage, enterCodePage, PAGE_POLICY, problemPage } from "./pages/approval.ts";

/** RFC 8628 §6.1: consonants without vowels spell no words; twenty of them, eight times, are 34 bits. */
const USER_CODE_ALPHABET = "BCDFGHJKLMNPQRSTVWXZ";
/** Codes that may be open at once: more would be an attempt to fill the ledger. */
const OPEN_CODES_MAX = 1000;
const TOKEN_DAYS = 90;
/** The account of the user of this machine. */
const LOCAL_ACCOUNT = "local";
const COOKIE = "svc_form";

/** POST /oauth/device/code (RFC 8628 §3.1, §3.2). */
export async function deviceCode(authority: Authority, call: Call): Promise<Response> {
  const form = await formOf(call.request);
  if (form === undefined) return answerError(400, "invalid_request");
  if (form.get("client_id") !== CLIENT_ID) return answerError(400, "invalid_client");
  const { ledger, codeSeconds, intervalSeconds } = authority;
  const now = authority.now();
  ledger.purge(now);
  if (ledger.openCodes(now) >= OPEN_CODES_MAX)
    return answerError(429, "slow_down", { "retry-after": String(codeSeconds) });
  const code = randomBytes(32).toString("base64url");
  const userCode = newUserCode();
  ledger.addCode(code, userCode, intervalSeconds * 1000, now + codeSeconds * 1000);
  if (authority.approve === "yes") ledger.decide(userCode, "approved", LOCAL_ACCOUNT, now);
  const page = `${authority.publicUrl()}/device`;
  return answerJson(200, {
    device_code: code,
    user_code: userCode,
    verification_uri: page,
    verification_uri_complete: `${page}?user_code=${userCode}`,
    expires_in: codeSeconds,
    interval: intervalSeconds,
  });
}

/** POST /oauth/device/token (RFC 8628 §3.4, §3.5). */
export async function deviceToken(authority: Authority, call: Call): Promise<Response> {
  const form = await formOf(call.request);
  const code = form?.get("device_code");
  if (form === undefined || !code) return answerError(400, "invalid_request");
  if (form.get("client_id") !== CLIENT_ID) return answerError(400, "invalid_client");
  if (form.get("grant_type") !== DEVICE_GRANT) return answerError(400, "unsupported_grant_type");
  const now = authority.now();
  const outcome = authority.ledger.poll(code, now);
  switch (outcome.kind) {
    case "approved": {
      const token = `svt_${randomBytes(32).toString("base64url")}`;
      authority.ledger.addToken(token, outcome.account, now + TOKEN_DAYS * 86_400_000);
      return answerJson(200, { access_token: token, token_type: "Bearer", expires_in: TOKEN_DAYS * 86_400 });
    }
    case "pending":
      return answerError(400, "authorization_pending");
    case "slow_down":
      return answerError(400, "slow_down");
    case "expired":
      return answerError(400, "expired_token");
    case "denied":
      return answerError(400, "access_denied");
    case "unknown":
      return answerError(400, "invalid_grant");
  }
}

/** GET /device: the form for the code, or the code with the two buttons. */
export function approvalPage(authority: Authority, call: Call): Response {
  const typed = call.url.searchParams.get("user_code");
  if (typed === null || typed.trim() === "") return html(200, enterCodePage());
  const blocked = tooManyGuesses(authority, call);
  if (blocked) return blocked;
  const userCode = normalised(typed);
  if (authority.ledger.codeState(userCode, authority.now()) !== "pending") {
    authority.guesses.miss(call.address, authority.now());
    return html(
      404,
      enterCodePage("That code is not known, has expired, or has been used. Check it, or run 'svc login' again."),
    );
  }
  return confirmation(authority, call, userCode);
}

/** POST /device: the decision. Only a form that this process sent to this browser is accepted. */
export async function approvalDecision(authority: Authority, call: Call): Promise<Response> {
  const form = await formOf(call.request);
  if (form === undefined || !fromOwnPage(authority, call))
    return html(403, problemPage("This form did not come from this site."));
  const blocked = tooManyGuesses(authority, call);
  if (blocked) return blocked;
  const userCode = normalised(form.get("user_code") ?? "");
  const expected = formToken(authority, cookieOf(call) ?? "", userCode);
  if (cookieOf(call) === undefined || !sameSecret(form.get("csrf") ?? "", expected)) {
    return html(403, problemPage("This page is out of date. Enter the code again."));
  }
  const decision = form.get("decision");
  if (decision !== "approve" && decision !== "deny") return html(400, problemPage("Neither approved nor denied."));
  let account = LOCAL_ACCOUNT;
  if (decision === "approve" && authority.approvalCode !== undefined) {
    account = (form.get("account") ?? "").trim();
    if (!/^[^\p{Cc}\p{Cf}]{1,128}$/u.test(account))
      return confirmation(authority, call, userCode, "Say who the machine is for.");
    if (!sameSecret(form.get("approval_code") ?? "", authority.approvalCode)) {
      authority.guesses.miss(call.address, authority.now());
      return confirmation(authority, call, userCode, "That approval code is not right.");
    }
  }
  const approved = decision === "approve";
  const done = authority.ledger.decide(userCode, approved ? "approved" : "denied", account, authority.now());
  if (!done) {
    authority.guesses.miss(call.address, authority.now());
    return html(409, problemPage("That code has expired or has been used. Run 'svc login' again."));
  }
  return html(200, decidedPage(approved));
}

function newUserCode(): string {
  const letters = Array.from({ length: 8 }, () => USER_CODE_ALPHABET[randomInt(USER_CODE_ALPHABET.length)]).join("");
  return `${letters.slice(0, 4)}-${letters.slice(4)}`;
}

/** RFC 8628 §6.1: case, spaces and dashes are ignored. */
function normalised(typed: string): string {
  const letters = typed
    .slice(0, 64)
    .toUpperCase()
    .replace(/[^A-Z]/g, "");
  return `${letters.slice(0, 4)}-${letters.slice(4)}`;
}

function confirmation(authority: Authority, call: Call, userCode: string, problem?: string): Response {
  const kept = cookieOf(call);
  const cookie = kept ?? randomBytes(16).toString("base64url");
  const csrf = formToken(authority, cookie, userCode);
  const body = confirmPage({ userCode, csrf, asksApprover: authority.approvalCode !== undefined, problem });
  const secure = authority.publicUrl().startsWith("https:") ? "; Secure" : "";
  return html(problem === undefined ? 200 : 403, body, {
    "set-cookie": `${COOKIE}=${cookie}; Path=/; HttpOnly; SameSite=Strict${secure}`,
  });
}

/** The form's token: only this process can make it, for the browser with this cookie and for this code. */
function formToken(authority: Authority, cookie: string, userCode: string): string {
  return createHmac("sha256", authority.formSecret).update(`${cookie}\n${userCode}`).digest("base64url");
}

function cookieOf(call: Call): string | undefined {
  return new RegExp(`(?:^|;\\s*)${COOKIE}=([\\w-]{22})(?:;|$)`).exec(call.request.headers.get("cookie") ?? "")?.[1];
}

/** Whether the form's origin, where the browser sends one, is this site. */
function fromOwnPage(authority: Authority, call: Call): boolean {
  const site = call.request.headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") return false;
  const origin = call.request.headers.get("origin");
  return (
    origin === null ||
    origin === new URL(authority.publicUrl()).origin ||
    origin === `${call.url.protocol}//${call.request.headers.get("host")}`
  );
}

function tooManyGuesses(authority: Authority, call: Call): Response | undefined {
  const waitMs = authority.guesses.waitMs(call.address, authority.now());
  if (waitMs === 0) return undefined;
  const retry = { "retry-after": String(Math.ceil(waitMs / 1000)) };
  return html(429, problemPage("Too many wrong codes. Wait a few minutes, then try again."), retry);
}

function html(status: number, body: string, headers: Record<string, string> = {}): Response {
  return answerHtml(status, body, PAGE_POLICY, headers);
}
