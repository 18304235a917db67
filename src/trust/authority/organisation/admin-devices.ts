/** The pages about devices. */
import { ValueError } from "../../../errors.ts";
import type { Call, Routes } from "../context.ts";
import { DEVICE_ID } from "../device-requests.ts";
import type { DeviceEntry } from "../ledger/devices.ts";
import { devicePage, revokeDevicePage } from "../pages/device.ts";
import { devicesPage } from "../pages/devices.ts";
import { address } from "../pages/parts.ts";
import { html } from "../site.ts";
import { done, entered, missing, type Sent, type Shown, sent, tokenFor, type Visitor, view } from "./admin.ts";
import { allowDevice, renameDevice, revokeDevice } from "./device-actions.ts";
import { listPage, type Place, placeOf } from "./list-pages.ts";

/** GET /admin/devices?search=…&revoked=yes|no&after=<id>|before=<id> */
const list: Shown = ({ authority, call, base, signed, now, said }) => {
  const { searchParams } = call.url;
  const search = entered(searchParams, "search").trim();
  const state = searchParams.get("revoked");
  const revoked = state === "yes" || state === "no" ? state : "";
  const { devices } = authority.ledger;
  const isRevoked = revoked === "" ? undefined : revoked === "yes";
  const read = (place: Place, limit: number) => devices.list({ search, revoked: isRevoked, limit, ...place });
  const page = listPage(placeOf(searchParams, DEVICE_ID), read, ({ deviceId }) => deviceId);
  const at = (place: Place | undefined) => place && address(`${base}/devices`, { search, revoked, ...place });
  return html(
    200,
    devicesPage({
      signed,
      devices: page.rows,
      count: devices.count(),
      search,
      revoked,
      first: at(page.first),
      previous: at(page.previous),
      next: at(page.next),
      now,
      said,
    }),
  );
};

/** GET /admin/devices/:id; `name` is what a form had that was sent without a session. */
const one: Shown = (visitor) => {
  const device = deviceOf(visitor);
  if (device === undefined) return unknown(visitor);
  const kept = visitor.call.url.searchParams.get("name");
  return shownDevice(visitor, device, 200, { said: visitor.said, entered: kept?.slice(0, 200) });
};

/** POST /admin/devices/:id/rename. The form says what the name was: another administrator may have changed it since. */
const rename: Sent = async (visitor, form) => {
  const { authority, call, session, now } = visitor;
  const device = deviceOf(visitor);
  if (device === undefined) return unknown(visitor);
  const name = (form.get("name") ?? "").trim();
  const path = `/devices/${device.deviceId}`;
  const { ledger } = authority;
  const actor = { by: session.name, address: call.address };
  let isDone = false;
  try {
    isDone = await ledger.commit(() => {
      if (ledger.devices.get(device.deviceId)?.name !== form.get("was")) return false;
      renameDevice(ledger, device.deviceId, name, actor, now);
      return true;
    });
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    return shownDevice(visitor, device, 400, { problem: sentence(error.message), entered: name });
  }
  const current = deviceOf(visitor) ?? device;
  // The second of two clicks finds the name that the first has saved.
  if (isDone || current.name === name) return done(visitor, path, "The name was saved.");
  const problem =
    "Its name was changed meanwhile, by someone else or in another window. Save it again to replace that.";
  return shownDevice(visitor, current, 409, { problem, entered: name });
};

/** GET /admin/devices/:id/revoke */
const askToRevoke: Shown = (visitor) => {
  const device = deviceOf(visitor);
  if (device === undefined) return unknown(visitor);
  const { signed, now, said } = visitor;
  const path = `/devices/${device.deviceId}`;
  if (device.revokedAt !== null) return done(visitor, path, "It is revoked already.");
  const csrf = tokenFor(visitor, `${path}/revoke`);
  const graceDays = visitor.authority.offlineGraceDays;
  return html(200, revokeDevicePage({ signed, device, csrf, graceDays, now, said }));
};

/** POST /admin/devices/:id/revoke */
const revoke: Sent = async (visitor) => {
  const { authority, call, session, now } = visitor;
  const device = deviceOf(visitor);
  if (device === undefined) return unknown(visitor);
  const { ledger } = authority;
  const actor = { by: session.name, address: call.address };
  await ledger.commit(() => revokeDevice(ledger, device.deviceId, actor, now));
  // The second of two clicks finds it revoked by this administrator: it gets what the first got.
  const isOwn = ledger.devices.get(device.deviceId)?.revokedBy === session.name;
  return done(visitor, `/devices/${device.deviceId}`, isOwn ? "The device was revoked." : "It was revoked already.");
};

/** POST /admin/devices/:id/allow */
const allow: Sent = async (visitor) => {
  const { authority, call, session, now } = visitor;
  const device = deviceOf(visitor);
  if (device === undefined) return unknown(visitor);
  const { ledger } = authority;
  const actor = { by: session.name, address: call.address };
  await ledger.commit(() => allowDevice(ledger, device.deviceId, actor, now));
  return done(visitor, `/devices/${device.deviceId}`, "The device is allowed.");
};

const pathOf = (call: Call) => `/devices/${call.params.id}`;

export const ADMIN_DEVICE_ROUTES: Routes = {
  "GET /admin/devices": view(list),
  "GET /admin/devices/:id": view(one),
  "POST /admin/devices/:id/rename": sent(
    (call, form) => address(pathOf(call), { name: entered(form, "name") }),
    rename,
  ),
  "GET /admin/devices/:id/revoke": view(askToRevoke),
  "POST /admin/devices/:id/revoke": sent((call) => `${pathOf(call)}/revoke`, revoke),
  "POST /admin/devices/:id/allow": sent(pathOf, allow),
};

function shownDevice(
  visitor: Visitor,
  device: DeviceEntry,
  status: number,
  more: { said?: string | undefined; problem?: string; entered?: string | undefined },
): Response {
  const { signed, now } = visitor;
  const path = `/devices/${device.deviceId}`;
  const csrf = { rename: tokenFor(visitor, `${path}/rename`), allow: tokenFor(visitor, `${path}/allow`) };
  return html(status, devicePage({ signed, device, csrf, now, ...more }));
}

function deviceOf({ authority, call }: Visitor): DeviceEntry | undefined {
  const { id = "" } = call.params;
  return DEVICE_ID.test(id) ? authority.ledger.devices.get(id) : undefined;
}

function unknown(visitor: Visitor): Response {
  return missing(visitor, "devices", "This device is not known here.", "All devices");
}

/** A message of an error as a sentence. */
function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}
