/**
 * Which releases may take the place of this executable. Three things are never taken: a release of a key that has
 * ended, one below the lowest version that a release seen here goes back to, and, unless a person names it, one that
 * is older than what was here. They are remembered with those of the native runtime, in SVC_HOME/releases.json
 * (../runtime/releases.ts), so that a server which offers an old manifest again brings back nothing.
 */
import { dirname, join } from "node:path";
import { makeDirectory, withLock } from "../../durable.ts";
import { RuntimeError, ValueError } from "../../errors.ts";
import { releasesPath, runtimePaths } from "../../paths.ts";
import { requireClosed } from "../account/permissions.ts";
import type { ReleaseAnchors } from "../runtime/anchor.ts";
import { floorOf, withEnded } from "../runtime/floor.ts";
import { keepReleases, NO_RELEASES, type ReleaseRecord, readReleases } from "../runtime/releases.ts";
import { requirePlatform } from "../runtime/signed.ts";
import type { SignedRelease } from "./manifest.ts";

/** What was seen of releases. @throws RuntimeError where the record is damaged, OSError */
export function seenReleases(home: string): ReleaseRecord {
  return readReleases(home) ?? NO_RELEASES;
}

/**
 * The lowest version that may be installed: the highest that a release of the keys in force has named. Undefined where
 * none has.
 */
export function lowestVersion(record: ReleaseRecord, { keys }: ReleaseAnchors): string | undefined {
  const named = keys.flatMap(({ id }) => (record.ended.includes(id) ? [] : (record.floors.get(id) ?? [])));
  return named.sort(Bun.semver.order).at(-1);
}

/** The record with what a release says: its floor, and once it is installed the keys that it ends. */
export function withRelease(
  record: ReleaseRecord,
  { manifest, key }: SignedRelease,
  anchors: ReleaseAnchors,
  isInstalled = false,
): ReleaseRecord {
  if (record.ended.includes(key.id)) return record;
  const before = record.floors.get(key.id);
  const isHigher = before === undefined || Bun.semver.order(manifest.floor, before) > 0;
  const floors = isHigher ? new Map([...record.floors, [key.id, manifest.floor]]) : record.floors;
  const seen = { ...record, floors };
  return isInstalled ? withEnded(seen, manifest.ends, anchors) : seen;
}

/**
 * Refuses a release that must not be installed.
 * @param isNamed whether a person has named its version, which may then be older than what was here
 * @throws RuntimeError where its key has ended or it is too old; ValueError for an older one that was not named
 */
export function requireAllowed(
  { manifest, key }: SignedRelease,
  record: ReleaseRecord,
  anchors: ReleaseAnchors,
  isNamed: boolean,
): void {
  const { version, release, ends } = manifest;
  requireInForce(version, key.id, record);
  requireFloor(version, record, anchors);
  const newest = floorOf(record, anchors, ends);
  if (isNamed || newest === undefined) return;
  // Both: a maker of releases may have given a prerelease the number of its final version.
  if (release >= newest.release && Bun.semver.order(version, newest.version) >= 0) return;
  const what =
    newest.from === "svc"
      ? `this svc (${newest.version})`
      : `${newest.version}, whose runtime was installed on this machine before`;
  throw new ValueError(
    `the newest release there is ${version}, which is older than ${what}: ` +
      `'svc upgrade --version ${version}' goes back to it`,
  );
}

/** @throws RuntimeError where the release key of a version has ended */
export function requireInForce(version: string, keyId: string, record: ReleaseRecord): void {
  if (record.ended.includes(keyId))
    throw new RuntimeError(`svc ${version} is signed by a release key that has ended: choose a newer version`);
}

/** @throws RuntimeError where a version is below the lowest one */
export function requireFloor(version: string, record: ReleaseRecord, anchors: ReleaseAnchors): void {
  const lowest = lowestVersion(record, anchors);
  if (lowest === undefined || Bun.semver.order(version, lowest) >= 0) return;
  throw new RuntimeError(
    `svc ${version} is too old: ${lowest} is the lowest version that may be installed here, as a newer release says; ` +
      "choose a version from there on",
  );
}

/**
 * Changes the record, under the lock of installs.
 * @throws OSError; PermissionError where others can write to SVC_HOME
 */
export async function keepSeen(home: string, change: (record: ReleaseRecord) => ReleaseRecord): Promise<void> {
  const folder = dirname(runtimePaths(home, requirePlatform()).dir);
  makeDirectory(folder);
  requireClosed(home, [folder, releasesPath(home)]);
  await withLock(join(folder, ".lock"), () => keepReleases(home, change(seenReleases(home))));
}
