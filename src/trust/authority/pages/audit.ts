/** The audit log as a page. */

import { choice, field } from "../../../pages/forms.ts";
import { type Around, address, pages, table } from "../../../pages/lists.ts";
import { escaped, isolated, moment, status } from "../../../pages/text.ts";
import type { AuditEntry } from "../ledger/audit.ts";
import { administration, type Page } from "./parts.ts";

/** An event as the page shows it. */
export type EventShown = AuditEntry & {
  /** The name that its device has now; empty for none. */
  readonly deviceName?: string;
};

export interface AuditPage extends Page {
  readonly events: readonly EventShown[];
  /** All names of events, for the choice. */
  readonly names: readonly string[];
  /** What is filtered by; empty for nothing. */
  readonly event: string;
  readonly device: string;
  readonly around: Around;
}

/** A page of events, the newest first. */
export function auditPage(page: AuditPage): string {
  const { signed, events, event, device, now } = page;
  const { base } = signed;
  const isFiltered = event !== "" || device !== "";
  const rows = events.map((one) => [
    moment(one.at, now),
    said(one.event),
    one.actor === one.device ? "the device" : isolated(one.actor),
    deviceOf(one, base),
    one.address === undefined ? "" : isolated(one.address),
    detailOf(one),
  ]);
  const shown = events.length === 1 ? "One event" : `${events.length} events`;
  const order = events.length === 1 ? "" : ", the newest first";
  const caption = `${shown}${order}${page.around.next === undefined ? "" : "; older ones on the next page"}`;
  const choices = [["", "All"] as const, ...page.names.map((name) => [name, said(name)] as const)];
  const none = isFiltered
    ? status("No event is like that.").replace(' class="done"', "")
    : "<p>Nothing has been recorded yet.</p>";
  const columns = ["When", "Event", "By", "Device", "Address", "Details"];
  const idField = field({
    name: "device",
    label: "Device id",
    value: device,
    more: 'maxlength="64" spellcheck="false"',
  });
  const content = `<h1>Audit log</h1>
    <form class="search" role="search" method="get" action="${base}/audit">
      <div>${choice("event", "Event", choices, event)}</div>
      <div>${idField}</div>
      <button>Show</button>
    </form>
    <p><a href="${escaped(address(`${base}/audit/export`, { event, device }))}" download>Export as JSON lines</a>${
      isFiltered ? `, as chosen, or <a href="${base}/audit">show all events</a>` : ""
    }</p>
    ${events.length === 0 ? none : table({ caption, columns, rows })}
    ${pages("Pages of the audit log", page.around, TEXTS)}`;
  return administration(signed, "audit", { title: "Audit log", content });
}

const TEXTS = { first: "Newest events", previous: "Newer events", next: "Older events" } as const;

function deviceOf({ device, deviceName }: EventShown, base: string): string {
  if (device === undefined) return "";
  const name = deviceName ? isolated(deviceName) : `device ${escaped(device.slice(0, 8))}`;
  return `<a href="${base}/devices/${encodeURIComponent(device)}">${name}</a>`;
}

/** `device_revoked` as "device revoked". */
function said(event: string): string {
  return escaped(event.replaceAll("_", " "));
}

function detailOf({ detail = {} }: EventShown): string {
  return Object.entries(detail)
    .map(([name, value]) => `<span class="detail">${said(name)}: ${isolated(String(value ?? "") || "none")}</span>`)
    .join("");
}
