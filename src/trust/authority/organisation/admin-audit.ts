/** The audit log as a page, and as lines of JSON to keep. */

import { answerFile, type Call, type Routes } from "../context.ts";
import { AUDIT_EVENTS, type AuditChoice } from "../ledger/audit.ts";
import type { Devices } from "../ledger/devices.ts";
import { auditPage } from "../pages/audit.ts";
import { html } from "../site.ts";
import { entered, type Shown, view } from "./admin.ts";
import { auditStream } from "./audit-lines.ts";
import { listPage } from "./list-pages.ts";

/** GET /admin/audit?event=…&device=<id>&after=<number>|before=<number> : of events that lie
 * after or in front of one on the page, which has the newest first. */
const list: Shown = ({ authority, call, base, signed, now }) => {
  const chosen = choiceOf(call);
  const { audit, devices } = authority.ledger;
  const number = (place: string | undefined) => (place === undefined ? undefined : Number(place));
  const { rows, around } = listPage({
    path: `${base}/audit`,
    chosen,
    parameters: call.url.searchParams,
    shape: /^\d{1,15}$/,
    // After an event on the page is what was recorded before it.
    read: ({ after, before }, limit) =>
      audit.list({ ...given(chosen), before: number(after), after: number(before), limit }),
    idOf: ({ id }) => String(id),
  });
  const nameOf = names(devices);
  const events = rows.map((one) => ({ ...one, deviceName: one.device && nameOf(one.device) }));
  return html(200, auditPage({ signed, events, names: AUDIT_EVENTS, ...chosen, around, now }));
};

/** GET /admin/audit/export?event=…&device=… */
const file: Shown = ({ authority, call, now }) => {
  const lines = auditStream(authority, given(choiceOf(call)));
  const day = new Date(now).toISOString().slice(0, 10);
  return answerFile(lines, "application/x-ndjson; charset=utf-8", `svc-audit-${day}.jsonl`);
};

export const ADMIN_AUDIT_ROUTES: Routes = {
  "GET /admin/audit": view(list),
  "GET /admin/audit/export": view(file),
};

function choiceOf({ url }: Call): { event: string; device: string } {
  const event = entered(url.searchParams, "event");
  const isEvent = (AUDIT_EVENTS as readonly string[]).includes(event);
  return { event: isEvent ? event : "", device: entered(url.searchParams, "device").trim().slice(0, 64) };
}

/** A choice as the log takes it. */
function given({ event, device }: { event: string; device: string }): AuditChoice {
  return { event: event || undefined, device: device || undefined };
}

/** The names of devices by id, each read once. */
function names(devices: Devices): (id: string) => string {
  const known = new Map<string, string>();
  return (id) => {
    const name = known.get(id) ?? devices.get(id)?.name ?? "";
    known.set(id, name);
    return name;
  };
}
