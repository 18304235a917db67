/** The licence check that loading, installing and verifying the runtime are handed: the account layer's knowledge in one function. */

import { PermissionError } from "../errors.ts";
import type { Env } from "../paths.ts";
import { licenseAnchor } from "./anchors.ts";
import { readClock } from "./clock.ts";
import { readDevice } from "./device.ts";
import { type License, verifyLicense } from "./license.ts";

/** Says whether a licence is good on this machine, now. */
export function licenseCheck(home: string, env: Env): (jwt: string) => Promise<License> {
  return async (jwt) => {
    const device = readDevice(home);
    if (!device) throw new PermissionError("this machine has no device key yet: run 'svc login' once");
    const clock = readClock(home);
    return verifyLicense(jwt, {
      publicKeyPem: licenseAnchor(home, env).publicKeyPem,
      deviceThumbprint: device.thumbprint,
      now: clock.now,
      latest: clock.latest,
    });
  };
}
