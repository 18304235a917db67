/** How secrets are kept: as SHA-256 only. */
import { createHash, timingSafeEqual } from "node:crypto";

/** SHA-256 as hex. Each secret has at least 128 random bits, except the user code, which is valid for minutes. */
export function digest(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** Compares in constant time what the index compared before. */
export function sameDigest(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(a, "hex"), Buffer.from(b, "hex"));
}
