/**
 * The one session of a `svc ui`: an address that works once makes it, and a cookie that only this site gets carries it
 * (RFC 6265bis, SameSite=Strict). The address may stay in a history or a list of processes; the cookie does not.
 */
import { randomBytes } from "node:crypto";
import { sameSecret } from "../../trust/authority/context.ts";

const COOKIE = "svc_ui";
/** 256 bits as base64url. */
const LENGTH = 43;

export class Session {
  #entry: string | undefined = secret();
  readonly #id = secret();

  /** The path that opens the session, once. */
  get entryPath(): string {
    return `/enter?key=${this.#entry ?? ""}`;
  }

  /** Uses up the address. @returns the header that gives the browser its cookie; undefined for a wrong or used one */
  enter(key: string): { "set-cookie": string } | undefined {
    if (this.#entry === undefined || !sameSecret(key, this.#entry)) return undefined;
    this.#entry = undefined;
    return { "set-cookie": `${COOKIE}=${this.#id}; Path=/; HttpOnly; SameSite=Strict` };
  }

  /** Whether a request carries the session. */
  has(request: Request): boolean {
    const cookies = request.headers.get("cookie") ?? "";
    const given = new RegExp(`(?:^|;\\s*)${COOKIE}=([\\w-]{${LENGTH}})(?:;|$)`).exec(cookies)?.[1];
    return given !== undefined && sameSecret(given, this.#id);
  }
}

function secret(): string {
  return randomBytes(32).toString("base64url");
}
