/**
 * The signed tokens of an authority, licences and statements about its keys: the signature, by RS256 and nothing else,
 * and the claims as untrusted values.
 */

import { isObject } from "../../../checks/kinds.ts";
import { importRsaKey, spkiOf } from "../../../checks/rsa-key.ts";
import { parseStrictJson } from "../../../checks/strict-json.ts";
import { attempt, PermissionError, ValueError } from "../../../errors.ts";
import { RSA_BITS_MIN, SECRET_BYTES_MAX } from "../../../limits.ts";

/** The issuer in every token of an authority. */
export const LICENSE_ISSUER = "svc-authority";
/** Clocks of two machines may differ by this much, in `nbf` and `iat`. */
export const CLOCK_SKEW_SECONDS = 300;

/** The claims of a token whose signature was verified; their values are checked by the reader. */
export type Claims = Record<string, unknown>;

/** A public LICENSE key, and what tokens call it. */
export interface PublicLicenseKey {
  readonly key: CryptoKey;
  /** The `kid` of tokens that it signed. */
  readonly kid: string;
}

/** A public key's id: SHA-256 over its SPKI in DER, as base64url without padding. */
export function keyId(spki: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(spki).digest("base64url");
}

/**
 * Reads a LICENSE trust anchor.
 * @throws ValueError unless it is the public half of an RSA key of at least 3,072 bits.
 */
export async function licensePublicKey(pem: string): Promise<PublicLicenseKey> {
  if (pem.includes("PRIVATE KEY"))
    throw new ValueError("the licence key given is a private key: only its public half belongs here");
  let spki = spkiOf(pem) ?? new Uint8Array();
  const { key, bits } = await importRsaKey(spki).catch(async () => {
    spki = await rsaKey(pem);
    return importRsaKey(spki);
  });
  if (bits < RSA_BITS_MIN)
    throw new ValueError(`the licence key given has ${bits} bits, at least ${RSA_BITS_MIN} are needed`);
  return { key, kid: keyId(spki) };
}

/**
 * A key of another form as SPKI, or what is wrong with the text. node:crypto knows; importing it costs 1.4 ms,
 * which no first call with a usual key pays.
 */
async function rsaKey(pem: string): Promise<Uint8Array<ArrayBuffer>> {
  const { createPublicKey } = await import("node:crypto");
  const key = attempt(() => createPublicKey(pem));
  if (key === undefined) throw new ValueError("the licence key given is not a public key in PEM");
  if (key.asymmetricKeyType !== "rsa") throw new ValueError("the licence key given is not an RSA key");
  return new Uint8Array(key.export({ format: "der", type: "spki" }));
}

/** The error for a token, with the remedy. @param reason what is wrong with it, as the rest of a sentence */
type Refusal = (reason: string) => PermissionError;

/** Who must have signed a token. */
export interface Signer {
  readonly key: CryptoKey;
  /** The error where they did not, instead of the usual one. */
  readonly otherwise?: PermissionError;
}

/** How a kind of token is read. */
interface TokenKind {
  readonly refused: Refusal;
  /** The key that must have signed a token with this `kid`, or with none. */
  readonly keyOf: (kid: string | undefined) => Signer | Promise<Signer>;
  /** The `typ` that its header has to have; without it any. */
  readonly typ?: string;
}

/**
 * The claims, parsed only after the signature is verified. A key that stands twice is refused, in the header too: other
 * programs would read the other value.
 * @throws PermissionError, and what `keyOf` throws
 */
export async function signedClaims(jwt: string, { refused, keyOf, typ }: TokenKind): Promise<Claims> {
  const header = tokenHeader(jwt, refused);
  if (typ !== undefined && header.typ !== typ) throw refused(`its type is ${quoted(header.typ)}, not '${typ}'`);
  const { key, otherwise } = await keyOf(header.kid);
  // Imported here: a server must not load it before the first tool call.
  const { compactVerify } = await import("jose/jws/compact/verify");
  let payload: Uint8Array;
  try {
    ({ payload } = await compactVerify(jwt, key, { algorithms: ["RS256"] }));
  } catch {
    throw otherwise ?? refused("its signature is not by the key that this machine trusts");
  }
  return recordOf(payload, { refused, otherwise: "its content is not a JSON object", part: "its content" });
}

/** What a token's header says, checked but not verified. @throws PermissionError */
export function tokenHeader(jwt: string, refused: Refusal): { typ: unknown; kid: string | undefined } {
  if (jwt.length > SECRET_BYTES_MAX) throw refused(`it is longer than ${SECRET_BYTES_MAX} bytes`);
  const parts = jwt.split(".");
  const bytes = parts.length === 3 ? Buffer.from(parts[0] ?? "", "base64url") : undefined;
  const header = recordOf(bytes, { refused, otherwise: "it is not a signed token", part: "its header" });
  const { alg, crit, typ, kid } = header;
  if (alg !== "RS256") throw refused(`it is signed with ${quoted(alg)}, only RS256 is accepted`);
  if (crit !== undefined) throw refused("its header asks for extensions ('crit'), none is accepted");
  if (kid !== undefined && typeof kid !== "string") throw refused(`its header names no key ('kid' is ${quoted(kid)})`);
  return { typ, kid };
}

/** The error for a licence, with the remedy. @param reason the rest of "the licence is refused: " */
export function refused(reason: string): PermissionError {
  return new PermissionError(`the licence is refused: ${reason}. Run 'svc login' to get a new one`, "license_invalid");
}

/** A claim's value for a message: short, and escaped, so that an untrusted one cannot control the terminal. */
export function quoted(value: unknown, lengthMax = 60): string {
  return (JSON.stringify(value) ?? "nothing").replace(/[^\x20-\x7e]/g, "?").slice(0, lengthMax);
}

/** A time or duration in seconds: finite, not negative, and before the year 10000. */
export function isTime(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value < 253_402_300_800;
}

/** @param how names the part where its JSON is refused for what it says rather than for what it is */
function recordOf(
  bytes: Uint8Array | undefined,
  { refused, otherwise, part }: { refused: Refusal; otherwise: string; part: string },
): Claims {
  let value: unknown;
  try {
    value = bytes && parseStrictJson(bytes);
  } catch (error) {
    const reason = (error as Error).message;
    throw refused(reason === "it is not JSON" || reason === "it is not UTF-8" ? otherwise : `in ${part} ${reason}`);
  }
  if (!isObject(value)) throw refused(otherwise);
  return value;
}
