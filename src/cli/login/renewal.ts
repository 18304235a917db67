/** `svc login --auto-renew` and `--no-auto-renew`: whether an organisation's licence is renewed without being asked for. */

import { type Env, svcHome } from "../../paths.ts";
import { settleConsent } from "../../trust/account/login/renewal.ts";
import { configuredEndpoints } from "../../trust/account/trusted/endpoints.ts";
import { note } from "../terminal/output.ts";

/**
 * Records what the person wants, and says what is kept or taken back where nothing was said.
 * @returns the origin that renewals go to; null where there are none
 * @throws OSError where it cannot be recorded
 */
export async function settleRenewal(env: Env, wanted: boolean | undefined, apiKey: string): Promise<string | null> {
  const home = svcHome(env);
  const api = configuredEndpoints(env, home)?.api;
  const { origin, note: said } = await settleConsent(home, { wanted, api, apiKey });
  if (wanted && origin !== undefined) note(`the licence renews itself at ${origin}: --no-auto-renew takes that back`);
  if (said !== undefined) note(`note: ${said}`);
  return origin ?? null;
}
