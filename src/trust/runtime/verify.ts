/** The report of `svc runtime verify`: whether the install verifies and would load, and whether there is a login. */
import { lstatSync, statSync } from "node:fs";
import { join } from "node:path";
import { buildInfo } from "../../build-info.ts";
import { diskError } from "../../durable.ts";
import { errorMessage, RuntimeError } from "../../errors.ts";
import { type Env, type PlatformTag, platformTag, runtimePaths } from "../../paths.ts";
import type { License } from "../account/license/license.ts";
import { releaseAnchors } from "./anchor.ts";
import { isLibrary, type RuntimeManifest } from "./bundle-manifest.ts";
import { releaseState } from "./floor.ts";
import { type AbiVersions, requireAbi } from "./load.ts";
import { readModel } from "./model.ts";
import { NO_RELEASES, readReleases } from "./releases.ts";
import { readArtifact, readSigned, requirePlatform, type SignedManifest } from "./signed.ts";
import { examineInstall, namesBelow, unlisted } from "./verify-files.ts";

/** One check and its outcome. `name` is stable; `detail` is a sentence. */
export interface VerifyCheck {
  name: string;
  ok: boolean;
  detail: string;
  /** What is to be done in time although the check is good. */
  warning?: string;
}

/** The outcome of all checks, for text and for `--json`. */
export interface VerifyReport {
  /** Every check is ok. */
  ok: boolean;
  /** Whether there is an install. */
  installed: boolean;
  /** Null where no runtime is built for this machine. */
  platform: PlatformTag | null;
  /** From the manifest; null where its signature is invalid. */
  version: string | null;
  release: number | null;
  /** The key of the signature check: "built-in", or the variable that replaces it. */
  anchor: "built-in" | "SVC_RELEASE_PUBKEY" | "SVC_RELEASE_PUBKEY_FILE";
  checks: VerifyCheck[];
}

export interface VerifyOptions {
  /** SVC_HOME, or the error for which there is none. */
  home: string | Error;
  env: Env;
  /** Throws where the environment would replace keys that are fixed in this build. Absent: not checked. */
  checkKeys?: (() => void) | undefined;
  /** Throws where the licence of this machine's login is invalid. Absent: not checked. */
  checkLicense?: () => Promise<Pick<License, "warnings">>;
  /** Throws where the tools would refuse for lack of a login. Absent: not checked. */
  checkLogin?: () => Promise<unknown>;
  /** Default: those of this build. */
  abi?: AbiVersions;
}

/** Unlisted files that are named one by one. */
const UNLISTED_MAX = 20;

/** Checks the install, the licence and the login. Never throws: failures are in the report. */
export async function verifyInstalled(options: VerifyOptions): Promise<VerifyReport> {
  const { checkKeys, checkLicense, checkLogin } = options;
  const report: VerifyReport = {
    ok: false,
    installed: false,
    platform: platformTag() ?? null,
    version: null,
    release: null,
    anchor: "built-in",
    checks: [],
  };
  const verification = new Verification(report, options);
  const { add } = verification;
  if (checkKeys) add("keys", await attempt(checkKeys), "the keys of this build; the environment does not replace them");
  await verification.checkInstall();
  if (checkLicense) {
    const checked = await attempt(checkLicense);
    // Its warnings are those of a tool call: days of grace, a clock that went back.
    add("licence", checked, "good, for this device", checked.value?.warnings.join("; ") || undefined);
  }
  if (checkLogin) add("login", await attempt(checkLogin), "complete: the tools have all they need");
  report.ok = report.checks.every(({ ok }) => ok);
  return report;
}

/** One run over the checks, which adds an entry for each. */
class Verification {
  constructor(
    private readonly report: VerifyReport,
    private readonly options: VerifyOptions,
  ) {}

  readonly add = (name: string, outcome: Outcome<unknown>, detail: string, warning?: string): void => {
    const check: VerifyCheck = { name, ok: outcome.error === undefined, detail: outcome.error ?? detail };
    this.report.checks.push(warning === undefined ? check : { ...check, warning });
  };

  async checkInstall(): Promise<void> {
    const { home, env } = this.options;
    const anchors = await attempt(() => releaseAnchors(env));
    this.report.anchor = anchors.value?.override ?? "built-in";
    const found = await attempt(() => findInstall(home));
    this.add("installed", found, `runtime/${this.report.platform}`);
    if (!found.value) return;
    this.report.installed = true;
    const { tag, dir, license, root } = found.value;
    const names = await attempt(() => namesBelow(dir));
    await this.checkPermissions(root, dir, names, license);
    const signed: Outcome<SignedManifest> = anchors.value
      ? await attempt(() => readSigned(dir, tag, anchors.value!))
      : { error: anchors.error };
    const override = anchors.value?.override;
    const by = override ? `the key in ${override} (it replaces the built-in ones)` : "a built-in release key";
    this.add("signature", signed, `telys_manifest.json is signed by ${by}`);
    if (signed.cause instanceof RuntimeError && signed.cause.reason === "runtime_key_unknown")
      this.add("key", signed, "");
    if (signed.value === undefined) return; // an unsigned manifest proves nothing
    const { manifest } = signed.value;
    this.report.version = manifest.version;
    this.report.release = manifest.release;
    await this.checkRelease(root, signed.value);
    await this.checkArtifacts(dir, manifest);
    this.checkUnlisted(names, manifest);
  }

