/** From a bundle, wherever it comes from, to an install: what `svc login` and `svc runtime install` share. */
import { readCredentials } from "../account/credentials.ts";
import type { Downloaded } from "../account/download.ts";
import { configuredEndpoints } from "../account/endpoints.ts";
import type { License } from "../account/license.ts";
import { fetchBundle } from "../account/packages.ts";
import { removePartials } from "../account/partial.ts";
import { buildInfo, embeddedBundle } from "../build-info.ts";
import { readCapped } from "../durable.ts";
import { OSError, RuntimeError, ValueError } from "../errors.ts";
import { BUNDLE_BYTES_MAX } from "../limits.ts";
import { downloadsPath, type Env, svcHome } from "../paths.ts";
import { type InstallResult, installRuntime } from "../runtime/install.ts";
import { requirePlatform } from "../runtime/signed.ts";
import { startDownload } from "./download-progress.ts";
import { note } from "./output.ts";

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
  const { env, file } = options;
  const home = svcHome(env);
  const configured = configuredEndpoints(env);
  const packages = configured?.packages ?? env.SVC_PACKAGES_URL;
  let provisioned: Provisioned;
  if (file !== undefined) {
    provisioned = await install(options, named("--file", file, BUNDLE_BYTES_MAX), "file");
  } else if (packages) {
    // The key that this machine's own authority gave is not sent to another server.
    const apiKey = configured ? readCredentials(home, env).apiKey : env.SVC_API_KEY;
    provisioned = await installFrom(packages, apiKey, options);
  } else {
    const bytes = await embeddedBundle();
    if (!bytes)
      throw new RuntimeError("this svc brings no runtime bundle: name one with 'svc runtime install --file BUNDLE'");
    provisioned = await install(options, bytes, "embedded");
  }
  removePartials(downloadsPath(home));
  return provisioned;
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

/**
 * Installs what a packages server has for the version that is asked for, or for this svc's. A download that was put
 * together of parts and cannot be used is downloaded once more from its start.
 */
async function installFrom(
  packages: string,
  apiKey: string | undefined,
  options: ProvisionOptions,
): Promise<Provisioned> {
  const version = options.version ?? buildInfo().version;
  for (let anew = false; ; anew = true) {
    const bundle = await downloaded(packages, version, apiKey, anew, options);
    try {
      return await install({ ...options, version }, bundle.bytes, new URL(packages).origin);
    } catch (error) {
      if (isRefused(error) || isFullDisk(error)) bundle.remove();
      if (anew || !bundle.resumed || !isRefused(error)) throw error;
      note("the bundle is of parts of several downloads and cannot be used: downloading it once more from its start");
    } finally {
      bundle.close();
    }
  }
}

async function downloaded(
  packages: string,
  version: string,
  apiKey: string | undefined,
  anew: boolean,
  { env, signal }: ProvisionOptions,
): Promise<Downloaded> {
  const progress = startDownload();
  try {
    return await fetchBundle({
      home: svcHome(env),
      packages,
      version,
      tag: requirePlatform(),
      apiKey,
      anew,
      signal,
      onState: (state) => progress.update(state),
    });
  } finally {
    progress.end();
  }
}

/** Whether it was the bundle that could not be used: the same bytes would be refused again. */
function isRefused(error: unknown): boolean {
  return error instanceof RuntimeError || error instanceof ValueError;
}

function isFullDisk(error: unknown): boolean {
  return error instanceof OSError && error.reason === "disk_full";
}

/** The bytes of a file that a flag names. @throws ValueError where there is none, or it is too large */
export function named(flag: string, path: string, bytesMax: number): Uint8Array {
  const bytes = readCapped(path, bytesMax);
  if (!bytes) throw new ValueError(`${flag}: there is no file '${path}'`);
  return bytes;
}
