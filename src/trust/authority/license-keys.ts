/** Which LICENSE keys an authority has, and what it tells others of them. */
import { createPublicKey } from "node:crypto";
import { LICENSE_KEYS_MAX } from "../../limits.ts";
import { type Authority, answerJson, type Routes } from "./context.ts";
import type { LicenseKey, LicenseKeys } from "./keys.ts";

/** The one key of the local authority. */
export function localKeys(key: LicenseKey): LicenseKeys {
  return { current: () => key, list: () => [key], statements: () => [] };
}

/** A public LICENSE key for programs that verify licences (RFC 7517). */
export interface LicenseJwk extends Record<string, unknown> {
  readonly kid: string;
}

/** All keys as JWKs, newest first. */
export function licenseJwks(keys: LicenseKeys): LicenseJwk[] {
  return keys.list().map(({ kid, publicKeyPem }) => {
    const { kty, n, e } = createPublicKey(publicKeyPem).export({ format: "jwk" });
    return { kty, n, e, alg: "RS256", use: "sig", kid };
  });
}

/** GET /v1/license-keys: the public keys, newest first, and the statements that lead to the latest one. */
function licenseKeys({ keys }: Authority): Response {
  return answerJson(200, { keys: licenseJwks(keys), statements: keys.statements().slice(-LICENSE_KEYS_MAX) });
}

export const LICENSE_KEY_ROUTES: Routes = { "GET /v1/license-keys": licenseKeys };
