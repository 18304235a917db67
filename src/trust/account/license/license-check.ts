/** Whether a licence is valid on this machine, now: the login's, or one that the caller passes. */
import { PermissionError, ValueError } from "../../../errors.ts";
import { accountPaths, type Env } from "../../../paths.ts";
import { readClock } from "../clock.ts";
import { type DeviceIdentity, readDevice } from "../device.ts";
import { secretText } from "../files.ts";
import { type BuildTrust, licenseAnchor } from "../trusted/anchors.ts";
import { day, type License, verifyLicense } from "./license.ts";
import { refuseRevoked } from "./revocation.ts";

/** The message where no login was done. */
export const NOT_LOGGED_IN = "not logged in: run 'svc login' once";

export interface CheckOptions {
  /** This machine's identity, where the caller has read it. */
  readonly device?: DeviceIdentity;
  /** Nothing is written: the latest time seen stays as it is. */
  readonly readsOnly?: boolean;
  /** For tests: the present in seconds, and the build whose trust counts. */
  readonly now?: number;
  readonly build?: BuildTrust;
}

/**
 * `login_license.jwt` as signed, not verified; `undefined` where there is none.
 * @throws PermissionError if it is larger than a licence can be, or if others can read it; OSError
 */
export function storedLicense(home: string): string | undefined {
  try {
    return secretText(home, accountPaths(home).license);
  } catch (error) {
    // A crash can leave a file of any length; a login replaces it like every other invalid licence.
    if (error instanceof ValueError)
      throw new PermissionError(`the licence is damaged, ${error.message}: run 'svc login'`);
    throw error;
  }
}

/** Checks the licence of this machine's login. @throws PermissionError where there is none, or it is invalid or revoked */
export async function checkStoredLicense(home: string, env: Env): Promise<License> {
  return checkLicense(home, env, requireStored(home));
}

/** The licence of this machine's login, not verified. @throws PermissionError where there is none, or it is revoked */
export function requireStored(home: string): string {
  refuseRevoked(home);
  const jwt = storedLicense(home);
  if (jwt === undefined) throw new PermissionError(NOT_LOGGED_IN, "not_logged_in");
  return jwt;
}

/**
 * Checks a licence against this machine's device, anchor and clock; a clock set back causes a warning, and so does one
 * that jumped ahead, by which a licence does not end but becomes read-only.
 * @throws PermissionError where it is invalid; ValueError where the anchor cannot be used
 */
export async function checkLicense(home: string, env: Env, jwt: string, options: CheckOptions = {}): Promise<License> {
  const device = options.device ?? (await readDevice(home));
  if (!device) throw new PermissionError("this machine has no device key yet: run 'svc login' once");
  const { publicKeyPem, successors } = licenseAnchor(home, env, options.build);
  const { warning, ...clock } = readClock(home, options.now, !options.readsOnly);
  const trust = { publicKeyPem, successors, deviceThumbprint: device.thumbprint };
  const license = await verifyLicense(jwt, { ...trust, ...clock });
  return warning === undefined ? license : { ...license, warnings: [...license.warnings, warning] };
}

/**
 * What refuses changes under a read-only licence, until the clock is set or a login confirms it, without a restart;
 * undefined where they are not refused.
 * @param now the present in seconds, for tests
 * @returns a function that throws a PermissionError with both times and what to do
 */
export function changeGuard(home: string, license: License, now?: () => number): (() => void) | undefined {
  if (!license.readOnly) return undefined;
  return () => {
    const { aheadOf, warning } = readClock(home, now?.());
    if (aheadOf === undefined) return;
    const ended = `by this clock the licence ended on ${day(license.usableUntil)}`;
    throw new PermissionError(`changes are refused, as ${ended}: ${warning}`, "license_expired");
  };
}
