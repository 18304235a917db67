/** The runtime that svc brings, installed where a first login finds none that this svc can use. */
import { buildInfo, embeddedBundle } from "../../build-info.ts";
import { RuntimeError } from "../../errors.ts";
import { type Env, runtimePaths, svcHome } from "../../paths.ts";
import type { License } from "../../trust/account/license/license.ts";
import { configuredEndpoints } from "../../trust/account/trusted/endpoints.ts";
import { releaseAnchors } from "../../trust/runtime/anchor.ts";
import { loadRefusal } from "../../trust/runtime/floor.ts";
import { installRuntime } from "../../trust/runtime/install.ts";
import { NO_RELEASES, readReleases } from "../../trust/runtime/releases.ts";
import { readSigned, requirePlatform } from "../../trust/runtime/signed.ts";

/**
 * Whether nothing is installed, or what an older svc left. An install that does not verify is not missing: a person has
 * to see that. Nor is one where an organisation decides which runtime is used.
 * @throws as `configuredEndpoints`, and where the record of releases is damaged
 */
export async function isRuntimeMissing(env: Env): Promise<boolean> {
  const home = svcHome(env);
  if (configuredEndpoints(env, home) !== undefined || env.SVC_PACKAGES_URL) return false;
  const tag = requirePlatform();
  try {
    const signed = await readSigned(runtimePaths(home, tag).dir, tag, releaseAnchors(env));
    const isOlder = signed.manifest.release < buildInfo().release;
    return isOlder && loadRefusal(signed, readReleases(home) ?? NO_RELEASES) !== undefined;
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error;
    return error.reason === "runtime_missing" || error.reason === "runtime_key_unknown";
  }
}

/** Installs it, which verifies it. @throws as `installRuntime`; RuntimeError where this svc brings none */
export async function installFirst(env: Env, license: License): Promise<void> {
  const bundle = await embeddedBundle();
  if (bundle === undefined)
    throw new RuntimeError(
      "this svc brings no runtime bundle: run 'svc runtime install --file BUNDLE'",
      "runtime_missing",
    );
  const home = svcHome(env);
  await installRuntime({ home, env, bundle, license, keepNewer: true, offered: buildInfo(), provenance: "embedded" });
}
