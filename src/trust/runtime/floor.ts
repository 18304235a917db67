/**
 * Which releases are too old. The floor is the larger of the executable's own release and the highest that was ever
 * seen here (releases.ts); it holds at installs and at loads, so that neither a packages server nor a copied folder
 * brings back a release whose faults are known.
 *
 * Only keys that the executable knows count: an install signed by another key is replaced without further questions,
 * and planting such an install does not lower the floor. Keys that have ended do not count either: the thief of one
 * could have signed the highest number there is.
 */
import { buildInfo } from "../../build-info.ts";
import { RuntimeError, ValueError } from "../../errors.ts";
import { builtInAnchors, type ReleaseAnchors } from "./anchor.ts";
import { sha256 } from "./bundle-manifest.ts";
import { type Allowed, NO_RELEASES, type Release, type ReleaseRecord, readReleases } from "./releases.ts";
import type { SignedManifest } from "./signed.ts";

/** The least release that is taken, and whether it is the executable's own or one that was seen here. */
export interface Floor extends Release {
  from: "svc" | "record";
}

/**
 * The floor under the keys in force; undefined where nothing was seen of them. The executable's own release counts with
 * its own keys only: releases of another key have numbers of their own.
 * @param ends ids of keys that end with the manifest in question
 */
export function floorOf(
  record: ReleaseRecord,
  anchors: ReleaseAnchors,
  ends: readonly string[] = [],
): Floor | undefined {
  let floor: Floor | undefined = anchors.override ? undefined : { ...ownRelease(), from: "svc" };
  for (const { id } of anchors.keys) {
    const seen = record.keys.get(id);
    if (seen === undefined || record.ended.includes(id) || ends.includes(id)) continue;
    if (floor === undefined || seen.release > floor.release) floor = { ...seen, from: "record" };
  }
  return floor;
}

/** The executable's own release. */
function ownRelease(): Release {
  const { version, release } = buildInfo();
  return { version, release };
}

/** Why the installed runtime is not loaded; undefined where it may be. One sentence with the remedy. */
export function loadRefusal(signed: SignedManifest, record: ReleaseRecord): RuntimeError | undefined {
  const { version, release, ends } = signed.manifest;
  const refused = (why: string) =>
    new RuntimeError(
      `the installed native runtime ${version} (release ${release}) ${why}: 'svc login' or 'svc runtime install' replaces it`,
      "runtime_invalid",
    );
  if (record.ended.includes(signed.key.id)) return refused("is signed by a release key that has ended");
  const floor = floorOf(record, signed.anchors, ends);
  if (!floor || release >= floor.release || isAllowed(signed, record.allowed)) return undefined;
  return refused(`is older than ${named(floor)}`);
}

/**
 * Whether a manifest to be installed is below the floor and allowed all the same.
 * @param present  the install, where it verified
 * @param allow whether the caller allows any release; the one that was allowed before needs no new permission
 * @throws ValueError where it is below the floor and not allowed; RuntimeError where its key has ended, always
 */
export function requireAcceptable(
  signed: SignedManifest,
  present: SignedManifest | undefined,
  record: ReleaseRecord,
  allow: boolean,
): boolean {
  const { version, release, ends } = signed.manifest;
  const bundle = `release ${release} (${version})`;
  if (record.ended.includes(signed.key.id))
    throw new RuntimeError(`${bundle} is signed by a release key that has ended: get a newer svc, or a newer bundle`);
  const floor = floorOf(record, signed.anchors, ends);
  if (!floor || release >= floor.release) return false;
  if (allow || isAllowed(signed, record.allowed)) return true;
  const newer =
    present?.manifest.release === floor.release ? `the installed ${floor.release} (${floor.version})` : named(floor);
  throw new ValueError(`${bundle} is older than ${newer}; 'svc runtime install --allow-downgrade' installs it anyway`);
}

function named({ version, release, from }: Floor): string {
  return from === "svc"
    ? `this svc (release ${release})`
    : `${version} (release ${release}), which was installed before`;
}

function isAllowed({ manifest, bytes }: SignedManifest, allowed: Allowed | undefined): boolean {
  return allowed?.release === manifest.release && allowed.manifest_sha256 === sha256(bytes);
}

/**
 * The record after a manifest was seen in the install's place: its key's highest release, and the keys that it ends.
 * Nothing for one whose key has ended.
 */
export function withSeen(record: ReleaseRecord, { manifest, key, anchors }: SignedManifest): ReleaseRecord {
  if (record.ended.includes(key.id)) return record;
  const seen = record.keys.get(key.id);
  const keys = new Map(record.keys);
  const { version, release } = manifest;
  if (seen === undefined || release > seen.release) keys.set(key.id, { version, release });
  return withEnded({ ...record, keys }, manifest.ends, anchors);
}

/**
 * The record with the keys that a manifest ends. A key of the environment ends no built-in one: those are not its owner's
 * to end.
 */
export function withEnded(record: ReleaseRecord, ends: readonly string[], { override }: ReleaseAnchors): ReleaseRecord {
  const kept = ends.length > 0 && override ? builtInAnchors().keys.map(({ id }) => id) : [];
  const ended = ends.filter((id) => !kept.includes(id));
  return { ...record, ended: [...new Set([...record.ended, ...ended])] };
}

/** The record after an install, of which `allowed` says whether it was below the floor. */
export function afterInstall(record: ReleaseRecord, signed: SignedManifest, allowed: boolean): ReleaseRecord {
  const { allowed: _, ...seen } = withSeen(record, signed);
  return allowed ? { ...seen, allowed: allowance(signed) } : seen;
}

/** A permission for exactly this manifest. */
export function allowance({ manifest, bytes }: SignedManifest): Allowed {
  return { release: manifest.release, manifest_sha256: sha256(bytes) };
}

/**
 * The record that an install goes by: with the present install, where that verified, as it may have been put there by
 * other means. A damaged record is rebuilt from that install and the executable's own release.
 * @throws OSError
 */
export function recordForInstall(
  home: string,
  present: SignedManifest | undefined,
  anchors: ReleaseAnchors,
): ReleaseRecord {
  let record: ReleaseRecord;
  try {
    record = readReleases(home) ?? NO_RELEASES;
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error;
    const current = anchors.keys[0];
    const own = !anchors.override && current;
    record = own ? { ...NO_RELEASES, keys: new Map([[own.id, ownRelease()]]) } : NO_RELEASES;
  }
  return present ? withSeen(record, present) : record;
}

/** What is known of a verified install's release, for reports. */
export interface ReleaseState {
  /** The least release that is loaded; null where none was seen of the keys in force. */
  floor: Floor | null;
  /** Why a load refuses the install; null where it does not. */
  refusal: string | null;
  /** The key that signed it: which of those in force, and whether it has ended. */
  key: { id: string; role: "current" | "next" | "given"; ended: boolean };
  /** The end of the time in which a packages server may offer it; past or not, it is loaded. */
  expires: string;
  expired: boolean;
}

/** The state of a verified install, by a record. */
export function releaseState(signed: SignedManifest, record: ReleaseRecord): ReleaseState {
  const { manifest, key, anchors } = signed;
  const builtIn = key.id === anchors.keys[0]?.id ? "current" : "next";
  return {
    floor: floorOf(record, anchors, manifest.ends) ?? null,
    refusal: loadRefusal(signed, record)?.message ?? null,
    key: { id: key.id, role: anchors.override ? "given" : builtIn, ended: record.ended.includes(key.id) },
    expires: manifest.expires,
    expired: Date.now() >= Date.parse(manifest.expires),
  };
}
