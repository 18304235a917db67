/** The LICENSE public key that checks licences on this machine, from the first source that has one. */
import { type BuildInfo, buildInfo } from "../../../build-info.ts";
import { PermissionError } from "../../../errors.ts";
import { SECRET_BYTES_MAX } from "../../../limits.ts";
import { authorityPaths, type Env } from "../../../paths.ts";
import { secretText } from "../files.ts";
import { readGiven } from "../given-file.ts";
import { requireClosed } from "../permissions.ts";
import { namesAuthority, readPin } from "./pin.ts";

/** A LICENSE public key and its source; `runtime verify` reports a source other than the built-in one. */
export interface LicenseAnchor {
  readonly publicKeyPem: string;
  readonly source: "SVC_LICENSE_PUBKEY" | "SVC_LICENSE_PUBKEY_FILE" | "built-in" | "pinned" | "local authority";
  /** Statements that may lead from it to later keys of the authority; untrusted until they are verified. */
  readonly successors: readonly string[];
}

/** A build's trust anchors: the running build's, or a test's. */
export type BuildTrust = Pick<BuildInfo, "licensePublicKey" | "authority">;

/**
 * `SVC_LICENSE_PUBKEY`, else the file `SVC_LICENSE_PUBKEY_FILE` names, else the key built into this executable, else
 * the pinned authority's, else the local one's. A build with a key of its own never falls back to another.
 * @throws PermissionError where there is none yet, where the build's key is fixed and the environment has another, where
 * the pin is damaged, or where others can write to SVC_HOME; ValueError if the environment's file cannot be read.
 */
export function licenseAnchor(home: string, env: Env, build: BuildTrust = buildInfo()): LicenseAnchor {
  const given = keyInEnvironment(env, "SVC_LICENSE_PUBKEY", build);
  const pin = readPin(home);
  const successors = pin?.successors ?? [];
  if (given) return { publicKeyPem: given.pem, source: given.source, successors };
  if (build.licensePublicKey !== null) return { publicKeyPem: build.licensePublicKey, source: "built-in", successors };
  if (namesAuthority(pin)) {
    requireClosed(home, []);
    return { publicKeyPem: pin.licenseKey, source: "pinned", successors };
  }
  const paths = authorityPaths(home);
  requireClosed(home, [paths.dir]);
  const local = secretText(home, paths.licensePublicKey);
  if (local === undefined)
    throw new PermissionError("there is no key here to check a licence with: run 'svc login' once");
  return { publicKeyPem: local, source: "local authority", successors: [] };
}

/** Keys that the environment may replace, each by a PEM, or by a file that the same name with _FILE names. */
const KEYS = ["SVC_LICENSE_PUBKEY", "SVC_RELEASE_PUBKEY"] as const;

/**
 * A public key that replaces a built-in one: the PEM in the variable `name`, else the file that `name`_FILE names.
 * @throws PermissionError in an authority's own build, whose keys are fixed; ValueError where that file cannot be read
 */
export function keyInEnvironment<N extends (typeof KEYS)[number]>(
  env: Env,
  name: N,
  build: Pick<BuildTrust, "authority"> = buildInfo(),
): { pem: string; source: N | `${N}_FILE` } | undefined {
  // One-line environments (.env files, CI secrets) carry a PEM with its line ends written as \n.
  const pem = env[name]?.replaceAll("\\n", "\n");
  const file = `${name}_FILE` as const;
  const path = env[file];
  if (build.authority !== null && (pem || path))
    throw new PermissionError(`this build's keys are fixed: unset ${pem ? name : file}`);
  if (pem) return { pem, source: name };
  if (!path) return undefined;
  return { pem: new TextDecoder().decode(readGiven(file, path, SECRET_BYTES_MAX)), source: file };
}

/**
 * Refuses an environment that would replace a key of an authority's own build, before anything is asked or changed.
 * @throws PermissionError
 */
export function requireFixedKeys(env: Env, build: Pick<BuildTrust, "authority"> = buildInfo()): void {
  if (build.authority !== null) for (const name of KEYS) keyInEnvironment(env, name, build);
}
