/**
 * What administrators do over HTTP, as programs do: devices, and the audit log as lines of JSON. The secret is an
 * administrator's code; browsers have pages of their own.
 */
import { parseTime } from "../../../checks/times.ts";
import { ValueError } from "../../../errors.ts";
import { administratorOf } from "../administrators.ts";
import {
  type Authority,
  answerError,
  answerFile,
  answerJson,
  answerUnauthorized,
  bearerOf,
  type Call,
  type Handler,
  jsonOf,
  type Routes,
  retryAfter,
} from "../context.ts";
import { DEVICE_ID } from "../device-requests.ts";
import { auditStream } from "./audit-lines.ts";
import { type Actor, allowDevice, renameDevice, revokeDevice } from "./device-actions.ts";
import { deviceJson } from "./device-json.ts";

const PAGE = 100;
const PAGE_MAX = 1000;
const SEARCH_LENGTH_MAX = 200;

type AdminHandler = (authority: Authority, call: Call, actor: Actor) => Response | Promise<Response>;

/**
 * GET /v1/admin/devices?search=…&revoked=true|false&after=<id of the last one before>&limit=… : last registered first.
 */
const list: AdminHandler = ({ ledger: { devices } }, { url: { searchParams } }) => {
  const search = searchParams.get("search") ?? "";
  const after = searchParams.get("after") ?? undefined;
  const limit = searchParams.get("limit") ?? String(PAGE);
  const revoked = searchParams.get("revoked") ?? undefined;
  if (search.length > SEARCH_LENGTH_MAX) return wrong(`search has more than ${SEARCH_LENGTH_MAX} characters`);
  if (after !== undefined && !DEVICE_ID.test(after)) return wrong("after is not an id of a device");
  if (!/^[1-9]\d{0,3}$/.test(limit) || Number(limit) > PAGE_MAX) return wrong(`limit is not 1 to ${PAGE_MAX}`);
  if (revoked !== undefined && revoked !== "true" && revoked !== "false") return wrong("revoked is not true or false");
  const isRevoked = revoked === undefined ? undefined : revoked === "true";
  const found = devices.list({ search, after, limit: Number(limit) + 1, revoked: isRevoked });
  const shown = found.slice(0, Number(limit));
  const next = found.length > shown.length ? (shown.at(-1)?.deviceId ?? null) : null;
  return answerJson(200, { devices: shown.map(deviceJson), next, count: { ...devices.count() } });
};

const one: AdminHandler = ({ ledger }, call) => answerDevice(ledger, call);

/** POST /v1/admin/devices/:id/rename with `{"name"}`. */
const rename: AdminHandler = async ({ ledger, now }, call, actor) => {
  const name = (await jsonOf(call.request))?.name;
  if (typeof name !== "string") return wrong("name is missing, or no text");
  return changed(ledger, call, () => renameDevice(ledger, idOf(call), name, actor, now()));
};

const revoke: AdminHandler = ({ ledger, now }, call, actor) =>
  changed(ledger, call, () => revokeDevice(ledger, idOf(call), actor, now()));

const allow: AdminHandler = ({ ledger, now }, call, actor) =>
  changed(ledger, call, () => allowDevice(ledger, idOf(call), actor, now()));

/** GET /v1/admin/audit?since=<time>: oldest first. */
const audit: AdminHandler = (authority, { url: { searchParams } }) => {
  const given = searchParams.get("since");
  const since = given === null ? undefined : parseTime(given);
  if (given !== null && since === undefined) return wrong("since is not a time as 2026-11-22 or 2026-11-22T14:30:00Z");
  return answerFile(auditStream(authority, { since }), "application/x-ndjson; charset=utf-8", "svc-audit.jsonl");
};

export const ADMIN_API_ROUTES: Routes = {
  "GET /v1/admin/devices": asAdministrator(list),
  "GET /v1/admin/devices/:id": asAdministrator(one),
  "POST /v1/admin/devices/:id/rename": asAdministrator(rename),
  "POST /v1/admin/devices/:id/revoke": asAdministrator(revoke),
  "POST /v1/admin/devices/:id/allow": asAdministrator(allow),
  "GET /v1/admin/audit": asAdministrator(audit),
};

/** Before anything is looked up: whose code it is. */
function asAdministrator(asked: AdminHandler): Handler {
  return (authority, call) => {
    const code = bearerOf(call.request);
    const by = code === undefined ? undefined : administratorOf(authority, code, call.address);
    if (by === undefined) return answerUnauthorized("invalid_token", code);
    if (typeof by === "string") return asked(authority, call, { by, address: call.address });
    return answerError(429, "too_many_failures", retryAfter(by.waitMs));
  };
}

/** The device after a change, and whether it changed anything. */
async function changed(ledger: Authority["ledger"], call: Call, change: () => boolean): Promise<Response> {
  call.fields.device = idOf(call);
  if (ledger.devices.get(idOf(call)) === undefined) return answerError(404, "not_found");
  try {
    return answerDevice(ledger, call, { changed: await ledger.commit(change) });
  } catch (error) {
    if (error instanceof ValueError) return wrong(error.message);
    throw error;
  }
}

function answerDevice({ devices }: Authority["ledger"], call: Call, more: { changed?: boolean } = {}): Response {
  const device = devices.get(idOf(call));
  return device === undefined ? answerError(404, "not_found") : answerJson(200, { ...deviceJson(device), ...more });
}

function idOf({ params }: Call): string {
  return DEVICE_ID.test(params.id ?? "") ? params.id! : "";
}

/** 400 with a sentence for the author of a program (RFC 6749 §5.2). */
function wrong(sentence: string): Response {
  return answerJson(400, { error: "invalid_request", error_description: sentence });
}
