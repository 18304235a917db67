/** An authority's addresses, and which addresses may be sent a secret. */
import { buildInfo } from "../build-info.ts";
import { PermissionError, ValueError } from "../errors.ts";
import type { Env } from "../paths.ts";

/** The three base addresses of an authority. Without `packages` the bundle embedded in the executable is installed. */
export interface Endpoints {
  readonly accounts: string;
  readonly api: string;
  readonly packages?: string;
}

/**
 * The remote authority of the environment or the build; `undefined` means the built-in local one.
 * `SVC_API_URL` may be omitted where it equals `SVC_ACCOUNTS_URL`.
 * @throws ValueError if only the api or packages address is given; PermissionError if the environment names another
 *   authority than the build's.
 */
export function configuredEndpoints(env: Env, built: string | null = buildInfo().authority): Endpoints | undefined {
  const { SVC_ACCOUNTS_URL: accounts, SVC_API_URL: api, SVC_PACKAGES_URL: packages } = env;
  if (built !== null) {
    for (const [name, value] of Object.entries({
      SVC_ACCOUNTS_URL: accounts,
      SVC_API_URL: api,
      SVC_PACKAGES_URL: packages,
    })) {
      if (value && new URL(built).origin !== secureBase(value, name).origin) {
        throw new PermissionError(`this build trusts only ${new URL(built).origin}: unset ${name}`);
      }
    }
    return { accounts: accounts || built, api: api || built, packages: packages || built };
  }
  if (!accounts) {
    if (api) throw new ValueError("SVC_API_URL is set without SVC_ACCOUNTS_URL: set both");
    return undefined;
  }
  return { accounts, api: api || accounts, packages: packages || undefined };
}

/**
 * Parses a base address and refuses, before any traffic, one that would expose a secret: plain http is for loopback
 * only.
 * @throws ValueError naming `what` if it is no http(s) address; PermissionError for plain http elsewhere.
 */
export function secureBase(address: string, what: string): URL {
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    throw new ValueError(`${what}: '${address.slice(0, 200)}' is not an address`);
  }
  if (url.username !== "" || url.password !== "")
    throw new ValueError(`${what}: an address must not hold a user name or password`);
  if (url.protocol === "https:" && url.search === "" && url.hash === "") return url;
  if (url.protocol !== "http:" || url.search !== "" || url.hash !== "") {
    throw new ValueError(`${what}: '${address.slice(0, 200)}' is not a plain https address`);
  }
  if (!isLoopback(url.hostname))
    throw new PermissionError(`${what}: plain http to ${url.hostname} is refused, use https`);
  return url;
}

/** Whether a host name, as `URL` writes it, is this machine: `localhost` (RFC 6761 §6.3), 127.0.0.0/8 or ::1. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || host === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}
