/** The LICENSE public key that checks licences on this machine, from the first source that has one. */
import { type BuildInfo, buildInfo } from "../build-info.ts";
import { readCapped } from "../durable.ts";
import { PermissionError, ValueError } from "../errors.ts";
import { SECRET_BYTES_MAX } from "../limits.ts";
import { authorityPaths, type Env } from "../paths.ts";
import { secretText } from "./files.ts";
import { requireClosed } from "./permissions.ts";

/** A LICENSE public key and its source; `runtime verify` reports a source other than the built-in one. */
export interface LicenseAnchor {
  readonly publicKeyPem: string;
  readonly source: "SVC_LICENSE_PUBKEY" | "SVC_LICENSE_PUBKEY_FILE" | "built-in" | "local authority";
}

/** A build's trust anchors: the running build's, or a test's. */
export type BuildTrust = Pick<BuildInfo, "licensePublicKey" | "authority">;

/**
 * `SVC_LICENSE_PUBKEY`, else the file `SVC_LICENSE_PUBKEY_FILE` names, else the key built into this executable, else
 * the local authority's. A build with a key of its own never falls back to the local one.
 * @throws PermissionError where there is none yet, or where others can write to the local authority's folder;
 * ValueError if the environment's file cannot be read.
 */
export function licenseAnchor(home: string, env: Env, build?: BuildTrust): LicenseAnchor {
  const given = keyInEnvironment(env, "SVC_LICENSE_PUBKEY");
  if (given) return { publicKeyPem: given.pem, source: given.source };
  const built = (build ?? buildInfo()).licensePublicKey;
  if (built !== null) return { publicKeyPem: built, source: "built-in" };
  const paths = authorityPaths(home);
  requireClosed(home, [paths.dir]);
  const local = secretText(home, paths.licensePublicKey);
  if (local === undefined)
    throw new PermissionError("there is no key here to check a licence with: run 'svc login' once");
  return { publicKeyPem: local, source: "local authority" };
}

/**
 * A public key that replaces a built-in one: the PEM in the variable `name`, else the file that `name`_FILE names.
 * @throws ValueError where that file cannot be read
 */
export function keyInEnvironment<N extends "SVC_LICENSE_PUBKEY" | "SVC_RELEASE_PUBKEY">(
  env: Env,
  name: N,
): { pem: string; source: N | `${N}_FILE` } | undefined {
  // One-line environments (.env files, CI secrets) carry a PEM with its line ends written as \n.
  const pem = env[name]?.replaceAll("\\n", "\n");
  if (pem) return { pem, source: name };
  const source = `${name}_FILE` as const;
  const path = env[source];
  if (!path) return undefined;
  const bytes = readCapped(path, SECRET_BYTES_MAX);
  if (bytes === undefined) throw new ValueError(`${source}: there is no file '${path}'`);
  return { pem: new TextDecoder().decode(bytes), source };
}
