/** The device authorization grant (RFC 8628), server side: what devices ask. What people decide is in approval.ts. */
import { randomBytes, randomInt } from "node:crypto";
import { CLIENT_ID, DEVICE_GRANT } from "../account/login/device-flow.ts";
import { addressGroup } from "./addresses.ts";
import {
  type Authority,
  answerError,
  answerJson,
  type Call,
  formOf,
  LOCAL_ACCOUNT,
  type Routes,
  retryAfter,
} from "./context.ts";
import { THUMBPRINT } from "./device-requests.ts";

/** RFC 8628 §6.1: consonants without vowels spell no words; twenty of them, eight times, are 34 bits. */
const USER_CODE_ALPHABET = "BCDFGHJKLMNPQRSTVWXZ";
/** Codes that may be open at once: more would be an attempt to fill the ledger. */
const OPEN_CODES_MAX = 2500;
/**
 * Of them, those of one address: a tenth, so that no address uses up all. 200 people behind one address can all be in
 * the middle of a login: a code counts until its device has fetched the decision, some seconds after it.
 */
const OPEN_CODES_OF_ADDRESS_MAX = 250;
const TOKEN_DAYS = 90;

/** POST /oauth/device/code (RFC 8628 §3.1, §3.2). */
async function deviceCode(authority: Authority, call: Call): Promise<Response> {
  const form = await formOf(call.request);
  if (form === undefined || isAmbiguous(form)) return answerError(400, "invalid_request");
  if (form.get("client_id") !== CLIENT_ID) return answerError(400, "invalid_client");
  const thumbprint = form.get("key_thumbprint") ?? "";
  if (thumbprint !== "" && !THUMBPRINT.test(thumbprint)) return answerError(400, "invalid_request");
  const { ledger, codeSeconds, intervalSeconds } = authority;
  const now = authority.now();
  const code = randomBytes(32).toString("base64url");
  const userCode = newUserCode();
  const refused = await ledger.commit(() => {
    ledger.purge(now);
    // Before a person is asked: what the approval gave would be refused.
    if (thumbprint !== "" && ledger.devices.ofKey(thumbprint).some(({ revokedAt }) => revokedAt !== null))
      return answerError(403, "device_revoked");
    const full = noRoom(authority, call, now);
    if (full) return full;
    ledger.codes.addCode({
      deviceCode: code,
      userCode,
      intervalMs: intervalSeconds * 1000,
      askedAt: now,
      expiresAt: now + codeSeconds * 1000,
      address: call.address ?? "",
      addressGroup: addressGroup(call.address),
      platform: platformOf(form),
      thumbprint,
    });
    if (authority.approve === "yes") ledger.codes.decide(userCode, "approved", LOCAL_ACCOUNT, now);
    return undefined;
  });
  if (refused) return refused;
  authority.issued?.push(code);
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
async function deviceToken(authority: Authority, call: Call): Promise<Response> {
  const form = await formOf(call.request);
  const code = form?.get("device_code");
  if (form === undefined || isAmbiguous(form) || !code) return answerError(400, "invalid_request");
  if (form.get("client_id") !== CLIENT_ID) return answerError(400, "invalid_client");
  if (form.get("grant_type") !== DEVICE_GRANT) return answerError(400, "unsupported_grant_type");
  const now = authority.now();
  const { ledger } = authority;
  // A code is redeemed once: without its token it would be lost.
  const outcome = await ledger.commit(() => {
    const polled = ledger.codes.poll(code, now);
    return polled.kind === "approved" ? issueToken(authority, polled, now) : polled.kind;
  });
  return typeof outcome === "string" ? answerError(400, ERRORS[outcome]) : answerJson(200, outcome, NO_CACHE);
}

/** The error of each poll that gives no token (RFC 8628 §3.5). */
const ERRORS = {
  pending: "authorization_pending",
  slow_down: "slow_down",
  expired: "expired_token",
  denied: "access_denied",
  unknown: "invalid_grant",
} as const;

export const AUTHORIZATION_ROUTES: Routes = {
  "POST /oauth/device/code": deviceCode,
  "POST /oauth/device/token": deviceToken,
};

/** Whom a token is for. */
interface TokenFor {
  readonly account: string;
  /** Thumbprint of the key that it is bound to; empty for none. */
  readonly thumbprint: string;
  readonly deviceId?: string;
}

/** Makes an access token, in the transaction of the caller: the fields of its answer (RFC 6749 §5.1). */
export function issueToken({ ledger }: Authority, owner: TokenFor, now: number) {
  const token = `svt_${randomBytes(32).toString("base64url")}`;
  ledger.access.addToken(token, owner, now + TOKEN_DAYS * 86_400_000);
  return { access_token: token, token_type: "Bearer", expires_in: TOKEN_DAYS * 86_400 };
}

/** Beside no-store, which all answers have, with every answer that holds a token (RFC 6749 §5.1). */
export const NO_CACHE = { pragma: "no-cache" } as const;

/** Whether a parameter stands twice, which no request may (RFC 6749 §3.1): two readers could take different ones. */
function isAmbiguous(form: URLSearchParams): boolean {
  return new Set(form.keys()).size !== form.size;
}

/** 429 where no further code may be open, with the seconds until one expires. */
function noRoom({ ledger }: Authority, call: Call, now: number): Response | undefined {
  const all = ledger.codes.openCodes(now);
  // Where a proxy does not say for whom it asks, all clients are one address: only the bound on all holds.
  const own = call.address === undefined ? undefined : ledger.codes.openCodes(now, addressGroup(call.address));
  const isFull = all.count >= OPEN_CODES_MAX;
  if (!isFull && (own === undefined || own.count < OPEN_CODES_OF_ADDRESS_MAX)) return undefined;
  const firstEnds = (isFull ? all : own)?.firstEnds ?? now;
  return answerError(429, "slow_down", retryAfter(firstEnds - now));
}

function newUserCode(): string {
  const letters = Array.from({ length: 8 }, () => USER_CODE_ALPHABET[randomInt(USER_CODE_ALPHABET.length)]).join("");
  return `${letters.slice(0, 4)}-${letters.slice(4)}`;
}

/** What the device says that it is, for the page: not verified. */
function platformOf(form: URLSearchParams): string {
  const platform = form.get("platform") ?? "";
  return /^[a-z0-9_-]{1,40}$/.test(platform) ? platform : "";
}
