/** The signed token that a licence is: its signature, by RS256 and nothing else, and its claims as untrusted values. */
import type { KeyObject } from "node:crypto";
import { importRsaKey, spkiOf } from "../checks/rsa-key.ts";
import { parseStrictJson } from "../checks/strict-json.ts";
import { PermissionError, ValueError } from "../errors.ts";
import { RSA_BITS_MIN, SECRET_BYTES_MAX } from "../limits.ts";

/** The claims of a token whose signature was verified; their values are checked by the reader. */
export type Claims = Record<string, unknown>;

/**
 * Reads a LICENSE trust anchor.
 * @throws ValueError unless it is the public half of an RSA key of at least 3,072 bits.
 */
export async function licensePublicKey(pem: string): Promise<CryptoKey> {
  if (pem.includes("PRIVATE KEY"))
    throw new ValueError("the licence key given is a private key: only its public half belongs here");
  const { key, bits } = await importRsaKey(spkiOf(pem) ?? new Uint8Array()).catch(async () =>
    importRsaKey(await rsaKey(pem)),
  );
  if (bits < RSA_BITS_MIN)
    throw new ValueError(`the licence key given has ${bits} bits, at least ${RSA_BITS_MIN} are needed`);
  return key;
}

/**
 * A key of another form as SPKI, or what is wrong with one that is none. node:crypto knows; importing it costs 1.4 ms,
 * which no first call with a usual key pays.
 */
async function rsaKey(pem: string): Promise<Uint8Array<ArrayBuffer>> {
  const { createPublicKey } = await import("node:crypto");
  let key: KeyObject;
  try {
    key = createPublicKey(pem);
  } catch {
    throw new ValueError("the licence key given is not a public key in PEM");
  }
  if (key.asymmetricKeyType !== "rsa") throw new ValueError("the licence key given is not an RSA key");
  return new Uint8Array(key.export({ format: "der", type: "spki" }));
}

/**
 * The claims, parsed only after the signature is verified. A key that stands twice is refused, in the header too: other
 * programs would read the other value.
 * @throws PermissionError
 */
export async function signedClaims(jwt: string, key: CryptoKey): Promise<Claims> {
  if (jwt.length > SECRET_BYTES_MAX) throw refused(`it is longer than ${SECRET_BYTES_MAX} bytes`);
  const parts = jwt.split(".");
  const header = recordOf(
    parts.length === 3 ? Buffer.from(parts[0] ?? "", "base64url") : undefined,
    "it is not a signed token",
    "its header",
  );
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
  return recordOf(payload, "its content is not a JSON object", "its content");
}

/** The error for a licence, with the remedy. @param reason the rest of "the licence is refused: " */
export function refused(reason: string): PermissionError {
  return new PermissionError(`the licence is refused: ${reason}. Run 'svc login' to get a new one`, "license_invalid");
}

/** A claim's value for a message: short, and escaped, so that an untrusted one cannot control the terminal. */
export function quoted(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").replace(/[^\x20-\x7e]/g, "?").slice(0, 60);
}

export function isRecord(value: unknown): value is Claims {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param what names the part where its JSON is refused for what it says rather than for what it is */
function recordOf(bytes: Uint8Array | undefined, otherwise: string, what: string): Claims {
  let value: unknown;
  try {
    value = bytes && parseStrictJson(bytes);
  } catch (error) {
    const reason = (error as Error).message;
    throw refused(reason === "it is not JSON" || reason === "it is not UTF-8" ? otherwise : `in ${what} ${reason}`);
  }
  if (!isRecord(value)) throw refused(otherwise);
  return value;
}
