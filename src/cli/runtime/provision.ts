/** From a bundle, wherever it comes from, to an install: what `svc login` and `svc runtime install` share. */

import { rmSync } from "node:fs";
import { buildInfo, embeddedBundle } from "../../build-info.ts";
import { RuntimeError } from "../../errors.ts";
import { BUNDLE_BYTES_MAX } from "../../limits.ts";
import { downloadsPath, type Env, svcHome } from "../../paths.ts";
import { readGiven } from "../../trust/account/given-file.ts";
import { readCredentials } from "../../trust/account/license/credentials.ts";
import type { License } from "../../trust/account/license/license.ts";
import { isRevoked } from "../../trust/account/license/revocation.ts";
import { baseOf, isUnrecorded, loginOrigin } from "../../trust/account/login/login-origin.ts";
import { type BundleRequest, fetchBundle, NoBundle } from "../../trust/account/login/packages.ts";
import { heedRevocation, licenseBefore } from "../../trust/account/login/revoked-login.ts";
import { licenseAnchor, requireFixedKeys } from "../../trust/account/trusted/anchors.ts";
import { ATTEMPTS } from "../../trust/account/trusted/download.ts";
import { configuredEndpoints, type Endpoints, secureBase } from "../../trust/account/trusted/endpoints.ts";
import { type InstallResult, installRuntime } from "../../trust/runtime/install.ts";
import { requirePlatform } from "../../trust/runtime/signed.ts";
import { note } from "../terminal/output.ts";
import { startProgress } from "../terminal/progress.ts";

export interface ProvisionOptions {
  readonly env: Env;
  readonly signal: AbortSignal;
  /** A bundle on disk; absent: the packages server where one is configured, else the embedded bundle. */
  readonly file?: string;
  readonly license: License;
  readonly version?: string;
  readonly allowDowngrade?: boolean;
  /** Keep an install that is newer than the bundle. */
  readonly keepNewer?: boolean;
}

export interface Provisioned extends InstallResult {
  /** Where the bundle came from: "embedded", "file", or the origin of a packages server. */
  readonly source: string;
  /** The packages server whose bundle could not be used, and why; the embedded one was taken in its place. */
  readonly instead_of?: { readonly source: string; readonly reason: string };
}

/**
 * Finds the bundle and installs it.
 * @throws what finding and installing throw
 */
export async function provision(options: ProvisionOptions): Promise<Provisioned> {
  const { env, file } = options;
  const home = svcHome(env);
  // Before a bundle is downloaded whose signature would be refused by it.
  requireFixedKeys(env);
  const configured = configuredEndpoints(env, home);
  const packages = configured?.packages ?? env.SVC_PACKAGES_URL;
  let provisioned: Provisioned;
  if (file !== undefined) {
    provisioned = await install(options, readGiven("--file", file, BUNDLE_BYTES_MAX), "file");
  } else if (packages) {
    const server = { packages, ca: configured?.ca, apiKey: keyFor(packages, configured, options) };
    const before = licenseBefore(home);
    provisioned = await installFrom(server, options).catch(async (error) => {
      if (isRevoked(error)) {
        const isApi = configured !== undefined && baseOf(packages) === baseOf(configured.api);
        const anchor = isApi ? licenseAnchor(home, env) : undefined;
        await heedRevocation(home, error, { before, givenKey: env.SVC_API_KEY, anchor });
      }
      if (!isLacking(error, options.version)) throw error;
      return installInstead(error, new URL(packages).origin, options);
    });
  } else {
    const bytes = await embeddedBundle();
    if (!bytes)
      throw new RuntimeError("this svc brings no runtime bundle: name one with 'svc runtime install --file BUNDLE'");
    provisioned = await install(options, bytes, "embedded");
  }
  removeOldParts(home);
  return provisioned;
}

/** Removes what earlier releases of svc kept of downloads that broke. Parts that cannot be removed harm nothing. */
function removeOldParts(home: string): void {
  try {
    rmSync(downloadsPath(home), { recursive: true, force: true });
  } catch {
    // They belong to another user.
  }
}

