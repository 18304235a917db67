/** The one bearer token of a server. */
import { timingSafeEqual } from "node:crypto";
import { tokenHash } from "../tokens/token-text.ts";

/** Compares in a time that reveals neither how much of a guess was right nor the token's length. */
export class AccessToken {
  private readonly digest: Buffer;

  constructor(token: string) {
    this.digest = tokenHash(token);
  }

  /** Whether `guess` is the token; anything but a string is not. */
  matches(guess: unknown): boolean {
    return timingSafeEqual(tokenHash(typeof guess === "string" ? guess : ""), this.digest) && typeof guess === "string";
  }
}
