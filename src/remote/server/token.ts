/** The bearer token of TCP connections. */
import { createHash, timingSafeEqual } from "node:crypto";
import { AUTH_FIRST, type Request, UNAUTHORIZED } from "../wire/protocol.ts";

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

/**
 * Checks an `auth`, or the request that came in its place.
 * @param token undefined where connections need none
 * @returns the refusal; undefined where it is accepted
 */
export function judge(
  { op, args }: Request,
  token: AccessToken | undefined,
): { error: string; why: string } | undefined {
  if (op !== "auth") return { error: AUTH_FIRST, why: "it sent another request before auth" };
  const guess = args && typeof args === "object" ? args.token : undefined;
  return token && !token.matches(guess) ? { error: UNAUTHORIZED, why: "a wrong token" } : undefined;
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text, "utf8").digest();
}
