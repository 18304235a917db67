/** Which page of administrators has which address. */

import type { Handler, Routes } from "../context.ts";
import { seeOther } from "../site.ts";
import { adminBase, missing, refusal, view } from "./admin.ts";
import { ADMIN_AUDIT_ROUTES } from "./admin-audit.ts";
import { ADMIN_DEVICE_ROUTES } from "./admin-devices.ts";
import { ADMIN_KEY_ROUTES } from "./admin-keys.ts";
import { ADMIN_SESSION_ROUTES } from "./admin-session.ts";

const nowhere = view((visitor) => missing(visitor, "devices", "There is no such page.", "Devices"));

/** The address of a form, typed again after an answer that was no other page: what it was about. */
const backFromForm: Handler = (authority, call) => {
  const path = `/devices/${call.params.id}`;
  return refusal(authority, call) ?? seeOther(adminBase(authority) + path);
};

export const ADMIN_ROUTES: Routes = {
  ...ADMIN_SESSION_ROUTES,
  ...ADMIN_DEVICE_ROUTES,
  ...ADMIN_KEY_ROUTES,
  ...ADMIN_AUDIT_ROUTES,
  "GET /admin/devices/:id/rename": backFromForm,
  "GET /admin/devices/:id/allow": backFromForm,
  // Last: the first route that fits is taken.
  "GET /admin/:page": nowhere,
  "GET /admin/:page/:more": nowhere,
  "GET /admin/:page/:more/:rest": nowhere,
};
