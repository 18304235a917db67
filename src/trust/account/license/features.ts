/** What a licence is good for: commands and tools name the feature that they need. */
import { PermissionError } from "../../../errors.ts";
import type { License } from "./license.ts";
import { quoted } from "./license-token.ts";

/** The features of this svc: the tools of `svc mcp`, the memory of `svc mem` and of programs, repositories, `svc serve`. */
export const FEATURES = ["memory", "mcp", "repo", "serve"] as const;
export type Feature = (typeof FEATURES)[number];

/**
 * @param use what is refused, as the beginning of a sentence
 * @throws PermissionError with the feature that is missing, what the licence has, and who can help
 */
export function requireFeature(license: Pick<License, "features" | "tier">, feature: Feature, use: string): void {
  if (license.features.includes(feature)) return;
  throw new PermissionError(
    `${use} needs the feature '${feature}', and the licence, of tier ${quoted(license.tier)}, has ${listed(license.features)}: ` +
      "ask the administrator of your authority for it, then run 'svc login'",
    "feature_missing",
  );
}

/** Some of many: a licence may have as many as fit into it. */
function listed(features: readonly string[]): string {
  const shown = features.slice(0, 8).map((feature) => quoted(feature));
  return features.length > shown.length
    ? `${shown.join(", ")} and ${features.length - shown.length} more`
    : shown.join(", ");
}
