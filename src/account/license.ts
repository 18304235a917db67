/**
 * Verifies a licence offline, each claim with its own error. The rules are RFC 7519 (JWT) and the advice of RFC 8725:
 * one algorithm that the token cannot choose, every expected claim required.
 */
import { createPublicKey, type KeyObject } from "node:crypto";
import { PermissionError, ValueError } from "../errors.ts";
import { SECRET_BYTES_MAX } from "../limits.ts";

/** Issuer, audience and version of licences: the authority writes only these. */
export const LICENSE_ISSUER = "svc-authority";
export const LICENSE_AUDIENCE = "svc-runtime";
export const LICENSE_VERSION = 2;
/** RSA of 3,072 bits is about 128 bits of strength (NIST SP 800-57 part 1, table 2); 2,048 bits are 112. */
export const LICENSE_KEY_BITS_MIN = 3072;
/** Clocks of two machines may differ by this much, in `nbf` and `iat`. */
export const CLOCK_SKEW_SECONDS = 300;

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
  readonly expiresAt: number;
  /** The end of the days of grace: from here on it is refused. */
  readonly usableUntil: number;
  /** Warnings to show once, such as that the licence is in its days of grace. */
  readonly warnings: readonly string[];
}

export interface VerifyOptions {
  /** The LICENSE key, SPKI in PEM. */
  readonly publicKeyPem: string;
  /** The thumbprint of this machine's device key. */
  readonly deviceThumbprint: string;
  /** The present, in seconds. */
  readonly now?: number;
  /** The latest time seen (clock.ts), for `nbf` and `iat`: a clock set back does not make a licence "not yet valid". */
  readonly latest?: number;
}

/**
 * Verifies a licence: RS256 and nothing else (no `none`, no negotiation, no `crit`), issuer, audience, version, times,
 * products, and the binding to this device (`cnf.jkt`, RFC 7800 §3.1).
 * @throws PermissionError with the reason and the remedy; ValueError if the public key itself is unusable.
 */
export async function verifyLicense(jwt: string, options: VerifyOptions): Promise<License> {
  const claims = await signedClaims(jwt, licensePublicKey(options.publicKeyPem));
  if (claims.iss !== LICENSE_ISSUER) throw refused(`its issuer is ${quoted(claims.iss)}, not '${LICENSE_ISSUER}'`);
  const audience = Array.isArray(claims.aud) ? claims.aud : [claims.aud];
  if (!audience.includes(LICENSE_AUDIENCE))
    throw refused(`it is for ${quoted(claims.aud)}, not for '${LICENSE_AUDIENCE}'`);
  if (claims.ver !== LICENSE_VERSION) throw refused(`its version is ${quoted(claims.ver)}, not ${LICENSE_VERSION}`);
  const times = checkTimes(claims, options);
  const product = checkProduct(claims);
  const bound = isRecord(claims.cnf) ? claims.cnf.jkt : undefined;
  if (bound !== options.deviceThumbprint) throw refused("it was issued to another device");
  return {
    jwt,
    id: textOrUndefined(claims.jti),
    account: textOrUndefined(claims.sub),
    ...product,
    deviceThumbprint: options.deviceThumbprint,
    ...times,
  } as License;
}

/**
 * Reads a LICENSE trust anchor.
 * @throws ValueError unless it is the public half of an RSA key of at least 3,072 bits.
 */
export function licensePublicKey(pem: string): KeyObject {
  if (pem.includes("PRIVATE KEY"))
    throw new ValueError("the licence key given is a private key: only its public half belongs here");
  let key: KeyObject;
  try {
    key = createPublicKey(pem);
  } catch {
    throw new ValueError("the licence key given is not a public key in PEM");
  }
  if (key.asymmetricKeyType !== "rsa") throw new ValueError("the licence key given is not an RSA key");
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < LICENSE_KEY_BITS_MIN)
    throw new ValueError(`the licence key given has ${bits} bits, at least ${LICENSE_KEY_BITS_MIN} are needed`);
  return key;
}

type Claims = Record<string, unknown>;

/** The payload, parsed only after its signature is verified. */
async function signedClaims(jwt: string, key: KeyObject): Promise<Claims> {
  if (jwt.length > SECRET_BYTES_MAX) throw refused(`it is longer than ${SECRET_BYTES_MAX} bytes`);
  const header = protectedHeader(jwt);
  if (header.alg !== "RS256") throw refused(`it is signed with ${quoted(header.alg)}, only RS256 is accepted`);
  if (header.crit !== undefined) throw refused("its header asks for extensions ('crit'), none is accepted");
  // Imported here: a server must not load it before the first tool call.
  const { compactVerify } = await import("jose/jws/compact/verify");
  let payload: Uint8Array;
  try {
    ({ payload } = await compactVerify(jwt, key, { algorithms: ["RS256"] }));
  } catch {
    throw refused("its signature is not by the key that this machine trusts");
  }
  const claims = parseRecord(payload);
  if (claims === undefined) throw refused("its content is not a JSON object");
  return claims;
}

function protectedHeader(jwt: string): Claims {
  const parts = jwt.split(".");
  const header = parts.length === 3 ? parseRecord(Buffer.from(parts[0] ?? "", "base64url")) : undefined;
  if (header === undefined) throw refused("it is not a signed token");
  return header;
}

function checkTimes(claims: Claims, options: VerifyOptions): Pick<License, "expiresAt" | "usableUntil" | "warnings"> {
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
  if (now >= usableUntil) {
    const grace = graceDays > 0 ? ` and its ${graceDays} days of grace ended on ${day(usableUntil)}` : "";
    throw new PermissionError(
      `the licence expired on ${day(exp)}${grace}: run 'svc login' to renew it`,
      "license_expired",
    );
  }
  const warnings =
    now >= exp
      ? [`the licence expired on ${day(exp)} and works until ${day(usableUntil)}: run 'svc login' to renew it`]
      : [];
  return { expiresAt: exp, usableUntil, warnings };
}

function checkProduct(claims: Claims): Pick<License, "tier" | "features"> {
  const product = isRecord(claims.products) ? claims.products.svc : undefined;
  if (!isRecord(product)) throw refused("it does not cover svc");
  const { tier, features } = product;
  if (typeof tier !== "string" || tier === "") throw refused("it names no tier");
  if (
    !Array.isArray(features) ||
    features.length === 0 ||
    !features.every((one) => typeof one === "string" && one !== "")
  ) {
    throw refused("it names no features");
  }
  return { tier, features: features as string[] };
}

function refused(reason: string): PermissionError {
  return new PermissionError(`the licence is refused: ${reason}. Run 'svc login' to get a new one`, "license_invalid");
}

function parseRecord(bytes: Uint8Array): Claims | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Claims {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A time or duration in seconds: finite, not negative, and before the year 10000. */
function isTime(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value < 253_402_300_800;
}

function textOrUndefined(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A claim's value for a message: short, and escaped, so that an untrusted one cannot control the terminal. */
function quoted(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").replace(/[^\x20-\x7e]/g, "?").slice(0, 60);
}

/** The date of a time in seconds since 1970. */
export function day(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}
