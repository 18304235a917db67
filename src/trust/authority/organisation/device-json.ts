/** A device as programs get it, over HTTP and from the terminal. */
import type { DeviceEntry } from "../ledger/devices.ts";

/** Times in UTC, ISO 8601; null for what has not happened. Its key is named by its thumbprint alone. */
export function deviceJson(device: DeviceEntry) {
  const { deviceId, thumbprint, name, platform, account, tags, enrolledBy } = device;
  return {
    device_id: deviceId,
    name,
    account,
    platform,
    tags,
    key_thumbprint: thumbprint,
    enrolled_by: enrolledBy,
    registered_at: timeOf(device.registeredAt),
    seen_at: timeOf(device.seenAt),
    licensed_at: timeOf(device.licensedAt),
    license_ends: timeOf(device.licenseEnds),
    revoked_at: timeOf(device.revokedAt),
    revoked_by: device.revokedBy,
  };
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
