/** An authority's addresses, and which addresses may be sent a secret. */
import { buildInfo } from "../../../build-info.ts";
import { PermissionError, ValueError } from "../../../errors.ts";
import type { Env } from "../../../paths.ts";
import type { BuildTrust } from "./anchors.ts";
import { namesAuthority, readPin } from "./pin.ts";

/** The three base addresses of an authority. Without `packages` the bundle embedded in the executable is installed. */
export interface Endpoints {
  readonly accounts: string;
  readonly api: string;
  readonly packages?: string;
  /** The CA of the pinned authority, for requests to its origin. */
  readonly ca?: PinnedCa;
}

/** Certificates in PEM that the one of an origin has to lead to, instead of those of the system. */
export interface PinnedCa {
  readonly origin: string;
  readonly pem: string;
}

/**
 * The remote authority of the build, the environment or the pin, the first that names one; `undefined` means the
 * built-in local one. `SVC_API_URL` may be omitted where it equals `SVC_ACCOUNTS_URL`; `SVC_PACKAGES_URL` alone
 * replaces the pinned authority's packages.
 * @throws ValueError if only the api address is given; PermissionError if the environment names another authority than
 *   the build's, or where the pin is damaged.
 */
export function configuredEndpoints(env: Env, home: string, build?: BuildTrust): Endpoints | undefined {
  const { SVC_ACCOUNTS_URL: accounts, SVC_API_URL: api, SVC_PACKAGES_URL: packages } = env;
  const { authority: built } = build ?? buildInfo();
  const pin = readPin(home);
  const ca = pin?.issuer && pin.ca !== null ? { origin: new URL(pin.issuer).origin, pem: pin.ca } : undefined;
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
    return { accounts: accounts || built, api: api || built, packages: packages || built, ca };
  }
  if (accounts) return { accounts, api: api || accounts, packages: packages || undefined, ca };
  if (api) throw new ValueError("SVC_API_URL is set without SVC_ACCOUNTS_URL: set both");
  if (!namesAuthority(pin)) return undefined;
  return { accounts: pin.issuer, api: pin.issuer, packages: packages || pin.issuer, ca };
}

/**
 * Parses a base address and refuses, before any traffic, one that would expose a secret: plain http is for loopback
 * only.
 * @throws ValueError naming `what` if it is not http(s) address; PermissionError for plain http elsewhere.
 */
export function secureBase(address: string, what: string): URL {
  const url = URL.parse(address);
  if (url === null)
    throw new ValueError(`${what}: '${address.slice(0, 200)}' is not an address, as https://svc.example.org`);
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
