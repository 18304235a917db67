/** The device authorization grant (RFC 8628), server side: what devices ask. What people decide is in approval.ts. */
import { randomBytes, randomInt } from "node:crypto";
import { CLIENT_ID, DEVICE_GRANT } from "../account/device-flow.ts";
import { addressGroup } from "./addresses.ts";
import { type Authority, answerError, answerJson, type Call, formOf, LOCAL_ACCOUNT } from "./context.ts";

/** RFC 8628 §6.1: consonants without vowels spell no words; twenty of them, eight times, are 34 bits. */
const USER_CODE_ALPHABET = "BCDFGHJKLMNPQRSTVWXZ";
/** Codes that may be open at once: more would be an attempt to fill the ledger. */
const OPEN_CODES_MAX = 1000;
/**
 * Of them, those of one address: a tenth, so that no address uses up all. An office of 200 behind one address has 100
 * people in the middle of a login before one has to wait: a code counts until its device has fetched the decision, some
 * seconds after it.
 */
const OPEN_CODES_OF_ADDRESS_MAX = 100;
const TOKEN_DAYS = 90;

/** POST /oauth/device/code (RFC 8628 §3.1, §3.2). */
export async function deviceCode(authority: Authority, call: Call): Promise<Response> {
  const form = await formOf(call.request);
  if (form === undefined) return answerError(400, "invalid_request");
  if (form.get("client_id") !== CLIENT_ID) return answerError(400, "invalid_client");
  const { ledger, codeSeconds, intervalSeconds } = authority;
  const now = authority.now();
  ledger.purge(now);
  const full = noRoom(authority, call, now);
  if (full) return full;
  const code = randomBytes(32).toString("base64url");
  const userCode = newUserCode();
  ledger.addCode({
    deviceCode: code,
    userCode,
    intervalMs: intervalSeconds * 1000,
    askedAt: now,
    expiresAt: now + codeSeconds * 1000,
    address: call.address ?? "",
    addressGroup: addressGroup(call.address),
    platform: platformOf(form),
  });
  authority.issued?.push(code);
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

/** 429 where no further code may be open, with the seconds until one expires. */
function noRoom({ ledger }: Authority, call: Call, now: number): Response | undefined {
  const all = ledger.openCodes(now);
  // Where a proxy does not say for whom it asks, all clients are one address: only the bound on all holds.
  const own = call.address === undefined ? undefined : ledger.openCodes(now, addressGroup(call.address));
  const isFull = all.count >= OPEN_CODES_MAX;
  if (!isFull && (own === undefined || own.count < OPEN_CODES_OF_ADDRESS_MAX)) return undefined;
  const firstEnds = (isFull ? all : own)?.firstEnds ?? now;
  return answerError(429, "slow_down", { "retry-after": String(Math.max(1, Math.ceil((firstEnds - now) / 1000))) });
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
