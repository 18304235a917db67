/** The list of devices. */

import { choice, field } from "../../../pages/forms.ts";
import { type Around, address, pages, table } from "../../../pages/lists.ts";
import { escaped, isolated, moment, status } from "../../../pages/text.ts";
import type { DeviceEntry } from "../ledger/devices.ts";
import { administration, type Page } from "./parts.ts";

/** A device as pages show it. */
export type DeviceShown = Omit<DeviceEntry, "publicKey" | "hostHash" | "seenAt">;

export interface DevicesPage extends Page {
  readonly devices: readonly DeviceShown[];
  readonly count: { readonly all: number; readonly revoked: number };
  readonly search: string;
  /** `""` for all of them, or `yes` or `no`. */
  readonly revoked: string;
  readonly around: Around;
}

/** A page of devices, with the search. */
export function devicesPage(page: DevicesPage): string {
  const { signed, devices, count, search, revoked, now } = page;
  const content = `<h1>Devices</h1>
    ${page.said === undefined ? "" : status(page.said)}
    ${count.all === 0 ? nothingYet(signed.base) : ""}
    ${count.all === 0 ? "" : searchForm(page)}
    ${devices.length > 0 ? list(signed.base, devices, captionOf(page), now) : ""}
    ${devices.length === 0 && count.all > 0 ? noneFound(signed.base, search, revoked) : ""}
    ${pages("Pages of devices", page.around)}`;
  return administration(signed, "devices", { title: "Devices", content });
}

/** The name of a device, or what stands for it. */
export function deviceName({ name, deviceId }: Pick<DeviceShown, "name" | "deviceId">): string {
  return name === "" ? `<span>device ${escaped(deviceId.slice(0, 8))}</span>` : isolated(name);
}

function list(base: string, devices: readonly DeviceShown[], caption: string, now: number): string {
  const rows = devices.map((device) => [
    `<a href="${base}/devices/${device.deviceId}">${deviceName(device)}</a>`,
    isolated(device.account),
    `<span class="whole">${escaped(device.platform)}</span>`,
    device.licensedAt === null ? "" : moment(device.licensedAt, now),
    standing(device, now),
  ]);
  return table({ caption, columns: ["Name", "Account", "Platform", "Last renewal", "Licence ends"], rows });
}

/** Until when a device may work, or that it may not. */
export function standing({ revokedAt, licenseEnds }: DeviceShown, now: number): string {
  if (revokedAt !== null) return `<span class="ended">Revoked</span> ${moment(revokedAt, now)}`;
  if (licenseEnds === null) return "";
  return `${licenseEnds <= now ? '<span class="ended">Ended</span> ' : ""}${moment(licenseEnds, now)}`;
}

function searchForm({ signed, search, revoked }: DevicesPage): string {
  const states = [
    ["", "All"],
    ["no", "Allowed"],
    ["yes", "Revoked"],
  ] as const;
  const label = "Name, account, platform, tag or id";
  const text = field({ name: "search", label, value: search, more: 'type="search" maxlength="128"' });
  return `<form class="search" role="search" method="get" action="${signed.base}/devices">
      <div>${text}</div>
      <div>${choice("revoked", "State", states, revoked)}</div>
      <button>Search</button>
    </form>`;
}

function captionOf({ devices, count, search, revoked, around: { first, next } }: DevicesPage): string {
  const shown = devices.length === 1 ? "One device" : `${devices.length} devices`;
  const order = devices.length === 1 ? "" : ", the last registered first";
  if (search !== "" || revoked !== "") {
    return `${shown} found${order}${next === undefined ? "" : "; more on the next page"}`;
  }
  const all = first === undefined && next === undefined ? "" : ` of ${count.all.toLocaleString("en")}`;
  return `${shown}${all}${order}${count.revoked === 0 ? "" : `; ${count.revoked.toLocaleString("en")} revoked`}`;
}

function nothingYet(base: string): string {
  return `<p>No device is registered yet. A person's device comes with <code>svc login</code> and an approval; for jobs
    and servers <a href="${base}/keys/new">make an enrolment key</a>.</p>`;
}

function noneFound(base: string, search: string, revoked: string): string {
  const of = revoked === "yes" ? "revoked device" : revoked === "no" ? "allowed device" : "device";
  const text = search === "" ? `No ${of} is here.` : `No ${of} matches ${isolated(search)}.`;
  return `<p role="status">${text} <a href="${address(`${base}/devices`)}">Show all devices</a></p>`;
}
