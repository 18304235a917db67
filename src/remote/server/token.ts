/** The one bearer token of a server. */
import { createHash, timingSafeEqual } from "node:crypto";

/** Compares in a time that reveals neither how much of a guess was right nor the token's length. */
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
