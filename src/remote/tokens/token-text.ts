/**
 * The text of a named token, `svct_` and 36 characters of base64url: 192 random bits and a checksum of 24 bits, which
 * distinguish a token that was mistyped or cut off from one that was revoked or never existed.
 */
import { createHash } from "node:crypto";

const SHAPE = /^svct_([\w-]{36})$/;
const RANDOM_BYTES = 24;

/** A fresh token. */
export function newToken(): string {
  const random = Buffer.from(crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)));
  return `svct_${Buffer.concat([random, checksum(random)]).toString("base64url")}`;
}

/** Whether a text is, or is meant as, a named token; the one token of a server is any other text. */
export function isNamedTokenText(text: string): boolean {
  return text.startsWith("svct_");
}

/** Whether a text is a named token as it was made, by its checksum. */
export function isWholeToken(text: string): boolean {
  const [, secret = ""] = SHAPE.exec(text) ?? [];
  const bytes = Buffer.from(secret, "base64url");
  if (bytes.length !== RANDOM_BYTES + 3) return false;
  return checksum(bytes.subarray(0, RANDOM_BYTES)).equals(bytes.subarray(RANDOM_BYTES));
}

/** The SHA-256 of a token: what is stored of a named one, and what is compared. */
export function tokenHash(text: string): Buffer {
  return createHash("sha256").update(text, "utf8").digest();
}

function checksum(random: Uint8Array): Buffer {
  return createHash("sha256").update("svc-token:v1:").update(random).digest().subarray(0, 3);
}