  /** One entry for each file and folder, and for SVC_HOME with what is above it. */
  private async checkPermissions(home: string, dir: string, names: Outcome<string[]>, license: string) {
    if (names.error !== undefined) this.add("permissions", names, "");
    const examined = await attempt(() => examineInstall(home, dir, names.value ?? [], license));
    if (examined.value === undefined) this.add("permissions SVC_HOME", examined, "");
    for (const { name, faults } of examined.value ?? [])
      this.add(`permissions ${name}`, { error: faults.join("; ") || undefined }, "no other user can write it");
  }

  /** The key that signed it, whether a load finds the release new enough, and until when it may be offered. */
  private async checkRelease(home: string, signed: SignedManifest): Promise<void> {
    const { release } = signed.manifest;
    const record = await attempt(() => readReleases(home) ?? NO_RELEASES);
    const { key, floor, refusal, expires, expired } = releaseState(signed, record.value ?? NO_RELEASES);
    const error = refusal ?? undefined;
    this.add("key", key.ended ? { error } : {}, `${key.id}, ${KEY_ROLES[key.role]}`);
    const least = floor ? `${floor.release}, ${FLOORS[floor.from]}` : "not known: no release of this key was seen";
    const allowed = floor && release < floor.release ? "it is older, and was allowed by --allow-downgrade" : undefined;
    const refused = { error: record.error ?? (key.ended ? undefined : error) };
    this.add(
      "release floor",
      refused,
      `release ${release}; the least is ${least}`,
      refused.error ? undefined : allowed,
    );
    const date = expires.slice(0, 10);
    const past = expired ? `it ended on ${date} and still works here: install a newer release` : undefined;
    this.add("expires", {}, `a packages server may offer this release until ${date}`, past);
  }

  /** Hashes, then ABI versions; each file is read once, and a library's hashed bytes are the ones loaded. */
  private async checkArtifacts(dir: string, manifest: RuntimeManifest): Promise<void> {
    const abi = this.options.abi ?? buildInfo().abi;
    const answers: [string, Outcome<number>][] = [];
    for (const artifact of manifest.artifacts) {
      const read =
        artifact.role === "model"
          ? { error: (await readModel(join(dir, artifact.name), artifact)).fault?.message }
          : await attempt(() => readArtifact(dir, artifact));
      this.add(`hash ${artifact.name}`, read, `sha256 ${artifact.sha256}`);
      if (!isLibrary(artifact.role)) continue;
      const { value, error } = read;
      answers.push([artifact.name, value ? await attempt(() => requireAbi(value, abi)) : { error }]);
    }
    for (const [name, answered] of answers) this.add(`abi ${name}`, answered, `version ${answered.value}`);
  }

  /** What the manifest does not name: below pysite, where Python would import it, and elsewhere. */
  private checkUnlisted(names: Outcome<string[]>, manifest: RuntimeManifest): void {
    const found = names.value && unlisted(names.value, manifest);
    const ofPython = (name: string) => name === "pysite" || name.startsWith("pysite/");
    for (const [check, isMine] of [
      ["python path", ofPython],
      ["unlisted files", (name: string) => !ofPython(name)],
    ] as const) {
      const stray = found?.filter(isMine) ?? [];
      for (const name of stray.slice(0, UNLISTED_MAX)) {
        const error = `${name} is not in the manifest: remove it, or run 'svc runtime install' again`;
        this.add(`${check} ${name}`, { error }, "");
      }
      const more = stray.length - UNLISTED_MAX;
      if (more > 0) this.add(check, { error: `${more} more are not in the manifest` }, "");
      else if (stray.length === 0) this.add(check, { error: names.error }, "nothing but what was signed");
    }
  }
}

const KEY_ROLES = {
  current: "the current key of this svc",
  next: "the next key of this svc",
  given: "the key of the environment",
} as const;

const FLOORS = { svc: "that of this svc", record: "the highest that was installed here" } as const;

/**
 * The install of this machine's platform. @throws RuntimeError where there is none; OSError where it cannot be examined
 */
function findInstall(home: string | Error) {
  const tag = requirePlatform();
  if (typeof home !== "string") throw home;
  const paths = runtimePaths(home, tag);
  let present: boolean;
  try {
    const folder = statSync(home, { throwIfNoEntry: false })?.isDirectory() ?? true;
    if (!folder) throw new RuntimeError("SVC_HOME is not a folder: set it to a folder of your own");
    present = [paths.manifest, paths.signature].some((path) => lstatSync(path, { throwIfNoEntry: false }));
  } catch (error) {
    throw diskError(error, "examine", paths.dir);
  }
  if (!present)
    throw new RuntimeError("the native runtime is not installed: run 'svc runtime install'", "runtime_missing");
  return { tag, root: home, ...paths };
}

/** A value, or the error as a sentence and as it was. */
interface Outcome<T> {
  value?: T;
  error?: string | undefined;
  cause?: unknown;
}

async function attempt<T>(action: () => T | Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await action() };
  } catch (cause) {
    // Without its type: the check's name tells what failed.
    return { error: errorMessage(cause).replace(/^internal error: /, ""), cause };
  }
}
