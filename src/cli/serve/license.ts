/** `svc serve --require-license` and `--require-tier`: the licence that is checked before anything listens. */

import { PermissionError } from "../../errors.ts";
import { type Env, svcHome } from "../../paths.ts";
import { requireFeature } from "../../trust/account/license/features.ts";
import type { License } from "../../trust/account/license/license.ts";
import { quoted } from "../../trust/account/license/license-token.ts";

interface Requirement {
  readonly env: Env;
  /** The licence of `--license` or `SVC_LICENSE`; without one it is the login's. */
  readonly given: string | undefined;
  /** The login's, verified. */
  readonly license: License;
  /** Without one every valid licence will do, as the service document has it. */
  readonly tier: string | undefined;
  /** Gets the warnings of a valid one that was given. */
  readonly warn: (line: string) => void;
}

/**
 * Checks a licence offline: valid on this machine, now; where a tier is wanted also of that very tier, and with the
 * feature `serve`. A given one is not renewed by this machine.
 * @returns the licence that was checked
 * @throws PermissionError where it is refused
 */
export async function requireLicense({ env, given, license, tier, warn }: Requirement): Promise<License> {
  let checked = license;
  if (given !== undefined) {
    const { checkLicense } = await import("../../trust/account/license/license-check.ts");
    checked = await checkLicense(svcHome(env), env, given);
    for (const warning of checked.warnings) warn(`of the licence that was given: ${warning}`);
  }
  if (tier === undefined) return checked;
  if (checked.tier !== tier)
    throw new PermissionError(
      `--require-tier: the licence is of tier ${quoted(checked.tier)}, not ${quoted(tier)}: ask the administrator of your ` +
        "authority for one, and give it by SVC_LICENSE",
    );
  requireFeature(checked, "serve", "svc serve");
  return checked;
}

/** Who holds a licence, as the history names them: the account, else the device that it is bound to. */
export function holderOf({ account, deviceThumbprint }: License): string {
  return account || `device ${deviceThumbprint.slice(0, "ed25519:".length + 12)}`;
}
