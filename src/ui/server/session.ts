/**
 * The one session of a `svc ui`: an address that works once makes it, and a cookie that only sites of this host get carries
 * it (RFC 6265bis, SameSite=Strict). The address may stay in a history or a list of processes; the cookie does not.
 *
 * A cookie is for all ports of a host. So that several `svc ui` may be open in one browser, the cookie has the secrets of
 * the last ones.
 */
import { randomBytes } from "node:crypto";
import { sameSecret } from "../../trust/authority/context.ts";

const COOKIE = "svc_ui";
/** 256 bits as base64url. */
const SECRET = /^[\w-]{43}$/;
/** Secrets in a cookie: the oldest is left out. */
const SECRETS_MAX = 8;

export class Session {
  #entry: string | undefined = secret();
  readonly #id = secret();

  /** The path that opens the session, once. */
  get entryPath(): string {
    return `/enter?key=${this.#entry ?? ""}`;
  }

  /** Uses up the address. @returns the header that gives the browser its cookie; undefined for a wrong or used one */
  enter(key: string, request: Request): { "set-cookie": string } | undefined {
    if (this.#entry === undefined || !sameSecret(key, this.#entry)) return undefined;
    this.#entry = undefined;
    const secrets = [...secretsIn(request).slice(1 - SECRETS_MAX), this.#id].join(".");
    return { "set-cookie": `${COOKIE}=${secrets}; Path=/; HttpOnly; SameSite=Strict` };
  }

  /** Whether a request carries the session. */
  has(request: Request): boolean {
    return secretsIn(request).some((one) => sameSecret(one, this.#id));
  }
}

/** The secrets of the cookie, of this `svc ui` and others. */
function secretsIn(request: Request): string[] {
  const cookies = request.headers.get("cookie") ?? "";
  const value = new RegExp(`(?:^|;\\s*)${COOKIE}=([^;]*)`).exec(cookies)?.[1] ?? "";
  return value
    .split(".")
    .filter((one) => SECRET.test(one))
    .slice(-SECRETS_MAX);
}

function secret(): string {
  return randomBytes(32).toString("base64url");
}
