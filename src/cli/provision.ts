/** From a bundle, wherever it comes from, to an install: what `svc login` and `svc runtime install` share. */
import { readCredentials } from "../account/credentials.ts";
import { configuredEndpoints } from "../account/endpoints.ts";
import type { License } from "../account/license.ts";
import { fetchBundle } from "../account/packages.ts";
import { buildInfo, embeddedBundle } from "../build-info.ts";
import { readCapped } from "../durable.ts";
import { RuntimeError, ValueError } from "../errors.ts";
import { BUNDLE_BYTES_MAX } from "../limits.ts";
import { type Env, svcHome } from "../paths.ts";
import { type InstallResult, installRuntime } from "../runtime/install.ts";
import { requirePlatform } from "../runtime/signed.ts";
import { startProgress } from "./progress.ts";

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
}

/**
 * Finds the bundle and installs it.
 * @throws what finding and installing throw
 */
export async function provision(options: ProvisionOptions): Promise<Provisioned> {
  const { env, license, version, allowDowngrade, keepNewer } = options;
  const home = svcHome(env);
  const { bytes, source, ...served } = await obtainBundle(options, home);
  options.signal.throwIfAborted();
  const result = await installRuntime({
    home,
    env,
    bundle: bytes,
    license,
    allowDowngrade,
    keepNewer,
    // The embedded bundle's signature does not fit a key in SVC_RELEASE_PUBKEY.
    offered: source === "embedded" ? buildInfo() : undefined,
    version,
    ...served,
    provenance: source,
  });
  return { ...result, source };
}

/** A bundle and where it came from; of a server also what was asked for, as it may answer with another. */
interface Obtained {
  bytes: Uint8Array;
  source: string;
  fromServer?: boolean;
  version?: string;
}

async function obtainBundle(options: ProvisionOptions, home: string): Promise<Obtained> {
  const { env, file, signal } = options;
  if (file !== undefined) return { bytes: named("--file", file, BUNDLE_BYTES_MAX), source: "file" };
  const configured = configuredEndpoints(env);
  const packages = configured?.packages ?? env.SVC_PACKAGES_URL;
  if (!packages) {
    const bytes = await embeddedBundle();
    if (bytes) return { bytes, source: "embedded" };
    throw new RuntimeError("this svc brings no runtime bundle: name one with 'svc runtime install --file BUNDLE'");
  }
  const version = options.version ?? buildInfo().version;
  const progress = startProgress("downloading the runtime");
  try {
    const bytes = await fetchBundle({
      packages,
      version,
      tag: requirePlatform(),
      // The key that this machine's own authority gave is not sent to another server.
      apiKey: configured ? readCredentials(home, env).apiKey : env.SVC_API_KEY,
      signal,
      onProgress: (received, total) => progress.update(received, total),
    });
    return { bytes, source: new URL(packages).origin, fromServer: true, version };
  } finally {
    progress.end();
  }
}

/** The bytes of a file that a flag names. @throws ValueError where there is none, or it is too large */
export function named(flag: string, path: string, bytesMax: number): Uint8Array {
  const bytes = readCapped(path, bytesMax);
  if (!bytes) throw new ValueError(`${flag}: there is no file '${path}'`);
  return bytes;
}
