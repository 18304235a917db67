/**
 * The licence of this machine's login, and the check that loading, installing and verifying the runtime are handed: the account
 * layer's knowledge in three functions.
 */
import { PermissionError, ValueError } from "../errors.ts";
import { accountPaths, type Env } from "../paths.ts";
import { licenseAnchor } from "./anchors.ts";
import { readClock } from "./clock.ts";
import { readDevice } from "./device.ts";
import { secretText } from "./files.ts";
import { type License, verifyLicense } from "./license.ts";

/** The one sentence for a machine where no login was done. */
export const NOT_LOGGED_IN = "not logged in: run 'svc login' once";

/**
 * `login_license.jwt` as signed, not verified; `undefined` where there is none.
 * @throws PermissionError if it is no file of a licence's size, or if others can read it; OSError
 */
export function storedLicense(home: string): string | undefined {
  try {
    return secretText(home, accountPaths(home).license);
  } catch (error) {
    // A crash can leave a file of any length behind, and a login replaces it like every other licence that is not good.
    if (error instanceof ValueError)
      throw new PermissionError(`the licence is damaged, ${error.message}: run 'svc login'`);
    throw error;
  }
}

/** Checks the licence of this machine's login. @throws PermissionError where there is none or it is not good */
export async function checkStoredLicense(home: string, env: Env): Promise<License> {
  const jwt = storedLicense(home);
  if (jwt === undefined) throw new PermissionError(NOT_LOGGED_IN);
  return licenseCheck(home, env)(jwt);
}

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
