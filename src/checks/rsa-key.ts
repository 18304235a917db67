/**
 * RSA public keys of trust anchors, for RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 section 8.2), by WebCrypto: importing
 * `node:crypto` costs a first tool call more than all of its verifications.
 */

/** The SPKI in DER of one public key in PEM (RFC 7468 section 13); undefined for every other text. */
export function spkiOf(pem: string): Uint8Array<ArrayBuffer> | undefined {
  const body = /^\s*-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----\s*$/.exec(pem)?.[1];
  return body === undefined ? undefined : Buffer.from(body, "base64");
}

/** A key that verifies, and the bits of its modulus. Rejects where the bytes are not an RSA public key. */
export async function importRsaKey(spki: Uint8Array<ArrayBuffer>): Promise<{ key: CryptoKey; bits: number }> {
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("spki", spki, algorithm, false, ["verify"]);
  return { key, bits: (key.algorithm as unknown as { modulusLength: number }).modulusLength };
}
