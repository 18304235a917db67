/**
 * A licence that an administrator issues by hand, for a server that is given it (`svc serve --require-license`): it is
 * recorded like those that devices ask for, and is not renewed by itself.
 */
import { randomUUID } from "node:crypto";
import { checkAccount } from "../../../checks/device-name.ts";
import { shown } from "../../../checks/kinds.ts";
import { PermissionError, ValueError } from "../../../errors.ts";
import { verifyLicense } from "../../account/license/license.ts";
import { LOCAL_ACCOUNT } from "../context.ts";
import { THUMBPRINT } from "../device-requests.ts";
import { type LicenseGrant, signLicense } from "../keys.ts";
import type { DeviceEntry } from "../ledger/devices.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { type Actor, findDevice } from "./device-actions.ts";
import { ledgerKeys } from "./key-ring.ts";

/** Whom a licence is for: a registered device, by its id or name, or a device's key, which need not be registered. */
export type Licensee = { readonly device: string } | { readonly thumbprint: string };

/** What it says. */
export interface LicenseTerms {
  readonly tier: string;
  readonly features: readonly string[];
  readonly licenseDays: number;
  readonly offlineGraceDays: number;
  /** Without one the device's own. */
  readonly account?: string | undefined;
}

export interface GivenLicense extends LicenseGrant {
  readonly id: string;
  readonly jwt: string;
  readonly device: DeviceEntry | undefined;
}

/**
 * Issues a licence; the record and its row in the audit log are one transaction.
 * @param now milliseconds since 1970
 * @throws ValueError for a device that is not there, or what is not a thumbprint or account; PermissionError
 *   for a device that is revoked, for terms that machines would refuse, and for a ledger without a key
 */
export async function issueByHand(
  ledger: Ledger,
  to: Licensee,
  terms: LicenseTerms,
  { by, now }: Pick<Actor, "by"> & { readonly now: number },
): Promise<GivenLicense> {
  const { device, thumbprint } = licensee(ledger, to);
  const account = terms.account === undefined ? undefined : checkAccount(terms.account);
  const { tier, features, licenseDays, offlineGraceDays } = terms;
  const issuedAt = Math.floor(now / 1000);
  const grant: LicenseGrant = {
    account: account ?? device?.account ?? LOCAL_ACCOUNT,
    deviceThumbprint: thumbprint,
    ...{ tier, features, issuedAt, offlineGraceDays },
    expiresAt: issuedAt + licenseDays * 86_400,
  };
  const key = ledgerKeys(ledger.licenseKeys).current();
  const id = randomUUID();
  const { jwt } = await signLicense(key, { ...grant, id });
  // What machines would refuse is not issued, such as one that is too long.
  await verifyLicense(jwt, { publicKeyPem: key.publicKeyPem, deviceThumbprint: thumbprint, now: issuedAt });
  ledger.transaction(() => {
    refuseRevoked(ledger.devices.ofKey(thumbprint));
    ledger.devices.addLicense(id, device?.deviceId ?? null, tier, issuedAt * 1000, grant.expiresAt * 1000);
    const expires = new Date(grant.expiresAt * 1000).toISOString();
    const detail = { license: id, tier, features: features.join(" "), expires_at: expires, thumbprint, by_hand: true };
    ledger.audit.add({ at: now, event: "license_issued", actor: by, device: device?.deviceId, detail });
  });
  return { ...grant, id, jwt, device };
}

function licensee(ledger: Ledger, to: Licensee): { device: DeviceEntry | undefined; thumbprint: string } {
  if ("device" in to) {
    const device = findDevice(ledger, to.device);
    refuseRevoked([device]);
    return { device, thumbprint: device.thumbprint };
  }
  const { thumbprint } = to;
  if (!THUMBPRINT.test(thumbprint))
    throw new ValueError(
      `${shown(thumbprint)} is not a thumbprint: it is 'ed25519:' and 43 characters, as 'svc runtime status' shows it`,
    );
  const devices = ledger.devices.ofKey(thumbprint);
  refuseRevoked(devices);
  return { device: devices[0], thumbprint };
}

function refuseRevoked(devices: readonly DeviceEntry[]): void {
  const revoked = devices.find(({ revokedAt }) => revokedAt !== null);
  if (revoked === undefined) return;
  const { name, deviceId } = revoked;
  throw new PermissionError(
    `the device ${shown(name || deviceId)} was revoked: 'svc authority devices allow ${deviceId}' lets it in again`,
  );
}
