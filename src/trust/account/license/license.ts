/**
 * Verifies a licence offline, each claim with its own error. The rules are RFC 7519 (JWT) and the advice of RFC 8725:
 * one algorithm that the token cannot choose, every expected claim required.
 */
import { isObject } from "../../../checks/kinds.ts";
import { PermissionError } from "../../../errors.ts";
import { keyRing } from "./license-chain.ts";
import {
  CLOCK_SKEW_SECONDS,
  type Claims,
  isTime,
  LICENSE_ISSUER,
  quoted,
  refused,
  signedClaims,
} from "./license-token.ts";

/** Audience and version of licences: the authority writes only these. */
export const LICENSE_AUDIENCE = "svc-runtime";
export const LICENSE_VERSION = 2;
declare const verified: unique symbol;

/** A verified licence; only `verifyLicense` makes one. Times are in seconds since 1970. */
export interface License {
  readonly [verified]: true;
  /** As signed. */
  readonly jwt: string;
  readonly id: string | undefined;
  readonly account: string | undefined;
  readonly tier: string;
  readonly features: readonly string[];
  readonly deviceThumbprint: string;
  /** The beginning of its life; undefined where it does not say. */
  readonly issuedAt: number | undefined;
  readonly expiresAt: number;
  /** Days of offline grace after its expiry. */
  readonly graceDays: number;
  /** The end of the days of grace: from here on it is refused. */
  readonly usableUntil: number;
  /** It has expired by a clock that is in doubt: reading and exporting work, changes are refused. */
  readonly readOnly: boolean;
  /** Warnings to show once, such as that the licence is in its days of grace. */
  readonly warnings: readonly string[];
}

export interface VerifyOptions {
  /** The LICENSE key that is trusted, the anchor: SPKI in PEM. */
  readonly publicKeyPem: string;
  /** Statements that lead from it to later keys (license-chain.ts), oldest first; read where a licence names another key. */
  readonly successors?: readonly string[];
  /** The thumbprint of this machine's device key. */
  readonly deviceThumbprint: string;
  /** The present, in seconds. */
  readonly now?: number;
  /** The latest time seen (clock.ts), for `nbf` and `iat`: a clock set back does not make a licence "not yet valid". */
  readonly latest?: number;
  /** The latest time seen, where the clock is so far ahead of it that it may be wrong. */
  readonly aheadOf?: number | undefined;
  /** An expired one too, as read-only: what is renewed is verified first. */
  readonly evenExpired?: boolean;
}

/**
 * Verifies a licence: by the anchor or a key that statements lead to from it, RS256 and nothing else (no `none`, no
 * negotiation, no `crit`), issuer, audience, version, times, products, and the binding to this device (`cnf.jkt`, RFC
 * 7800 §3.1).
 * @throws PermissionError with the reason and the remedy, of the class `UntrustedKey` where the key that signed it is
 *   none of these; ValueError if the anchor itself is unusable.
 */
export async function verifyLicense(jwt: string, options: VerifyOptions): Promise<License> {
  const claims = await signedClaims(jwt, { refused, keyOf: await keyRing(options) });
  if (claims.iss !== LICENSE_ISSUER) throw refused(`its issuer is ${quoted(claims.iss)}, not '${LICENSE_ISSUER}'`);
  const audience = Array.isArray(claims.aud) ? claims.aud : [claims.aud];
  if (!audience.includes(LICENSE_AUDIENCE))
    throw refused(`it is for ${quoted(claims.aud)}, not for '${LICENSE_AUDIENCE}'`);
  if (claims.ver !== LICENSE_VERSION) throw refused(`its version is ${quoted(claims.ver)}, not ${LICENSE_VERSION}`);
  const product = checkProduct(claims);
  const bound = isObject(claims.cnf) ? claims.cnf.jkt : undefined;
  if (bound !== options.deviceThumbprint) throw refused("it was issued to another device");
  return {
    jwt,
    id: optionalText(claims, "jti", "id"),
    account: optionalText(claims, "sub", "account"),
    ...product,
    deviceThumbprint: options.deviceThumbprint,
    ...checkTimes(claims, options),
  } as License;
}

/** The time from which a licence is renewed: the last third of its life begins; its expiry where it has no beginning. */
export function renewableFrom({ issuedAt, expiresAt }: Pick<License, "issuedAt" | "expiresAt">): number {
  return expiresAt - Math.max(0, expiresAt - (issuedAt ?? expiresAt)) / 3;
}

type Times = Pick<License, "issuedAt" | "expiresAt" | "graceDays" | "usableUntil" | "readOnly" | "warnings">;

function checkTimes(claims: Claims, options: VerifyOptions): Times {
  const now = options.now ?? Date.now() / 1000;
  const latest = Math.max(now, options.latest ?? now);
  const { exp, nbf, iat, offline_grace_days: graceDays } = claims;
  if (!isTime(exp)) throw refused("it does not say when it expires");
  if (!isTime(graceDays) || graceDays > 3650) throw refused("it does not say its days of offline grace");
  if (nbf !== undefined && (!isTime(nbf) || nbf > latest + CLOCK_SKEW_SECONDS))
    throw refused("it is not valid yet (is the clock right?)");
  if (iat !== undefined && (!isTime(iat) || iat > latest + CLOCK_SKEW_SECONDS))
    throw refused("it was issued in the future (is the clock right?)");
  const usableUntil = exp + graceDays * 86_400;
  const times = { issuedAt: iat ?? nbf, expiresAt: exp, graceDays, usableUntil };
  if (now < exp) return { ...times, readOnly: false, warnings: [] };
  if (now < usableUntil) {
    const warning = `the licence expired on ${day(exp)} and works until ${day(usableUntil)}: run 'svc login' to renew it`;
    return { ...times, readOnly: false, warnings: [warning] };
  }
  const { aheadOf, evenExpired } = options;
  // A clock that jumped ahead must not lock users out of their own data; one that passed the end step by step did not jump.
  const isDoubtful = aheadOf !== undefined && aheadOf < usableUntil;
  if (!isDoubtful && !evenExpired) {
    const grace = graceDays > 0 ? ` and its ${graceDays} days of grace ended on ${day(usableUntil)}` : "";
    throw new PermissionError(
      `the licence expired on ${day(exp)}${grace}: run 'svc login' to renew it`,
      "license_expired",
    );
  }
  const warning = `by this clock the licence ended on ${day(usableUntil)}: reading and exporting work, changes are refused`;
  return { ...times, readOnly: true, warnings: [warning] };
}

function checkProduct(claims: Claims): Pick<License, "tier" | "features"> {
  const product = isObject(claims.products) ? claims.products.svc : undefined;
  if (!isObject(product)) throw refused("it does not cover svc");
  const { tier, features } = product;
  if (typeof tier !== "string" || tier === "") throw refused("it names no tier");
  if (
    !Array.isArray(features) ||
    features.length === 0 ||
    !features.every((one) => typeof one === "string" && one !== "")
  ) {
    throw refused("it names no features");
  }
  for (const one of [tier, ...(features as string[])]) refuseControls(one, one === tier ? "tier" : "features");
  return { tier, features: features as string[] };
}

function optionalText(claims: Claims, claim: "jti" | "sub", name: string): string | undefined {
  const value = claims[claim];
  if (typeof value !== "string") return undefined;
  refuseControls(value, name);
  return value;
}

/** What is shown on terminals and in logs must not control them, nor change the order in which they show it. */
function refuseControls(text: string, name: string): void {
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text)) throw refused(`control characters are in its ${name}: ${quoted(text)}`);
}

/** The date of a time in seconds since 1970. */
export function day(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}