/** Where bundles are asked for, and with what. */
type PackagesServer = Pick<BundleRequest, "packages" | "ca" | "apiKey">;

/**
 * The key of a login goes to the servers of its authority, and to others only where the environment names them together
 * with that authority. Whose login it is, and that one at another authority was killed with its key stored, is what the
 * record of its origin shows. A login without such a record, by an older svc, counts as one with the environment's
 * authority.
 */
function keyFor(packages: string, configured: Endpoints | undefined, { env }: ProvisionOptions): string | undefined {
  if (configured === undefined) return env.SVC_API_KEY;
  const home = svcHome(env);
  const isKnown = buildInfo().authority !== null || loginOrigin(home) === originOf(configured.api);
  const isTheirs = env.SVC_ACCOUNTS_URL
    ? isKnown || isUnrecorded(home)
    : isKnown && originOf(packages) === originOf(configured.api);
  return isTheirs ? readCredentials(home, env).apiKey : env.SVC_API_KEY;
}

function originOf(address: string): string {
  return secureBase(address, "the packages server").origin;
}

async function install(options: ProvisionOptions, bundle: Uint8Array, source: string): Promise<Provisioned> {
  const { env, license, version, allowDowngrade, keepNewer, signal } = options;
  signal.throwIfAborted();
  const result = await installRuntime({
    home: svcHome(env),
    env,
    bundle,
    license,
    allowDowngrade,
    keepNewer,
    // The embedded bundle's signature does not fit a key in SVC_RELEASE_PUBKEY.
    offered: source === "embedded" ? buildInfo() : undefined,
    version,
    fromServer: source !== "file" && source !== "embedded",
    provenance: source,
  });
  return { ...result, source };
}

/** Installs what a packages server has for the version that is asked for, or for this svc's. */
async function installFrom(server: PackagesServer, options: ProvisionOptions): Promise<Provisioned> {
  const version = options.version ?? buildInfo().version;
  const bundle = await downloaded(server, version, options.signal);
  return install({ ...options, version }, bundle, new URL(server.packages).origin);
}

/**
 * Whether a packages server has nothing for this svc, which brings a bundle of its own: an organisation's server offers
 * what it was given, and each executable of another release would else find no runtime there.
 * @param version the version that was asked for
 */
function isLacking(error: unknown, version: string | undefined): error is RuntimeError {
  const isLack = error instanceof NoBundle || (error instanceof RuntimeError && error.reason === "runtime_key_unknown");
  return isLack && (version === undefined || version === buildInfo().version);
}

/**
 * Installs the embedded bundle, as without a packages server, and says why.
 * @throws `lack` where there is none, or none that the keys in force signed; what installing throws
 */
async function installInstead(lack: RuntimeError, server: string, options: ProvisionOptions): Promise<Provisioned> {
  const bytes = await embeddedBundle();
  if (!bytes) throw lack;
  try {
    const installed = await install(options, bytes, "embedded");
    note(`note: ${server}: ${lack.message}; the bundle that came with svc is used instead`);
    return { ...installed, instead_of: { source: server, reason: lack.message } };
  } catch (error) {
    if (error instanceof RuntimeError && error.reason === "runtime_key_unknown") throw lack;
    note(`note: ${server}: ${lack.message}`);
    throw error;
  }
}

async function downloaded(server: PackagesServer, version: string, signal: AbortSignal): Promise<Uint8Array> {
  const progress = startProgress("downloading the runtime");
  try {
    return await fetchBundle({
      ...server,
      version,
      tag: requirePlatform(),
      signal,
      onProgress: ({ attempt, received: done, total }) => {
        const label = attempt === 1 ? undefined : `downloading the runtime, attempt ${attempt} of ${ATTEMPTS}`;
        progress.update({ done, total, unit: "bytes", label });
      },
    });
  } finally {
    progress.end();
  }
}
