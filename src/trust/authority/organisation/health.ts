/** Whether the authority can do its work, for monitors and load balancers. */
import { buildInfo } from "../../../build-info.ts";
import { errorLine } from "../../../errors.ts";
import { type Authority, answerJson, type Routes } from "../context.ts";

/** A write is a sync of the disk: however often monitors ask, there is one in this time. */
const PROBE_MS = 5000;

/** By authority, as a test process has several. */
const probes = new WeakMap<Authority, { readonly at: number; readonly isWell: boolean }>();

/** GET and HEAD /healthz: 200 where the records can be read and written, else 503. No counts, no names. */
function health(authority: Authority): Response {
  const version = buildInfo().version;
  return isWell(authority)
    ? answerJson(200, { status: "ok", version })
    : answerJson(503, { status: "unavailable", version }, { "retry-after": String(PROBE_MS / 1000) });
}

export const HEALTH_ROUTES: Routes = { "GET /healthz": health, "HEAD /healthz": health };

function isWell(authority: Authority): boolean {
  const now = performance.now();
  const known = probes.get(authority);
  if (known !== undefined && now - known.at < PROBE_MS) return known.isWell;
  let fault: unknown;
  try {
    authority.ledger.probe(authority.now());
  } catch (error) {
    fault = error;
  }
  probes.set(authority, { at: now, isWell: fault === undefined });
  if (fault !== undefined) {
    const message = `the authority's records cannot be written: ${errorLine(fault)}`;
    authority.log({ level: "error", event: "unhealthy", message });
  }
  return fault === undefined;
}
