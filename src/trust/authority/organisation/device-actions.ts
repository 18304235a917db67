/**
 * What administrators do with devices: on the pages, over HTTP and on the terminal alike. Each change and its row in the
 * audit log are one transaction.
 */
import { checkDeviceName } from "../../../checks/device-name.ts";
import { shown } from "../../../checks/kinds.ts";
import { ValueError } from "../../../errors.ts";
import type { AuditEvent } from "../ledger/audit.ts";
import type { DeviceEntry } from "../ledger/devices.ts";
import type { Ledger } from "../ledger/ledger.ts";

/** Who does it: an administrator's name, and the address they are at. */
export interface Actor {
  readonly by: string;
  readonly address?: string | undefined;
}

/**
 * Gives a device another name; times are in milliseconds since 1970.
 * @returns false where it has that name
 * @throws ValueError for a name that `checkDeviceName` refuses, and where there is no such device
 */
export function renameDevice(ledger: Ledger, deviceId: string, name: string, actor: Actor, now: number): boolean {
  const plain = checkDeviceName(name);
  return ledger.transaction(() => {
    const { name: before } = known(ledger, deviceId);
    if (before === plain || !ledger.devices.rename(deviceId, plain)) return false;
    record(ledger, "device_renamed", deviceId, actor, now, { from: before, to: plain });
    return true;
  });
}

/**
 * Revokes a device: from now on the authority refuses it whatever it shows, also in the middle of an enrolment or a
 * download. Its licence ends where the device asks next, or by itself at the end of its days of grace.
 * @returns false where it is revoked already: who did it first, and when, stands
 * @throws ValueError where there is no such device
 */
export function revokeDevice(ledger: Ledger, deviceId: string, actor: Actor, now: number): boolean {
  return ledger.transaction(() => {
    known(ledger, deviceId);
    if (!ledger.devices.revoke(deviceId, actor.by, now)) return false;
    record(ledger, "device_revoked", deviceId, actor, now);
    return true;
  });
}

/**
 * Lets a revoked device in again; `svc login` on it gets a licence.
 * @returns false where it is not revoked
 * @throws ValueError where there is no such device
 */
export function allowDevice(ledger: Ledger, deviceId: string, actor: Actor, now: number): boolean {
  return ledger.transaction(() => {
    known(ledger, deviceId);
    if (!ledger.devices.allow(deviceId, now)) return false;
    record(ledger, "device_allowed", deviceId, actor, now);
    return true;
  });
}

/**
 * The device of an id, or of a name that only one has.
 * @throws ValueError where there is none, or more than one
 */
export function findDevice(ledger: Ledger, idOrName: string): DeviceEntry {
  const device = ledger.devices.get(idOrName);
  if (device) return device;
  const found = idOrName === "" ? [] : ledger.devices.list({ search: idOrName, limit: SEARCHED_MAX });
  const named = found.filter(({ name }) => name === idOrName);
  if (named.length > 1) {
    const ids = named.map(({ deviceId }) => deviceId).join(", ");
    throw new ValueError(`${named.length} devices are called ${shown(idOrName)}: name one by its id (${ids})`);
  }
  if (named[0]) return named[0];
  throw new ValueError(`there is no device ${shown(idOrName)}: 'svc authority devices' lists them with their ids`);
}

/** Devices that contain a name in what they are searched by; the last registered first. */
const SEARCHED_MAX = 10_000;

function known(ledger: Ledger, deviceId: string): DeviceEntry {
  const device = ledger.devices.get(deviceId);
  if (device) return device;
  throw new ValueError(`there is no device ${shown(deviceId)}`);
}

function record(
  ledger: Ledger,
  event: AuditEvent,
  device: string,
  { by, address }: Actor,
  at: number,
  detail?: Record<string, string>,
): void {
  ledger.audit.add({ at, event, actor: by, device, address, detail });
}
