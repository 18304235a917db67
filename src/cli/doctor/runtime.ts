/** The native runtime: the checks of `svc runtime verify`, of which the good ones are one line. */

import { buildInfo } from "../../build-info.ts";
import { attempt } from "../../errors.ts";
import { type Env, svcHome } from "../../paths.ts";
import { requireFixedKeys } from "../../trust/account/trusted/anchors.ts";
import { MODEL_NAME } from "../../trust/runtime/bundle-manifest.ts";
import { verifyInstalled } from "../../trust/runtime/verify.ts";
import { type Finding, Findings, inTheWay, remedyIn } from "./finding.ts";

/** The findings, and whether the runtime may be loaded. */
export interface RuntimeFindings {
  readonly findings: Finding[];
  readonly isGood: boolean;
}

/**
 * Verifies the install; nothing of it is loaded but what verifies.
 * @param signsIn whether a client's first tool call installs it where there is none
 */
export async function checkRuntime(env: Env, signsIn = false): Promise<RuntimeFindings> {
  const found = new Findings("runtime");
  let home: string;
  try {
    home = svcHome(env);
  } catch {
    return { findings: found.list, isGood: false };
  }
  // A checkout that was never built has no keys.
  const checkKeys = attempt(() => buildInfo().authority !== null) ? () => requireFixedKeys(env) : undefined;
  const report = await verifyInstalled({ home, env, checkKeys });
  let isGood = report.installed;
  for (const { name, ok, detail, warning } of report.checks) {
    // SVC_HOME itself, and what is above it, stands with the home.
    if (name === "permissions SVC_HOME") continue;
    const what = name.split(" ", 1)[0]!;
    const message = name.includes(" ") || what !== "installed" ? `${name}: ${detail}` : detail;
    const left = detail.includes("releases.json") ? inTheWay(detail, home) : undefined;
    if (!ok && what === "installed" && signsIn) {
      found.warning(
        what,
        "the native runtime is not installed: the first tool call installs it",
        "svc runtime install",
      );
    } else if (!ok) {
      found.problem(what, message, left ?? remedyIn(detail) ?? "svc runtime install");
      // Without the sentence encoder's weights a process searches by words alone.
      if (!name.endsWith(MODEL_NAME)) isGood = false;
    } else if (warning !== undefined) found.warning(what, `${name}: ${warning}`, "svc runtime install");
  }
  if (report.installed && found.list.every(({ level }) => level !== "problem"))
    found.ok(
      "verified",
      `runtime ${report.version} (release ${report.release}) is verified: signature, ${report.checks.length} checks`,
    );
  return { findings: found.list, isGood };
}
