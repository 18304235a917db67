/** Whether this machine signs its licences itself. */

import type { Env } from "../../paths.ts";
import type { CheckOptions } from "../account/license/license-check.ts";
import { licenseAnchor } from "../account/trusted/anchors.ts";
import { type LicenseKey, readLicenseKey } from "./keys.ts";

/**
 * Whether the key that signs is this machine's: the anchor is neither built in nor of the environment, and is the public
 * half of the LICENSE key under SVC_HOME.
 * @throws PermissionError where the key cannot be used or others can read it
 */
export function signsHere(home: string, env: Env, options: Pick<CheckOptions, "build"> = {}): boolean {
  return ownKey(home, env, options) !== undefined;
}

/** The key that signs where it is this machine's. @throws as `signsHere` */
export function ownKey(home: string, env: Env, { build }: Pick<CheckOptions, "build">): LicenseKey | undefined {
  const anchor = licenseAnchor(home, env, build);
  if (anchor.source !== "local authority") return undefined;
  const key = readLicenseKey(home);
  return key?.publicKeyPem.trim() === anchor.publicKeyPem.trim() ? key : undefined;
}
