/**
 * The record of releases, SVC_HOME/releases.json: the highest release seen of each key, the keys that have ended, the
 * older release that was allowed, and the lowest version that svc itself may go back to. It lies outside of the install, so that neither removing the install nor putting
 * another in its place makes an older release acceptable. What follows from it is in floor.ts.
 *
 * It is written under the lock of installs, and only about manifests whose signature was verified.
 */
import { accessSync, constants, lstatSync, rmdirSync } from "node:fs";
import { isObject } from "../../checks/kinds.ts";
import { parseStrictJson } from "../../checks/strict-json.ts";
import { diskError, readCapped, writeDurable } from "../../durable.ts";
import { RuntimeError, ValueError } from "../../errors.ts";
import { RELEASES_BYTES_MAX } from "../../limits.ts";
import { releasesPath } from "../../paths.ts";
import { removeLeftovers } from "../account/leftovers.ts";
import { KEY_ID, VERSION } from "./bundle-manifest.ts";

/** A version and its release number. */
export interface Release {
  version: string;
  release: number;
}

/** What the record holds. */
export interface ReleaseRecord {
  /** The highest release seen, by the id of the key that signed it. */
  readonly keys: ReadonlyMap<string, Release>;
  /** Ids of keys that ended with an installed release. */
  readonly ended: readonly string[];
  /** The lowest version of svc that may be installed, by the id of the key that signed the release which says so. */
  readonly floors: ReadonlyMap<string, string>;
  /** The manifest that `--allow-downgrade` installed below the highest release. */
  readonly allowed?: Allowed;
}

/** Exactly one manifest: its release, and SHA-256 of its bytes in hex. */
export interface Allowed {
  readonly release: number;
  readonly manifest_sha256: string;
}

/** A record in which nothing was seen. */
export const NO_RELEASES: ReleaseRecord = { keys: new Map(), ended: [], floors: new Map() };

const FORMAT = 1;

/**
 * The record; undefined where there is none. Unknown fields are ignored.
 * @throws RuntimeError ("runtime_invalid") where it is damaged or may not be read; OSError
 */
export function readReleases(home: string): ReleaseRecord | undefined {
  try {
    const bytes = readCapped(releasesPath(home), RELEASES_BYTES_MAX, { noFollow: true });
    return bytes && parse(parseStrictJson(bytes));
  } catch (error) {
    if (!(error instanceof ValueError) && !isClosed(releasesPath(home))) throw error;
    throw new RuntimeError(
      `releases.json, the record of releases, is damaged (${(error as Error).message}): ` +
        "'svc login' or 'svc runtime install' writes it again",
      "runtime_invalid",
    );
  }
}

/** Whether this user may not read a file, as after a `sudo svc`, which leaves it to root. Replacing it is allowed. */
function isClosed(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES";
  }
}

/** Whether the file says this, or nothing has to be said. A damaged one does not. @throws OSError */
export function isKept(home: string, record: ReleaseRecord): boolean {
  try {
    return textOf(readReleases(home) ?? NO_RELEASES) === textOf(record);
  } catch (error) {
    if (error instanceof RuntimeError) return false;
    throw error;
  }
}

/**
 * Writes the record, durably and mode 0600, where the file does not say it already, and removes what killed processes
 * left of writing it. The caller holds the lock of installs. @throws OSError
 */
export function keepReleases(home: string, record: ReleaseRecord): void {
  const path = releasesPath(home);
  removeLeftovers([path]);
  if (isKept(home, record)) return;
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) removeFolder(path);
  writeDurable(path, textOf(record));
}

/** A folder in the file's place, as a container leaves one for a file that it was to mount. @throws OSError */
function removeFolder(path: string): void {
  try {
    rmdirSync(path);
  } catch (error) {
    throw diskError(error, "remove", path);
  }
}

function textOf({ keys, ended, allowed, floors }: ReleaseRecord): string {
  const lowest = floors.size > 0 ? Object.fromEntries([...floors].sort()) : undefined;
  const value = {
    format: FORMAT,
    keys: Object.fromEntries([...keys].sort()),
    ended: [...ended].sort(),
    allowed,
    floors: lowest,
  };
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** @throws ValueError for anything but a record, without any of its text */
function parse(value: unknown): ReleaseRecord {
  const fields = object(value);
  if (fields.format !== FORMAT) throw new ValueError("its format is another one");
  const keys = Object.entries(object(fields.keys)).map(([id, entry]): [string, Release] => {
    const { release, version } = object(entry);
    return [text(id, KEY_ID), { release: count(release), version: text(version, /^[\w.+-]{1,100}$/) }];
  });
  const floors = new Map(
    Object.entries(object(fields.floors ?? {})).map(([id, version]) => [text(id, KEY_ID), text(version, VERSION)]),
  );
  if (!Array.isArray(fields.ended)) throw malformed();
  const ended = fields.ended.map((id) => text(id, KEY_ID));
  if (fields.allowed === undefined) return { keys: new Map(keys), ended, floors };
  const { release, manifest_sha256 } = object(fields.allowed);
  const allowed = { release: count(release), manifest_sha256: text(manifest_sha256, /^[0-9a-f]{64}$/) };
  return { keys: new Map(keys), ended, floors, allowed };
}

function object(value: unknown): Record<string, unknown> {
  if (!isObject(value)) throw malformed();
  return value;
}

function text(value: unknown, shape: RegExp): string {
  if (typeof value !== "string" || !shape.test(value)) throw malformed();
  return value;
}

function count(value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 1) throw malformed();
  return value as number;
}

function malformed(): ValueError {
  return new ValueError("a field is malformed");
}
