/** The pages about devices. */
import { ValueError } from "../../../errors.ts";
import { address } from "../../../pages/lists.ts";
import type { Call, Routes } from "../context.ts";
import { DEVICE_ID } from "../device-requests.ts";
import type { DeviceEntry } from "../ledger/devices.ts";
import { devicePage, revokeDevicePage } from "../pages/device.ts";
import { devicesPage } from "../pages/devices.ts";
import { html } from "../site.ts";
import { about, done, entered, missing, type Shown, sent, sentence, tokenFor, type Visitor, view } from "./admin.ts";
import { allowDevice, renameDevice, revokeDevice } from "./device-actions.ts";
import { listPage } from "./list-pages.ts";

/** GET /admin/devices?search=…&revoked=yes|no&after=<id>|before=<id> */
const list: Shown = ({ authority, call, base, signed, now, said }) => {
  const { searchParams } = call.url;
  const search = entered(searchParams, "search").trim();
  const state = searchParams.get("revoked");
  const revoked = state === "yes" || state === "no" ? state : "";
  const { devices } = authority.ledger;
  const isRevoked = revoked === "" ? undefined : revoked === "yes";
  const { rows, around } = listPage({
    path: `${base}/devices`,
    chosen: { search, revoked },
    parameters: searchParams,
    shape: DEVICE_ID,
    read: (place, limit) => devices.list({ search, revoked: isRevoked, limit, ...place }),
    idOf: ({ deviceId }) => deviceId,
  });
  const count = devices.count();
  return html(200, devicesPage({ signed, devices: rows, count, search, revoked, around, now, said }));
};

const ofDevice = about(
  ({ authority, call }) => {
    const { id = "" } = call.params;
    return DEVICE_ID.test(id) ? authority.ledger.devices.get(id) : undefined;
  },
  (visitor) => missing(visitor, "devices", "This device is not known here.", "All devices"),
);

/** GET /admin/devices/:id; `name` is what a form had that was sent without a session. */
const one = ofDevice((visitor, device) => {
  const kept = visitor.call.url.searchParams.get("name");
  return shownDevice(visitor, device, 200, { said: visitor.said, entered: kept?.slice(0, 200) });
});

/** POST /admin/devices/:id/rename. The form says what the name was: another administrator may have changed it since. */
const rename = ofDevice(async (visitor, device, form: URLSearchParams) => {
  const { actor, now } = visitor;
  const { ledger } = visitor.authority;
  const name = (form.get("name") ?? "").trim();
  let isDone = false;
  try {
    isDone = await ledger.commit(() => {
      if (ledger.devices.get(device.deviceId)?.name !== form.get("was")) return false;
      renameDevice(ledger, device.deviceId, name, actor, now);
      return true;
    });
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    return shownDevice(visitor, device, 400, { problem: sentence(error), entered: name });
  }
  const current = ledger.devices.get(device.deviceId) ?? device;
  // The second of two clicks finds the name that the first has saved.
  if (isDone || current.name === name) return done(visitor, pathTo(device), "The name was saved.");
  const problem =
    "Its name was changed meanwhile, by someone else or in another window. Save it again to replace that.";
  return shownDevice(visitor, current, 409, { problem, entered: name });
});

/** GET /admin/devices/:id/revoke */
const askToRevoke = ofDevice((visitor, device) => {
  const { signed, now, said } = visitor;
  if (device.revokedAt !== null) return done(visitor, pathTo(device), "It is revoked already.");
  const csrf = tokenFor(visitor, `${pathTo(device)}/revoke`);
  const graceDays = visitor.authority.offlineGraceDays;
  return html(200, revokeDevicePage({ signed, device, csrf, graceDays, now, said }));
});

/** POST /admin/devices/:id/revoke */
const revoke = ofDevice(async (visitor, device) => {
  const { actor, now } = visitor;
  const { ledger } = visitor.authority;
  await ledger.commit(() => revokeDevice(ledger, device.deviceId, actor, now));
  // The second of two clicks finds it revoked by this administrator: it gets what the first got.
  const isOwn = ledger.devices.get(device.deviceId)?.revokedBy === actor.by;
  return done(visitor, pathTo(device), isOwn ? "The device was revoked." : "It was revoked already.");
});

/** POST /admin/devices/:id/allow */
const allow = ofDevice(async (visitor, device) => {
  const { ledger } = visitor.authority;
  await ledger.commit(() => allowDevice(ledger, device.deviceId, visitor.actor, visitor.now));
  return done(visitor, pathTo(device), "The device is allowed.");
});

const pathOf = (call: Call) => `/devices/${call.params.id}`;
const pathTo = ({ deviceId }: DeviceEntry) => `/devices/${deviceId}`;

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
  const token = (action: string) => tokenFor(visitor, `${pathTo(device)}/${action}`);
  const csrf = { rename: token("rename"), allow: token("allow") };
  return html(status, devicePage({ signed, device, csrf, now, ...more }));
}
