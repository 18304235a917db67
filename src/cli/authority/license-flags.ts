/** The flags that say what licences allow, and for how long. */

import { shown } from "../../checks/kinds.ts";
import { FEATURES } from "../../trust/account/license/features.ts";
import { type Args, number, string, strings, UsageError, type Values } from "../terminal/command.ts";

/** Those of one licence as of all. */
export const TERMS_FLAGS = {
  "grace-days": number("N", "days that an ended licence still works, with a warning (14)"),
  tier: string("NAME", "tier of the licence, which 'svc serve --require-tier' checks (team)"),
  feature: strings("NAME", `a feature that the licence allows: ${FEATURES.join(", ")} (all)`),
} as const satisfies Args;

/** Longer than any licence that should not have been a purchase; far below what dates can hold. */
const DAYS_MAX = 3650;

/** @throws UsageError */
export function termsOf(args: Values<typeof TERMS_FLAGS>) {
  const tier = args.tier ?? "team";
  if (!/^[a-z][a-z0-9_-]{0,39}$/.test(tier))
    throw new UsageError(`--tier: ${shown(tier)} must be up to 40 lower-case letters, digits, - and _`);
  const features = args.feature.flatMap((list) => list.split(",")).map((name) => name.trim());
  for (const feature of features) {
    if ((FEATURES as readonly string[]).includes(feature)) continue;
    throw new UsageError(`--feature: ${shown(feature)} is not a feature; there are ${FEATURES.join(", ")}`);
  }
  return {
    tier,
    features: features.length === 0 ? FEATURES : [...new Set(features)],
    offlineGraceDays: daysOf("grace-days", args["grace-days"], 0) ?? 14,
  };
}

/** A flag's value as whole days, where it has one. @throws UsageError if it is below `least`, or more than ten years */
export function daysOf(name: string, value: number | undefined, least = 1): number | undefined {
  if (value === undefined || (Number.isInteger(value) && value >= least && value <= DAYS_MAX)) return value;
  throw new UsageError(`--${name}: '${value}' must be a whole number of days from ${least} to ${DAYS_MAX}`);
}
