/**
 * A licence of this machine's local authority, signed again where its key is: without network, and without a port that
 * another program could ask for one.
 */

import { writeDurable } from "../../durable.ts";
import { OSError, PermissionError, SvcError, TimeoutError } from "../../errors.ts";
import { accountPaths, authorityPaths, type Env, platformTag } from "../../paths.ts";
import { readClock } from "../account/clock.ts";
import { ensureDevice, readDevice } from "../account/device.ts";
import { type License, renewableFrom, verifyLicense } from "../account/license/license.ts";
import { type CheckOptions, storedLicense } from "../account/license/license-check.ts";
import { withLoginLock } from "../account/login/login-lock.ts";
import { LICENSE_DAYS, type LicenseKey, signLicense } from "./keys.ts";
import { isLocked } from "./ledger/errors.ts";
import { Ledger } from "./ledger/ledger.ts";
import { ownKey } from "./own-key.ts";

/** How often a locked ledger is tried again, and for how long. */
const LOOK_MS = 50;
const LOCKED_MS_MAX = 5000;

/**
 * Renews the licence of this machine's login: the same account, tier, features and length of life, from now on. The old
 * one stands until the new one is verified and durable. Of two processes one does it, and the other finds it done.
 * @returns the licence that is there afterwards; undefined where this machine does not sign it, or where the clock may be
 *   wrong
 * @throws PermissionError for a licence that is not of this key and this device; OSError where the disk fails;
 *   TimeoutError while another process holds the login's lock. The old licence stands then.
 */
export async function renewHere(
  home: string,
  env: Env,
  options: Omit<CheckOptions, "device"> = {},
): Promise<License | undefined> {
  const key = ownKey(home, env, options);
  const { warning, ...clock } = readClock(home, options.now);
  if (key === undefined || warning !== undefined) return undefined;
  return withLoginLock(home, async () => {
    const [jwt, identity] = [storedLicense(home), await readDevice(home)];
    if (jwt === undefined || identity === undefined) return undefined;
    const trust = { publicKeyPem: key.publicKeyPem, deviceThumbprint: identity.thumbprint, ...clock };
    const old = await verifyLicense(jwt, { ...trust, evenExpired: true });
    if (clock.now < renewableFrom(old)) return old;
    const renewed = await verifyLicense(await signAgain(home, key, old, clock.now), trust);
    writeDurable(accountPaths(home).license, `${renewed.jwt}\n`);
    return renewed;
  });
}

/** Signs the licence and records it, as a registration does. The caller holds the login's lock. */
async function signAgain(home: string, key: LicenseKey, old: License, now: number): Promise<string> {
  const device = await ensureDevice(home);
  const issuedAt = Math.floor(now);
  const lifetime = old.issuedAt === undefined ? LICENSE_DAYS * 86_400 : old.expiresAt - old.issuedAt;
  const expiresAt = issuedAt + Math.max(1, Math.floor(lifetime));
  const account = old.account ?? "local";
  const { id, jwt } = await signLicense(key, {
    account,
    deviceThumbprint: old.deviceThumbprint,
    tier: old.tier,
    features: old.features,
    issuedAt,
    expiresAt,
    offlineGraceDays: old.graceDays,
  });
  const record = {
    deviceId: device.id,
    thumbprint: device.thumbprint,
    publicKey: Buffer.from(device.publicKey).toString("base64url"),
    platform: platformTag() ?? `${process.platform}-${process.arch}`,
    hostHash: device.hostHash,
    account,
  };
  await unlessLocked(() => {
    const ledger = new Ledger(authorityPaths(home).ledger, home, 0);
    try {
      ledger.transaction(() => {
        const outcome = ledger.devices.register(record, issuedAt * 1000);
        if (outcome === "conflict")
          throw new PermissionError("the device id is registered with another key: run 'svc logout', then 'svc login'");
        if (outcome === "revoked") throw new PermissionError("this machine's local authority has revoked this device");
        ledger.devices.addLicense(id, device.id, old.tier, issuedAt * 1000, expiresAt * 1000);
      });
    } finally {
      ledger.close();
    }
  });
  return jwt;
}

/**
 * Writes to the ledger, again while another process has it locked. SQLite's own waiting would stop all of this process,
 * and with it calls that are answered meanwhile.
 * @param write can be repeated where it failed halfway
 * @throws what it throws, SQLite's errors as OSError; TimeoutError where the ledger stays locked for five seconds
 */
async function unlessLocked(write: () => void): Promise<void> {
  for (let waited = 0; ; waited += LOOK_MS) {
    try {
      return write();
    } catch (error) {
      if (isLocked(error) && waited >= LOCKED_MS_MAX)
        throw new TimeoutError("another process has locked the authority's ledger: try again", "locked");
      if (!isLocked(error)) {
        if (error instanceof SvcError) throw error;
        const reason = error instanceof Error ? error.message : String(error);
        throw new OSError(`the authority's ledger cannot be written (${reason}): check the disk and its free space`);
      }
    }
    await Bun.sleep(LOOK_MS);
  }
}
