/** Whether this build can sign in with this machine's local authority. Imports nothing that opens files. */
import { type BuildInfo, buildInfo } from "../../build-info.ts";

/** False for a build that is made for an organisation: it trusts only that organisation's authority. */
export function allowsLocalLogin({ authority, licensePublicKey }: BuildInfo = buildInfo()): boolean {
  return authority === null && licensePublicKey === null;
}
