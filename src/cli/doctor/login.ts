/** The login: licence, device, secrets, and the keys that the environment puts in place of built-in ones. */

import { attempt, SvcError } from "../../errors.ts";
import { type Env, svcHome } from "../../paths.ts";
import { requireLogin } from "../../trust/account/license/credentials.ts";
import { FEATURES } from "../../trust/account/license/features.ts";
import { day, type License, renewableFrom } from "../../trust/account/license/license.ts";
import { renewalOrigin } from "../../trust/account/login/renewal.ts";
import { licenseAnchor } from "../../trust/account/trusted/anchors.ts";
import { signsHere } from "../../trust/authority/own-key.ts";
import { releaseAnchors } from "../../trust/runtime/anchor.ts";
import { clientsThatSignIn, FIRST_CALL } from "../mcp/entry-login.ts";
import { siteOf } from "../mcp/targets.ts";
import { type Finding, Findings, inTheWay, remedyIn, sentenceOf } from "./finding.ts";

/** What each feature is for. */
const USES: Record<(typeof FEATURES)[number], string> = {
  memory: "svc mem and programs",
  mcp: "svc mcp",
  repo: "repositories",
  serve: "svc serve",
};

/** The findings, and the licence where it is good: the memory is opened under it. */
export interface LoginFindings {
  readonly findings: Finding[];
  readonly license: License | undefined;
  /** Whether there is none, and the first tool call of a client signs in. */
  readonly signsIn: boolean;
}

/** Checks the login as a tool call does, and writes nothing. */
export async function checkLogin(env: Env, now = Date.now() / 1000): Promise<LoginFindings> {
  const found = new Findings("login");
  let home: string;
  try {
    home = svcHome(env);
  } catch {
    return { findings: found.list, license: undefined, signsIn: false };
  }
  let license: License | undefined;
  let signsIn: string[] = [];
  try {
    license = await requireLogin(home, env, { now, readsOnly: true });
    const features = license.features.join(", ");
    found.ok("licence", `logged in with a ${license.tier} licence until ${day(license.expiresAt)} (${features})`);
    checkLicence(found, license, home, env, now);
  } catch (error) {
    const what = error instanceof SvcError && error.type === "PermissionError" ? (error.reason ?? "denied") : "failed";
    if (what === "not_logged_in") signsIn = await clientsThatSignIn(siteOf(env), env);
    if (what === "license_expired" && attempt(() => signsHere(home, env)))
      found.warning(what, `${sentenceOf(error)}; the next tool call does this by itself`, "svc login");
    else if (signsIn.length > 0)
      found.warning(what, `not logged in: ${FIRST_CALL} (${signsIn.join(", ")})`, "svc login");
    else found.problem(what, sentenceOf(error), remedyOf(sentenceOf(error), home));
  }
  checkEnvironment(found, home, env);
  return { findings: found.list, license, signsIn: signsIn.length > 0 };
}

/** A device whose key is gone is registered with it all the same: only another one can log in. */
function remedyOf(sentence: string, home: string): string {
  if (/device key or id is missing|issued to another device/.test(sentence)) return "svc logout && svc login";
  return inTheWay(sentence, home) ?? remedyIn(sentence) ?? "svc login";
}

function checkLicence(found: Findings, license: License, home: string, env: Env, now: number): void {
  for (const warning of license.warnings)
    found.warning(warning.startsWith("the clock") ? "clock" : "grace", warning, "svc login");
  const missing = FEATURES.filter((feature) => !license.features.includes(feature));
  if (missing.length > 0) {
    const uses = missing.map((feature) => `${feature} (${USES[feature]})`).join(", ");
    found.warning("features", `the licence does not allow ${uses}`, "svc login, after your administrator has added it");
  }
  if (now < renewableFrom(license) || now >= license.expiresAt) return;
  const isRenewed = attempt(() => signsHere(home, env) || renewalOrigin(home) !== undefined) ?? false;
  if (!isRenewed)
    found.warning("renewal", `the licence ends on ${day(license.expiresAt)} and is not renewed by itself`, "svc login");
}

function checkEnvironment(found: Findings, home: string, env: Env): void {
  // What is wrong with a key is reported with the licence.
  const anchor = attempt(() => licenseAnchor(home, env).source);
  if (anchor?.startsWith("SVC_"))
    found.warning("anchor", `the key in ${anchor} replaces the key that licences are checked with`, `unset ${anchor}`);
  const override = attempt(() => releaseAnchors(env).override);
  if (override)
    found.warning("anchor", `the key in ${override} replaces the built-in release keys`, `unset ${override}`);
  const given = ["SVC_TOKEN", "SVC_API_KEY"].filter((name) => env[name]);
  if (given.length > 0) found.ok("environment", `${given.join(" and ")} from the environment override their files`);
}
