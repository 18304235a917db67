/**
 * A device that its authority has revoked. The login's licence is removed, and `revoked.json` says where and when this
 * was said: every call refuses with it until a login succeeds. Nothing else is touched, the memory least of all.
 */
import { existsSync } from "node:fs";
import { isObject } from "../../../checks/kinds.ts";
import { parseStrictJson } from "../../../checks/strict-json.ts";
import { readCapped, removeDurable } from "../../../durable.ts";
import { attempt, PermissionError } from "../../../errors.ts";
import { SECRET_BYTES_MAX } from "../../../limits.ts";
import { accountPaths } from "../../../paths.ts";
import { day } from "./license.ts";
import { isTime } from "./license-token.ts";

/** The code with which an authority answers every request of a revoked device. */
export const DEVICE_REVOKED = "device_revoked";

/** The answer of an authority that it has revoked this device. */
export class DeviceRevoked extends PermissionError {
  /**
   * @param server the base address of the authority that says so, or its origin; undefined where that is not known any more
   * @param at when it was said, in seconds since 1970; undefined: just now
   */
  constructor(
    readonly server: string | undefined,
    at?: number,
  ) {
    const origin = server === undefined ? undefined : URL.parse(server)?.origin;
    const where = origin === undefined ? "" : ` at ${origin}`;
    const when = at === undefined ? "" : ` on ${day(at)}`;
    super(`this device was revoked${where}${when}: ask its administrator, then 'svc login'`, "device_revoked");
  }
}

/** Whether an error is a server's answer that the device is revoked. */
export function isRevoked(error: unknown): error is DeviceRevoked & { readonly server: string } {
  return error instanceof DeviceRevoked && error.server !== undefined;
}

/** Refuses while this machine's login is revoked. @throws DeviceRevoked */
export function refuseRevoked(home: string): void {
  revocationGuard(home)();
}

/** How often the file is looked for: each time costs .8 µs, a tenth of the cheapest call. */
const LOOK_MS = 5;

/** The same for every use of a memory. @returns a function that throws DeviceRevoked */
export function revocationGuard(home: string): () => void {
  const path = accountPaths(home).revoked;
  let looked = Number.NEGATIVE_INFINITY;
  return () => {
    const now = performance.now();
    if (now - looked < LOOK_MS) return;
    if (!existsSync(path)) {
      looked = now;
      return;
    }
    const { origin, at } = attempt(() => parsed(readCapped(path, SECRET_BYTES_MAX))) ?? {};
    throw new DeviceRevoked(origin, at);
  };
}

/** Ends the refusal: a login has got a licence. The caller holds the login's lock. @throws OSError */
export function forgetRevocation(home: string): void {
  removeDurable(accountPaths(home).revoked);
}

/** What `revoked.json` holds. @param at in seconds since 1970 */
export function revocationRecord(origin: string, at: number): string {
  return `${JSON.stringify({ format: 1, origin, at: Math.floor(at) })}\n`;
}

/** Where and when it was said; of a damaged file nothing. */
function parsed(bytes: Uint8Array | undefined): { origin?: string; at?: number } {
  const value: unknown = bytes && parseStrictJson(bytes);
  if (!isObject(value) || value.format !== 1) return {};
  const { origin, at } = value;
  const isOrigin = typeof origin === "string" && /^https?:\/\/[\x21-\x7e]{1,300}$/.test(origin);
  return { ...(isOrigin && { origin }), ...(isTime(at) && { at }) };
}
