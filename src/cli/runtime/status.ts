/** `svc runtime status`: what is installed, without hashing it. */

import { readCapped } from "../../durable.ts";
import { attempt, errorMessage } from "../../errors.ts";
import { RUNTIME_MANIFEST_BYTES_MAX } from "../../limits.ts";
import { type Env, runtimePaths, svcHome } from "../../paths.ts";
import { readDevice } from "../../trust/account/device.ts";
import { requireLogin } from "../../trust/account/license/credentials.ts";
import { day, renewableFrom } from "../../trust/account/license/license.ts";
import { renewalOrigin } from "../../trust/account/login/renewal.ts";
import { signsHere } from "../../trust/authority/own-key.ts";
import { releaseAnchors } from "../../trust/runtime/anchor.ts";
import type { InstalledRecord } from "../../trust/runtime/install.ts";
import { readSigned, requirePlatform } from "../../trust/runtime/signed.ts";
import { command, JSON_FLAG } from "../terminal/command.ts";
import { oneLine, print, printJson } from "../terminal/output.ts";
import { fit } from "../terminal/width.ts";
import { pinnedAuthority } from "./pinned-authority.ts";

export default command({
  details: "Shows the manifest, its signature and the login. 'svc runtime verify' also reads and hashes every file.",
  examples: ["svc runtime status", "svc runtime status --json"],
  args: { json: JSON_FLAG },
  async run({ args, env }) {
    const status = await readStatus(svcHome(env), env);
    if (args.json) return printJson(status);
    const { runtime, login, pinned } = status;
    print(fit(`platform  ${status.platform}`, 10));
    // installed.json may hold anything, and the names in a licence are the authority's.
    const since = `installed ${oneLine(runtime.installed_at ?? "at an unknown time")} from ${oneLine(runtime.source ?? "an unknown source")}`;
    print(fit(`runtime   ${runtime.problem ?? `${runtime.version} (release ${runtime.release}), ${since}`}`, 10));
    print(fit(`login     ${login.problem ?? `${oneLine(login.tier ?? "")} licence until ${login.expires_at}`}`, 10));
    if (login.device) print(fit(`device    ${login.device.id}, ${login.device.thumbprint}`, 10));
    if (pinned) print(fit(`authority ${pinned.url}, pinned with the licence key ${pinned.license_key}`, 10));
    if (login.renewal) print(fit(`renewal   ${oneLine(login.renewal.by)}, from ${login.renewal.from}`, 10));
  },
});

async function readStatus(home: string, env: Env) {
  const platform = requirePlatform();
  const { dir, installed } = runtimePaths(home, platform);
  const runtime = { version: null as string | null, release: null as number | null, problem: null as string | null };
  try {
    const { manifest } = await readSigned(dir, platform, releaseAnchors(env));
    runtime.version = manifest.version;
    runtime.release = manifest.release;
  } catch (error) {
    runtime.problem = problem(error);
  }
  const record = runtime.version === null ? undefined : readRecord(installed);
  const login = {
    ...{ tier: null as string | null, expires_at: null as string | null, problem: null as string | null },
    features: [] as readonly string[],
    device: null as { id: string; thumbprint: string } | null,
    renewal: null as { by: string; from: string } | null,
  };
  try {
    const device = await readDevice(home);
    if (device) login.device = { id: device.id, thumbprint: device.thumbprint };
    const license = await requireLogin(home, env);
    login.tier = license.tier;
    login.features = license.features;
    login.expires_at = day(license.expiresAt);
    login.renewal = { by: renewedBy(home, env), from: day(renewableFrom(license)) };
  } catch (error) {
    login.problem = problem(error);
  }
  return {
    platform,
    runtime: { ...runtime, source: text(record?.provenance?.source), installed_at: text(record?.installed_at) },
    login,
    pinned: pinnedAuthority(home),
  };
}

/** Who renews the licence in the last third of its life. */
function renewedBy(home: string, env: Env): string {
  try {
    if (signsHere(home, env)) return "by itself, on this machine";
    const origin = renewalOrigin(home);
    return origin === undefined ? "by 'svc login'" : `by itself, at ${origin}`;
  } catch (error) {
    return `by 'svc login' (${problem(error)})`;
  }
}

/** What installed.json has in place of a text is shown as nothing. */
function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** installed.json records and decides nothing; where it cannot be read there is that much less to show. */
function readRecord(path: string): Partial<InstalledRecord> | undefined {
  return attempt(() => {
    const bytes = readCapped(path, RUNTIME_MANIFEST_BYTES_MAX, { noFollow: true });
    return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as Partial<InstalledRecord>);
  });
}

function problem(error: unknown): string {
  return oneLine(errorMessage(error));
}
