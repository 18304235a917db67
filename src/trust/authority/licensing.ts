/** Licences of devices: recorded in the transaction that lets a device in, signed after it. */
import { randomUUID } from "node:crypto";
import type { Authority, Call } from "./context.ts";
import { type LicenseGrant, signLicense } from "./keys.ts";
import type { DeviceRecord } from "./ledger/devices.ts";

/** A licence that is recorded: what remains is to sign it. */
export type RecordedLicense = LicenseGrant & { readonly id: string };

/**
 * Records the licence of a device from now on, in the transaction of the caller. The signature takes milliseconds on
 * another thread: a transaction that waited for it would hold up all others.
 * @param now milliseconds since 1970
 */
export function recordLicense(
  authority: Authority,
  call: Call,
  { deviceId, thumbprint, account }: Pick<DeviceRecord, "deviceId" | "thumbprint" | "account">,
  now: number,
): RecordedLicense {
  const { ledger, tier, features, licenseDays, offlineGraceDays } = authority;
  const id = randomUUID();
  const issuedAt = Math.floor(now / 1000);
  const expiresAt = issuedAt + licenseDays * 86_400;
  ledger.devices.addLicense(id, deviceId, tier, issuedAt * 1000, expiresAt * 1000);
  const detail = { license: id, tier, expires_at: new Date(expiresAt * 1000).toISOString() };
  authority.audit("license_issued", { actor: deviceId, device: deviceId, address: call.address, detail });
  return { id, account, deviceThumbprint: thumbprint, tier, features, issuedAt, expiresAt, offlineGraceDays };
}

/** The licence as a JWT. */
export async function signRecorded(authority: Authority, license: RecordedLicense): Promise<string> {
  return (await signLicense(authority.keys.current(), license)).jwt;
}
