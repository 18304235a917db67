/** The pinned authority as commands report it. */

import { buildInfo } from "../../build-info.ts";
import { spkiOf } from "../../checks/rsa-key.ts";
import { keyId } from "../../trust/account/license/license-token.ts";
import { fingerprintOf } from "../../trust/account/login/login-target.ts";
import { namesAuthority, readPin } from "../../trust/account/trusted/pin.ts";

/** An authority as it stands in `--json`. */
export interface ReportedAuthority {
  readonly url: string;
  /** The fingerprint of its LICENSE key. */
  readonly license_key: string;
}

/**
 * The pinned authority; null where there is none, where the pin is damaged, which the check of the licence says, and in a
 * build for one authority, which goes to no other that another executable has pinned in the same home.
 */
export function pinnedAuthority(home: string): ReportedAuthority | null {
  if (buildInfo().authority !== null) return null;
  try {
    const pin = readPin(home);
    if (!namesAuthority(pin)) return null;
    const spki = spkiOf(pin.licenseKey) ?? new Uint8Array();
    return { url: pin.issuer, license_key: fingerprintOf({ kid: keyId(spki) }) };
  } catch {
    return null;
  }
}
