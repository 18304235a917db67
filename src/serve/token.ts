/** The bearer token of TCP connections. */
import { createHash, timingSafeEqual } from "node:crypto";

/** Compares without telling by its duration how much of a guess was right, or how long the token is. */
export class AccessToken {
  private readonly digest: Buffer;

  constructor(token: string) {
    this.digest = sha256(token);
  }

  /** Whether `guess` is the token; anything but a string is not. */
  matches(guess: unknown): boolean {
    return timingSafeEqual(sha256(typeof guess === "string" ? guess : ""), this.digest) && typeof guess === "string";
  }
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text, "utf8").digest();
}
