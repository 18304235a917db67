/** `svc runtime verify`. */

import { buildInfo } from "../../build-info.ts";
import { attempt } from "../../errors.ts";
import { type Env, svcHome } from "../../paths.ts";
import { requireLogin } from "../../trust/account/license/credentials.ts";
import type { License } from "../../trust/account/license/license.ts";
import { checkStoredLicense } from "../../trust/account/license/license-check.ts";
import { type LicenseAnchor, licenseAnchor, requireFixedKeys } from "../../trust/account/trusted/anchors.ts";
import { type VerifyCheck, type VerifyReport, verifyInstalled } from "../../trust/runtime/verify.ts";
import { command, EXIT, JSON_FLAG } from "../terminal/command.ts";
import { oneLine, print, printJson } from "../terminal/output.ts";
import { fit } from "../terminal/width.ts";
import { pinnedAuthority, type ReportedAuthority } from "./pinned-authority.ts";

export default command({
  details:
    "Prints one line per check. Files with good permissions share one line, and so do files with a good hash. The\n" +
    "exit code is 0 if all checks are good, and 1 otherwise; warnings do not change it. SVC_TOKEN and SVC_API_KEY\n" +
    "count for the login as they do for the tools. With --json it prints one object with an entry for each check,\n" +
    "also if a check fails. No connection is opened.",
  examples: ["svc runtime verify", "svc runtime verify --json"],
  args: { json: JSON_FLAG },
  worksWithoutHome: true,
  async run({ args, env }) {
    const report = await verifyAll(env);
    // Where there is no anchor yet, the check of the licence reports it.
    const source = attempt(() => licenseAnchor(svcHome(env), env).source);
    const pinned = source === "pinned" ? pinnedAuthority(svcHome(env)) : null;
    if (args.json) printJson({ ...report, license_anchor: source ?? null, pinned });
    else print(describeReport(report, source, pinned));
    return report.ok ? EXIT.done : EXIT.failed;
  },
});

/** All that a tool call needs: install, licence, login. The login's licence is the one that was checked before. */
function verifyAll(env: Env): Promise<VerifyReport> {
  let known: License | undefined;
  const checkLicense = async () => {
    known = await checkStoredLicense(svcHome(env), env);
    return known;
  };
  // The environment cannot replace the keys of an authority's own build. Without an install and a login only this shows it.
  const isFixed = attempt(() => buildInfo().authority !== null);
  const checkKeys = isFixed ? () => requireFixedKeys(env) : undefined;
  const checkLogin = async () => requireLogin(svcHome(env), env, { known });
  return verifyInstalled({ home: homeOf(env), env, checkKeys, checkLicense, checkLogin });
}

function homeOf(env: Env): string | Error {
  try {
    return svcHome(env);
  } catch (error) {
    return error as Error;
  }
}

/** Columns of the names; a longer one, of a file that fails, has its detail right after it. */
const NAME_COLUMNS = 24;

/** Checks of many files: of those that are good, one line says how many. */
const SUMMED: Record<string, (count: number) => string> = {
  permissions: (count) => `no other user can write these ${count} files and folders`,
  hash: (count) => `${count} files are as they were signed`,
};

/** The report as lines; a key that replaces a built-in one is always said. */
export function describeReport(
  report: VerifyReport,
  source: LicenseAnchor["source"] | undefined,
  pinned: ReportedAuthority | null = null,
): string {
  const shown: VerifyCheck[] = [];
  const good = new Map<string, number>();
  for (const check of report.checks) {
    const kind = check.name.split(" ", 1)[0]!;
    const count = (good.get(kind) ?? 0) + 1;
    if (!check.ok || check.warning !== undefined || !SUMMED[kind]) shown.push(check);
    else if (good.set(kind, count) && count === 1) shown.push({ name: kind, ok: true, detail: "" });
  }
  const width = Math.min(NAME_COLUMNS, Math.max(...shown.map(({ name }) => name.length)));
  const lines = shown.map(({ name, ok, detail, warning }) => {
    const outcome = ok ? (warning === undefined ? "ok    " : "warned") : "failed";
    const said = (detail === "" && SUMMED[name]?.(good.get(name) ?? 0)) || detail;
    const label = `${outcome}  ${oneLine(name).padEnd(width)}  `;
    return fit(`${label}${oneLine(warning === undefined ? said : `${said}; ${warning}`)}`, label.length);
  });
  if (report.anchor !== "built-in") lines.push(`the key in ${report.anchor} replaces the built-in release key`);
  if (source?.startsWith("SVC_")) lines.push(`the key in ${source} replaces the one licences are checked with`);
  if (pinned) lines.push(`licences are checked with the key pinned for ${pinned.url} (${pinned.license_key})`);
  const what = report.version === null ? "" : ` ${report.version} (release ${report.release})`;
  if (report.ok) lines.push(`runtime${what} for ${report.platform} is verified`);
  else lines.push(report.installed ? `runtime${what} is NOT verified` : "no runtime was found");
  return lines.join("\n");
}
