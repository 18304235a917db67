/** An organisation's authority with keys to enrol by. */

import { authorityPaths } from "../../../src/paths.ts";
import { Ledger } from "../../../src/trust/authority/ledger/ledger.ts";
import { createEnrollKey, type EnrollKeyWish } from "../../../src/trust/authority/organisation/enroll-key-actions.ts";
import type { AuthorityOptions } from "../../../src/trust/authority/server/server.ts";
import { authorityIn, newHome } from "../account/helpers.ts";

export { Device, outcome, post } from "./device.ts";

export const ADMINISTRATOR = { by: "test" };
export const DAY = 86_400_000;

/** An authority whose clock can be set; `ledger` is a connection of its own, as another process has. */
export async function organisation(options: Partial<AuthorityOptions> = {}) {
  const home = newHome();
  const clock = { now: Date.now() };
  const authority = await authorityIn(home, { organisation: true, now: () => clock.now, ...options });
  const ledger = new Ledger(authorityPaths(home).ledger, home);
  const newKey = (wish: Partial<EnrollKeyWish> = {}) => {
    const given = { usesMax: 1, expiresAt: clock.now + 7 * DAY, ...wish };
    return createEnrollKey(ledger, given, ADMINISTRATOR, clock.now);
  };
  return { ...authority, home, clock, ledger, newKey };
}
