/** Whose licences this machine believes: the LICENSE key, from the first place that names one. */
import { type BuildInfo, buildInfo } from "../build-info.ts";
import { readCapped } from "../durable.ts";
import { PermissionError, ValueError } from "../errors.ts";
import { SECRET_BYTES_MAX } from "../limits.ts";
import { authorityPaths, type Env } from "../paths.ts";
import { secretText } from "./files.ts";

/** A LICENSE public key and where it comes from; `runtime verify` says so when it replaces the built-in one. */
export interface LicenseAnchor {
  readonly publicKeyPem: string;
  readonly source: "SVC_LICENSE_PUBKEY" | "SVC_LICENSE_PUBKEY_FILE" | "built-in" | "local authority";
}

/** What of a build decides whom it trusts; given by tests, else the running build's. */
export type BuildTrust = Pick<BuildInfo, "licensePublicKey" | "authority">;

/**
 * `SVC_LICENSE_PUBKEY`, else the file `SVC_LICENSE_PUBKEY_FILE` names, else the key built into this executable, else the local
 * authority's. A build with a key of its own never falls back to the local one.
 * @throws PermissionError where there is none yet; ValueError if the file named in the environment cannot be read.
 */
export function licenseAnchor(home: string, env: Env, build?: BuildTrust): LicenseAnchor {
  const given = env.SVC_LICENSE_PUBKEY;
  // One-line environments (.env files, CI secrets) carry a PEM with its line ends written as \n.
  if (given) return { publicKeyPem: given.replaceAll("\\n", "\n"), source: "SVC_LICENSE_PUBKEY" };
  const file = env.SVC_LICENSE_PUBKEY_FILE;
  if (file) return { publicKeyPem: namedFile(file), source: "SVC_LICENSE_PUBKEY_FILE" };
  const built = (build ?? buildInfo()).licensePublicKey;
  if (built !== null) return { publicKeyPem: built, source: "built-in" };
  const local = secretText(home, authorityPaths(home).licensePublicKey);
  if (local === undefined)
    throw new PermissionError("there is no key here to check a licence with: run 'svc login' once");
  return { publicKeyPem: local, source: "local authority" };
}

function namedFile(path: string): string {
  const bytes = readCapped(path, SECRET_BYTES_MAX);
  if (bytes === undefined) throw new ValueError(`SVC_LICENSE_PUBKEY_FILE: there is no file '${path}'`);
  return new TextDecoder().decode(bytes);
}
