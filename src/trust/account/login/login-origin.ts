/**
 * The authority of this machine's login: whose answers about it count. `login_origin` has its base address, as one host
 * may have more than one, with the digest of the login's API key: the record of an earlier login does not count.
 */
import { createHash } from "node:crypto";
import { isObject } from "../../../checks/kinds.ts";
import { parseStrictJson } from "../../../checks/strict-json.ts";
import { readSecret, removeDurable, writeDurable } from "../../../durable.ts";
import { attempt } from "../../../errors.ts";
import { SECRET_BYTES_MAX } from "../../../limits.ts";
import { accountPaths } from "../../../paths.ts";
import { secretText } from "../files.ts";

/**
 * Records where a login got its API key. The caller holds the login's lock, and stores the key.
 * @param api the API's base address; undefined for this machine's local authority, which revokes no device
 * @throws OSError
 */
export function recordLoginOrigin(home: string, api: string | undefined, apiKey: string): void {
  const path = accountPaths(home).loginOrigin;
  if (api === undefined) removeDurable(path);
  else writeDurable(path, `${JSON.stringify({ format: 1, api: baseOf(api), key: digestOf(apiKey) })}\n`);
}

/** A base address as two are compared: without slashes at its end. */
export function baseOf(address: string): string {
  const { origin, pathname } = new URL(address);
  return origin + pathname.replace(/\/+$/, "");
}

/**
 * The base address of the authority that the stored API key is of; undefined where that is not known. Never throws.
 * @param givenKey undefined too where that is another key than the stored one; none, or an empty one, is not compared
 */
export function loginServer(home: string, givenKey?: string): string | undefined {
  return attempt(() => {
    const paths = accountPaths(home);
    const apiKey = secretText(home, paths.apiKey);
    if (isOther(givenKey, apiKey)) return undefined;
    const bytes = readSecret(paths.loginOrigin, SECRET_BYTES_MAX, home);
    const value: unknown = bytes && parseStrictJson(bytes);
    if (!isObject(value) || value.format !== 1 || typeof value.api !== "string") return undefined;
    return apiKey !== undefined && value.key === digestOf(apiKey) ? value.api : undefined;
  });
}

/**
 * Whether nothing says where the stored login was made: an earlier svc made it, or it is with this machine's own
 * authority. Never throws.
 * @param givenKey false too where that is another key than the stored one
 */
export function isUnrecorded(home: string, givenKey?: string): boolean {
  const { apiKey, loginOrigin } = accountPaths(home);
  const isThere = () => readSecret(loginOrigin, SECRET_BYTES_MAX, home) !== undefined;
  return attempt(() => !isThere() && !isOther(givenKey, secretText(home, apiKey))) ?? false;
}

function isOther(givenKey: string | undefined, apiKey: string | undefined): boolean {
  const given = givenKey?.trim();
  return given !== undefined && given !== "" && given !== apiKey;
}

/** The origin of that address. */
export function loginOrigin(home: string): string | undefined {
  return URL.parse(loginServer(home) ?? "")?.origin;
}

/** The digest by which a record names the API key of the login that it belongs to. */
export function digestOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
