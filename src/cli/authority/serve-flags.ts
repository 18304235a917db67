/** The flags of `svc authority serve` that take more than a look: addresses, the key that it brings, certificates. */
import { basename } from "node:path";
import { shown } from "../../checks/kinds.ts";
import { readSecret } from "../../durable.ts";
import { OSError } from "../../errors.ts";
import { SECRET_BYTES_MAX } from "../../limits.ts";
import { type Certificate, readCertificate } from "../../trust/account/certificate-files.ts";
import { secureBase } from "../../trust/account/trusted/endpoints.ts";
import { proxiesOf } from "../../trust/authority/addresses.ts";
import type { GivenKey } from "../../trust/authority/organisation/key-ring.ts";
import { asUsage, UsageError } from "../terminal/command.ts";

/** The public address and the proxies, checked. @throws UsageError, ValueError, PermissionError */
export function publicSideOf(publicUrl: string | undefined, trustedProxies: readonly string[]) {
  if (publicUrl !== undefined) asUsage(() => secureBase(publicUrl, "--public-url"));
  asUsage(() => proxiesOf(trustedProxies));
  return { publicUrl, trustedProxies };
}

/** The LICENSE key that an organisation brings. @throws OSError; PermissionError where others can read it */
export function licenseKeyOf(path: string | undefined): GivenKey | undefined {
  if (path === undefined) return undefined;
  const bytes = readSecret(path, SECRET_BYTES_MAX);
  if (bytes === undefined) throw new OSError(`--license-key: there is no file ${shown(path)}`);
  return { pem: new TextDecoder().decode(bytes), name: basename(path) };
}

/**
 * The certificate and its key, if both were given.
 * @param host the host of the public address
 * @throws UsageError where one of the two is missing; as `readCertificate`
 */
export function certificateOf(
  certFile: string | undefined,
  keyFile: string | undefined,
  host?: string,
  now = Date.now(),
): Certificate | undefined {
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined)
    throw new UsageError("--tls-cert and --tls-key belong together: give both");
  return readCertificate(certFile, keyFile, host, now);
}
