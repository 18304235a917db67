/**
 * Fingerprints of certificates, as addresses have them: `SHA256:` and the SHA-256 of the certificate in DER, in
 * base64url without padding.
 */

/** A fingerprint's form. */
export const FINGERPRINT = /^SHA256:[A-Za-z0-9_-]{43}$/;

/** The fingerprint of a certificate in DER. */
export function fingerprintOf(der: Uint8Array): string {
  // Not imported: node:crypto takes a tenth of a short call, and few addresses have a fingerprint.
  const { createHash } = process.getBuiltinModule("node:crypto");
  return `SHA256:${createHash("sha256").update(der).digest("base64url")}`;
}
