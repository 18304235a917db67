/** `svc runtime install`. */

import { SECRET_BYTES_MAX } from "../../limits.ts";
import { type Env, svcHome } from "../../paths.ts";
import { readGiven } from "../../trust/account/given-file.ts";
import { requireLogin } from "../../trust/account/license/credentials.ts";
import type { License } from "../../trust/account/license/license.ts";
import { checkLicense } from "../../trust/account/license/license-check.ts";
import { command, JSON_FLAG } from "../terminal/command.ts";
import { note, print, printJson } from "../terminal/output.ts";
import { fit } from "../terminal/width.ts";
import { type Provisioned, provision } from "./provision.ts";

export default command({
  details:
    "Installs the bundle that --file names. Without --file it takes the bundle of the packages server, if\n" +
    "SVC_PACKAGES_URL or this build names a server that has one for this svc. Otherwise it takes the bundle that came\n" +
    "with this executable. Signature, hashes and licence are checked first. The present install stays until the new\n" +
    "one is complete.",
  examples: [
    "svc runtime install",
    "svc runtime install --file linux-x86_64.bundle --license license.jwt",
    "svc runtime install --version 0.1.0 --allow-downgrade",
  ],
  args: {
    file: { type: "string", valueHint: "BUNDLE", description: "a bundle on disk" },
    license: { type: "string", valueHint: "FILE", description: "a file with the licence (the one of this login)" },
    version: { type: "string", valueHint: "VERSION", description: "the version to install (the one of this svc)" },
    "allow-downgrade": {
      type: "boolean",
      description: "allow a release older than svc, or older than one installed before",
    },
    json: JSON_FLAG,
  },
  async run({ args, env, signal }) {
    const installed = await provision({
      env,
      signal,
      license: await licenseFor(env, args.license),
      file: args.file,
      version: args.version,
      allowDowngrade: args["allow-downgrade"],
    });
    if (args.json) return printJson(installed);
    print(fit(describeInstall(installed)));
    note("check it at any time with 'svc runtime verify'");
  },
});

/** The verified licence: of the file, else of this machine's login. */
function licenseFor(env: Env, file: string | undefined): Promise<License> {
  const home = svcHome(env);
  if (file === undefined) return requireLogin(home, env);
  const jwt = new TextDecoder().decode(readGiven("--license", file, SECRET_BYTES_MAX)).trim();
  return checkLicense(home, env, jwt);
}

/** One line about an install, or about a newer one that was kept. */
export function describeInstall(outcome: Provisioned): string {
  const { version, release, platform, replaced, declined, source, anchor } = outcome;
  const what = `runtime ${version} (release ${release}) for ${platform}`;
  const from = source === "embedded" ? "the bundle that came with svc" : source === "file" ? "a file" : source;
  const before = replaced ? `, replacing ${replaced.version} (release ${replaced.release})` : "";
  const key = anchor === "built-in" ? "" : `; believed by the key in ${anchor}`;
  if (!declined) return `installed ${what} from ${from}${before}${key}`;
  return `kept ${what}, newer than ${declined.version} (release ${declined.release}) from ${from}${key}`;
}
