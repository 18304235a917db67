/** Whether this build has anything to do with an authority of this machine. Imports nothing that opens files. */
import { type BuildInfo, buildInfo } from "../../build-info.ts";

/** False for a build that is made for an organisation, which trusts no other authority than its own. */
export function hasOwnAuthority({ authority, licensePublicKey }: BuildInfo = buildInfo()): boolean {
  return authority === null && licensePublicKey === null;
}
