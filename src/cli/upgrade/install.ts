/** One upgrade, or the way back, from the release host to the executable's place. */
import { statSync } from "node:fs";
import { buildInfo } from "../../build-info.ts";
import { isObject } from "../../checks/kinds.ts";
import { attempt, errorMessage, RuntimeError } from "../../errors.ts";
import { type Env, runtimePaths, svcHome } from "../../paths.ts";
import { storedLicense } from "../../trust/account/license/license-check.ts";
import { requireFixedKeys } from "../../trust/account/trusted/anchors.ts";
import { ATTEMPTS } from "../../trust/account/trusted/download.ts";
import {
  keepSeen,
  requireAllowed,
  requireFloor,
  requireInForce,
  seenReleases,
  withRelease,
} from "../../trust/release/allowed.ts";
import { fetchExecutable, fetchRelease, type Requests, releaseHost } from "../../trust/release/host.ts";
import { filesFor, type SignedRelease } from "../../trust/release/manifest.ts";
import { type ReleaseAnchors, releaseAnchors } from "../../trust/runtime/anchor.ts";
import type { Release } from "../../trust/runtime/releases.ts";
import { requirePlatform } from "../../trust/runtime/signed.ts";
import { nearestExisting } from "../terminal/home.ts";
import { note } from "../terminal/output.ts";
import { startProgress } from "../terminal/progress.ts";
import { requireOwnFile } from "./owner.ts";
import { Place } from "./place.ts";
import { clientsThatStart, type OldProcess, oldProcesses } from "./running.ts";
import { tryExecutable } from "./trial.ts";

export interface UpgradeOptions extends Pick<Requests, "pace"> {
  /** The path of this executable, without links. */
  readonly executable: string;
  readonly env: Env;
  readonly signal: AbortSignal;
}

/** What an upgrade came to. */
export interface Outcome {
  from: Release;
  to: Release;
  /** False where that version is here already. */
  changed: boolean;
  executable: string;
  /** The file that was replaced; null where none was. */
  previous: string | null;
  /** The native runtime of this machine's login, which the new executable installed; null where there was none. */
  runtime: { ok: true; release: number } | { ok: false; problem: string } | null;
  /** Processes that go on with the old file. */
  running: OldProcess[];
  /** Titles of the MCP clients whose configuration starts this executable. */
  clients: string[];
}

/**
 * Installs a release in the place of the executable.
 * @param options.version absent: the newest one
 * @throws what verification, download, trial and disk throw; the executable stands then
 */
export async function install(options: UpgradeOptions & { version?: string | undefined }): Promise<Outcome> {
  const { executable, env, signal, version, pace } = options;
  const home = svcHome(env);
  requireFixedKeys(env);
  requireOwnFile(executable, version === undefined ? [] : ["--version", version]);
  const place = new Place(executable);
  const anchors = releaseAnchors(env);
  const base = releaseHost(env);
  const release = await fetchRelease(base, version, anchors, { signal, pace });
  const { manifest } = release;
  const record = withRelease(seenReleases(home), release, anchors);
  const isBack = Bun.semver.order(manifest.version, buildInfo().version) < 0;
  // The older release knows nothing of what a newer one says about it.
  const newest =
    isBack && version !== undefined ? await fetchRelease(base, undefined, anchors, { signal, pace }) : release;
  requireAllowed(release, withRelease(record, newest, anchors, true), anchors, version !== undefined);
  const files = filesFor(release, requirePlatform());
  if (isSame(manifest)) {
    await remember(home, release, anchors, true);
    return unchanged(executable, manifest);
  }
  return place.alone(async () => {
    place.put(await downloaded(base, manifest.version, files, { signal, pace }));
    const tried = await tryExecutable(place.fresh, place, { env, signal });
    if (tried.version !== manifest.version || tried.release !== manifest.release)
      throw new RuntimeError(
        `the file of release ${manifest.version} says that it is ${tried.version} (release ${tried.release}): try another version`,
      );
    // Before: a kill right after the exchange must not make an older version acceptable.
    await remember(home, newest, anchors);
    signal.throwIfAborted();
    place.swap(place.fresh);
    // The new file is in its place: what fails from here on is a remark.
    await remember(home, release, anchors, true).catch((error) => note(`note: ${errorMessage(error)}`));
    return conclude(place, manifest, options);
  });
}

/**
 * Puts the file that the last upgrade replaced in the place of the executable, and keeps this one beside it.
 * @throws RuntimeError where there is none, or it is too old; what trial and disk throw
 */
