/** One device, and the question before it is revoked. */

import { field, hidden } from "../../../pages/forms.ts";
import { escaped, isolated, moment, status, visible } from "../../../pages/text.ts";
import { type DeviceShown, deviceName, standing } from "./devices.ts";
import { administration, type Page } from "./parts.ts";

export interface DevicePage extends Page {
  readonly device: DeviceShown;
  readonly csrf: { readonly rename: string; readonly allow: string };
  readonly problem?: string;
  /** What was entered as its name before. */
  readonly entered?: string;
}

const REVOKED = '<span class="ended">Revoked</span>';

/** What is known of a device, with the forms that rename it and allow it again. */
export function devicePage({ signed, device, csrf, now, said, problem, entered }: DevicePage): string {
  const path = `${signed.base}/devices/${device.deviceId}`;
  const { revokedAt, revokedBy, enrolledBy } = device;
  const facts: [string, string][] = [
    ["State", revokedAt === null ? "Allowed" : `${REVOKED} by ${isolated(revokedBy ?? "")} ${moment(revokedAt, now)}`],
    ["Account", isolated(device.account)],
    ["Platform", escaped(device.platform)],
    ["Tags", device.tags.map(isolated).join(", ") || "None"],
    ["Registered", moment(device.registeredAt, now)],
    ["Let in by", enrolledBy === null ? "An approval" : `Enrolment key <code>${escaped(enrolledBy)}</code>`],
    ["Last renewal", device.licensedAt === null ? "None" : moment(device.licensedAt, now)],
    ["Licence ends", standing({ ...device, revokedAt: null }, now) || "None was issued"],
    ["Device id", escaped(device.deviceId)],
    ["Key", escaped(device.thumbprint)],
  ];
  const content = `<h1>${deviceName(device)}</h1>
    ${said === undefined ? "" : status(said)}
    <dl>${facts.map(([name, value]) => `<dt>${name}</dt><dd>${value}</dd>`).join("\n")}</dl>
    <p><a href="${signed.base}/audit?device=${device.deviceId}">What the audit log has of it</a></p>
    <h2>${device.name === "" ? "Name" : "Rename"}</h2>
    <form method="post" action="${path}/rename">
      ${hidden({ csrf: csrf.rename, was: device.name })}
      ${field({
        name: "name",
        label: "Name of the device",
        value: entered ?? device.name,
        hint: "1 to 64 characters.",
        problem,
        more: 'required maxlength="128"',
      })}
      <p class="actions"><button>Save the name</button></p>
    </form>
    ${revokedAt === null ? revokeSection(path) : allowSection(path, csrf.allow)}`;
  const name = visible(device.name) || `device ${device.deviceId.slice(0, 8)}`;
  const title = problem === undefined ? name : `Error: ${name}`;
  return administration(signed, "devices", { title, content });
}

function revokeSection(path: string): string {
  return `<h2>Revoke</h2>
    <p>A revoked device gets no licence and nothing else here, until it is allowed again.</p>
    <p class="actions"><a class="button" href="${path}/revoke">Revoke this device…</a></p>`;
}

function allowSection(path: string, csrf: string): string {
  return `<h2>Allow again</h2>
    <p>It may ask for a licence again. A person runs <code>svc login</code> on it.</p>
    <form method="post" action="${path}/allow">${hidden({ csrf })}
      <p class="actions"><button>Allow this device again</button></p></form>`;
}

export interface RevokePage extends Page {
  readonly device: DeviceShown;
  readonly csrf: string;
  /** Days for which a licence counts after its end where the machine has no network. */
  readonly graceDays: number;
}

/** Asks before a device is revoked. Nothing has the focus: a key decides nothing. */
export function revokeDevicePage({ signed, device, csrf, graceDays, now, said }: RevokePage): string {
  const path = `${signed.base}/devices/${device.deviceId}`;
  const grace = graceDays === 0 ? "" : ` ${graceDays} days of grace follow.`;
  const until =
    device.licenseEnds === null || device.licenseEnds + graceDays * 86_400_000 <= now
      ? "It has no licence that is still valid."
      : `Where it cannot ask, its licence counts until it ends.${grace}`;
  const content = `<h1>Revoke ${deviceName(device)}?</h1>
    ${said === undefined ? "" : status(said)}
    <dl>
      <dt>Account</dt><dd>${isolated(device.account)}</dd>
      <dt>Platform</dt><dd>${escaped(device.platform)}</dd>
      <dt>Last renewal</dt><dd>${device.licensedAt === null ? "None" : moment(device.licensedAt, now)}</dd>
      <dt>Licence ends</dt><dd>${standing(device, now) || "None was issued"}</dd>
    </dl>
    <p>Whatever it asks for here is refused at once, and it stops working then. Its data stays where it is.</p>
    <p>${until}</p>
    <form method="post" action="${path}/revoke">
      ${hidden({ csrf })}
      <p class="actions"><button class="primary">Revoke it</button> <a class="button" href="${path}">Keep it</a></p>
    </form>`;
  return administration(signed, "devices", { title: "Revoke this device?", content });
}
