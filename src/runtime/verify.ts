/** The report of `svc runtime verify`: whether the install verifies and would load, and whether there is a login. */
import { lstatSync, readdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { permissionFaults } from "../account/permissions.ts";
import { buildInfo } from "../build-info.ts";
import { checkSecretFile, diskError } from "../durable.ts";
import { errorLine, PermissionError, RuntimeError } from "../errors.ts";
import { type Env, type PlatformTag, platformTag, runtimePaths } from "../paths.ts";
import { type ReleaseAnchors, releaseAnchors } from "./anchor.ts";
import type { RuntimeManifest } from "./bundle-manifest.ts";
import { type AbiVersions, requireAbi } from "./load.ts";
import { readArtifact, readSigned, requirePlatform } from "./signed.ts";

/** One check and its outcome. `name` is stable; `detail` is a sentence. */
export interface VerifyCheck {
  name: string;
  ok: boolean;
  detail: string;
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
  home: string;
  env: Env;
  /** Throws where the licence of this machine's login is invalid. Absent: not checked. */
  checkLicense?: () => Promise<unknown>;
  /** Throws where the tools would refuse for lack of a login. Absent: not checked. */
  checkLogin?: () => Promise<unknown>;
  /** Default: those of this build. */
  abi?: AbiVersions;
}

/** Checks the install, the licence and the login. Never throws: failures are in the report. */
export async function verifyInstalled(options: VerifyOptions): Promise<VerifyReport> {
  const { home, checkLicense, checkLogin } = options;
  const anchors = attempt(() => releaseAnchors(options.env));
  const report: VerifyReport = {
    ok: false,
    installed: false,
    platform: platformTag() ?? null,
    version: null,
    release: null,
    anchor: anchors.value?.override ?? "built-in",
    checks: [],
  };
  const add = (name: string, outcome: Outcome<unknown>, detail: string) =>
    report.checks.push({ name, ok: outcome.error === undefined, detail: outcome.error ?? detail });

  const found = attempt(() => findInstall(home));
  add("installed", found, `runtime/${report.platform}`);
  if (found.value) {
    const { tag, dir, license } = found.value;
    report.installed = true;
    const closed = attempt(() => requireClosed(dir, license, home));
    add("permissions", closed, "closed to other writers, down from the root");
    if (anchors.value === undefined) add("signature", anchors, "");
    else await checkSigned(dir, tag, anchors.value, options.abi, report, add);
  }
  if (checkLicense) add("licence", await attemptAsync(checkLicense), "good, for this device");
  if (checkLogin) add("login", await attemptAsync(checkLogin), "done, with all that the tools ask for");
  report.ok = report.checks.every(({ ok }) => ok);
  return report;
}

/**
 * Checks signature, hashes, stray files and ABI; each library is read once, and the hashed bytes are the ones loaded.
 */
async function checkSigned(
  dir: string,
  tag: PlatformTag,
  anchors: ReleaseAnchors,
  abi: AbiVersions | undefined,
  report: VerifyReport,
  add: (name: string, outcome: Outcome<unknown>, detail: string) => void,
): Promise<void> {
  const signed = await attemptAsync(() => readSigned(dir, tag, anchors));
  const key = anchors.override
    ? `the key in ${anchors.override} (it replaces the built-in one)`
    : "the built-in release key";
  add("signature", signed, `telys_manifest.json is signed by ${key}`);
  if (signed.value === undefined) return; // an unsigned manifest proves nothing
  const { manifest } = signed.value;
  report.version = manifest.version;
  report.release = manifest.release;
  const answers: [string, Outcome<number>][] = [];
  for (const artifact of manifest.artifacts) {
    const read = attempt(() => readArtifact(dir, artifact));
    add(`hash ${artifact.name}`, read, `sha256 ${artifact.sha256}`);
    if (artifact.role === "pysite") continue;
    const { value, error } = read;
    answers.push([artifact.name, value ? attempt(() => requireAbi(value, abi ?? buildInfo().abi)) : { error }]);
  }
  const listed = attempt(() => requireListed(dir, manifest));
  add("unlisted files", listed, "none");
  for (const [name, answered] of answers) add(`abi ${name}`, answered, `version ${answered.value}`);
}

/**
 * The install of this machine's platform. @throws RuntimeError where there is none; OSError where it cannot be examined
 */
function findInstall(home: string) {
  const tag = requirePlatform();
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
  return { tag, ...paths };
}

/**
 * The copy of the licence is a secret like the licence itself. It is never read, so anything else, even a link, may be
 * in its place.
 * @throws PermissionError where others can write to the install or its parent folders, or read the copy
 */
function requireClosed(dir: string, copy: string, home: string): void {
  const faults = permissionFaults(home, [dir, ...everythingIn(dir).filter((path) => path !== copy)]);
  const { error } = attempt(() => {
    if (lstatSync(copy, { throwIfNoEntry: false })?.isFile()) checkSecretFile(copy, home);
  });
  if (error !== undefined) faults.push(error);
  if (faults.length > 0) throw new PermissionError(faults.join("; "));
}

/** The files of an install beside the artifacts. */
const OWN_FILES = ["telys_manifest.json", "telys_manifest.sig", "license.jwt", "installed.json"];

/**
 * Refuses a file that neither the manifest lists nor an install writes: below pysite any Python program that uses the
 * install could import it. Python's own `__pycache__` is ignored.
 * @throws RuntimeError
 */
function requireListed(dir: string, manifest: RuntimeManifest): void {
  const named = new Set([...OWN_FILES, ...manifest.artifacts.map(({ name }) => name)]);
  const stray = everythingIn(dir)
    .filter((path) => !path.includes("/__pycache__") && !lstatSync(path).isDirectory())
    .map((path) => relative(dir, path))
    .find((name) => !named.has(name));
  if (stray !== undefined) throw new RuntimeError(`${stray} is not in the manifest: remove it`);
}

/** All names below a folder, links not followed; none where the folder is absent. @throws OSError */
function everythingIn(dir: string): string[] {
  try {
    if (!lstatSync(dir, { throwIfNoEntry: false })?.isDirectory()) return [];
    return readdirSync(dir, { recursive: true, withFileTypes: true }).map((entry) =>
      join(entry.parentPath, entry.name),
    );
  } catch (error) {
    throw diskError(error, "list", dir);
  }
}

interface Outcome<T> {
  value?: T;
  error?: string;
}

function attempt<T>(action: () => T): Outcome<T> {
  try {
    return { value: action() };
  } catch (error) {
    return { error: sentence(error) };
  }
}

async function attemptAsync<T>(action: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await action() };
  } catch (error) {
    return { error: sentence(error) };
  }
}

/** The message without its type: the check's name tells what failed. */
function sentence(error: unknown): string {
  return errorLine(error).replace(/^[A-Za-z]+: (?:internal error: )?/, "");
}