export async function rollBack(options: UpgradeOptions): Promise<Outcome> {
  const { executable, env, signal } = options;
  requireFixedKeys(env);
  requireOwnFile(executable, ["--rollback"]);
  const place = new Place(executable);
  const anchors = releaseAnchors(env);
  return place.alone(async () => {
    if (!statSync(place.previous, { throwIfNoEntry: false }))
      throw new RuntimeError(
        "no earlier file is kept beside this svc: 'svc upgrade --version VERSION' installs another version",
      );
    const tried = await tryExecutable(place.previous, place, { env, signal });
    const record = seenReleases(svcHome(env));
    requireInForce(tried.version, tried.releaseKey, record);
    requireFloor(tried.version, record, anchors);
    signal.throwIfAborted();
    place.swap(place.previous);
    return conclude(place, tried, options);
  });
}

async function downloaded(
  base: string,
  version: string,
  files: Parameters<typeof fetchExecutable>[2],
  requests: Requests,
): Promise<Uint8Array> {
  const progress = startProgress(`downloading svc ${version}`);
  try {
    return await fetchExecutable(base, version, files, {
      ...requests,
      onProgress: ({ attempt, received: done, total }) => {
        const label = attempt === 1 ? undefined : `downloading svc ${version}, attempt ${attempt} of ${ATTEMPTS}`;
        progress.update({ done, total, unit: "bytes", label });
      },
    });
  } finally {
    progress.end();
  }
}

function isSame({ version, release }: Release): boolean {
  const own = buildInfo();
  return version === own.version && release === own.release;
}

function releaseOf({ version, release }: Release): Release {
  return { version, release };
}

function unchanged(executable: string, release: Release): Outcome {
  const same = releaseOf(release);
  return {
    ...{ from: same, to: same, changed: false, executable, previous: null, runtime: null },
    running: [],
    clients: [],
  };
}

/** What follows once the new file is in its place. */
async function conclude(place: Place, to: Release, { env }: UpgradeOptions): Promise<Outcome> {
  const { executable, previous } = place;
  const from = releaseOf(buildInfo());
  return {
    ...{ from, to: releaseOf(to), changed: true, executable, previous },
    runtime: await installRuntime(executable, to.release < from.release, env),
    running: oldProcesses(place),
    clients: attempt(() => clientsThatStart(executable, env)) ?? [],
  };
}

/** Remembers what a release says, for this user: the home of another one, as under sudo, gets no files of this one. */
async function remember(home: string, release: SignedRelease, anchors: ReleaseAnchors, isInstalled = false) {
  if (isOthers(home)) return;
  await keepSeen(home, (record) => withRelease(record, release, anchors, isInstalled));
}

function isOthers(home: string): boolean {
  return attempt(() => statSync(nearestExisting(home)).uid) !== process.geteuid?.();
}

/** Whether sudo runs this for another user, whose home HOME does not name on most systems. */
function isBySudo({ SUDO_UID }: Env): boolean {
  return SUDO_UID !== undefined && Number(SUDO_UID) !== process.geteuid?.();
}

/** Has the new executable install its runtime where an older one is: until then it would refuse each call. */
async function installRuntime(executable: string, isBack: boolean, env: Env): Promise<Outcome["runtime"]> {
  const home = svcHome(env);
  const words = ["runtime", "install", ...(isBack ? ["--allow-downgrade"] : [])];
  const remedy = `'svc ${words.join(" ")}'`;
  if (isBySudo(env)) note(`note: if you have a login here, run ${remedy} once as yourself, without sudo`);
  const hasRuntime = attempt(() => statSync(runtimePaths(home, requirePlatform()).manifest)) !== undefined;
  if (!hasRuntime || attempt(() => storedLicense(home)) === undefined) return null;
  if (isOthers(home)) {
    if (!isBySudo(env)) note(`note: the login on this machine is another user's, who runs ${remedy} once`);
    return null;
  }
  const child = attempt(() =>
    Bun.spawn([executable, ...words, "--json"], { env, stdin: "ignore", stdout: "pipe", stderr: "pipe" }),
  );
  if (!child) return { ok: false, problem: `svc cannot be started; run ${remedy}` };
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const said: unknown = attempt(() => JSON.parse(out));
  if ((await child.exited) === 0 && isObject(said) && typeof said.release === "number")
    return { ok: true, release: said.release };
  const failure: unknown = attempt(() => JSON.parse(err.trimEnd().split("\n").at(-1) ?? ""));
  const why = isObject(failure) && isObject(failure.error) ? String(failure.error.message) : "it does not say why";
  return { ok: false, problem: `${why}; run ${remedy}` };
}
