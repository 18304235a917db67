/** `svc runtime verify`. */
import { type LicenseAnchor, licenseAnchor } from "../account/anchors.ts";
import { requireLogin } from "../account/credentials.ts";
import type { License } from "../account/license.ts";
import { checkStoredLicense } from "../account/license-check.ts";
import { type Env, svcHome } from "../paths.ts";
import { type VerifyReport, verifyInstalled } from "../runtime/verify.ts";
import { command, EXIT } from "./command.ts";
import { oneLine, print, printJson } from "./output.ts";

export default command({
  details:
    "Prints one line a check. The exit code is 0 if all are ok, so that the tools would run, and 1 otherwise. SVC_TOKEN and\n" +
    "SVC_API_KEY count for the login as they do for the tools. With --json it is one object, whatever is wrong.",
  examples: ["svc runtime verify", "svc runtime verify --json"],
  args: { json: { type: "boolean", description: "print one JSON object" } },
  async run({ args, env }) {
    const report = await verifyAll(env);
    const source = anchorSource(() => licenseAnchor(svcHome(env), env));
    if (args.json) printJson({ ...report, license_anchor: source ?? null });
    else print(describeReport(report, source));
    return report.ok ? EXIT.done : EXIT.failed;
  },
});

/** All that a tool call needs: install, licence, login. The login's licence is the one that was checked before. */
function verifyAll(env: Env): Promise<VerifyReport> {
  const home = svcHome(env);
  let known: License | undefined;
  const checkLicense = async () => {
    known = await checkStoredLicense(home, env);
  };
  return verifyInstalled({ home, env, checkLicense, checkLogin: () => requireLogin(home, env, { known }) });
}

/** The report as lines; a key that replaces a built-in one is always said. */
export function describeReport(report: VerifyReport, source: LicenseAnchor["source"] | undefined): string {
  const width = Math.max(...report.checks.map(({ name }) => name.length));
  const lines = report.checks.map(
    ({ name, ok, detail }) => `${ok ? "ok    " : "failed"}  ${oneLine(name).padEnd(width)}  ${oneLine(detail)}`,
  );
  if (report.anchor !== "built-in") lines.push(`the key in ${report.anchor} replaces the built-in release key`);
  if (source?.startsWith("SVC_")) lines.push(`the key in ${source} replaces the one licences are checked with`);
  const what = report.version === null ? "" : ` ${report.version} (release ${report.release})`;
  if (report.ok) lines.push(`runtime${what} for ${report.platform} is verified`);
  else lines.push(report.installed ? `runtime${what} is NOT verified` : "no runtime was found");
  return lines.join("\n");
}

/** Where there is no anchor yet, the licence check has said so. */
function anchorSource(read: () => LicenseAnchor): LicenseAnchor["source"] | undefined {
  try {
    return read().source;
  } catch {
    return undefined;
  }
}
