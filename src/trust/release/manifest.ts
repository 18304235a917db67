/**
 * The manifest of a release: the executable of each platform with its size and hash, signed by a RELEASE key. The same
 * keys sign the manifest of the native runtime, so that `purpose` is part of the signed bytes: neither kind is ever
 * taken for the other.
 *
 * An unknown or missing member is refused: a later svc that needs another one raises `format_version`.
 */
import * as z from "zod/mini";
import { describe, isObject, listed, member } from "../../checks/kinds.ts";
import { parseStrictJson } from "../../checks/strict-json.ts";
import { RuntimeError, ValueError } from "../../errors.ts";
import { BUNDLE_BYTES_MAX, RELEASE_MANIFEST_BYTES_MAX } from "../../limits.ts";
import { PLATFORM_TAGS, type PlatformTag } from "../../paths.ts";
import { type ReleaseAnchors, type ReleaseKey, requireSignature } from "../runtime/anchor.ts";
import { KEY_ID, SHA256, VERSION } from "../runtime/bundle-manifest.ts";

/** The manifest and its signature among the files of a release. */
export const RELEASE_MANIFEST = "manifest.json";
export const RELEASE_SIGNATURE = "manifest.sig";

/** The format that is written and read. */
export const RELEASE_FORMAT = 1;
/** What the signature is for. */
export const RELEASE_PURPOSE = "svc-release";
/** Keys that one release can end. */
const ENDS_MAX = 16;

/** One file of a release. */
export interface ReleaseFile {
  name: string;
  sha256: string;
  size_bytes: number;
}

/** The files of a platform: its executable, and the same bytes compressed. */
export interface PlatformFiles {
  executable: ReleaseFile;
  gzip: ReleaseFile;
  zstd: ReleaseFile;
}

/** The contents of manifest.json. */
export interface ReleaseManifest {
  format_version: typeof RELEASE_FORMAT;
  purpose: typeof RELEASE_PURPOSE;
  version: string;
  /** Grows with every release; the number of the runtime in its executables. */
  release: number;
  /** UTC, ISO 8601. */
  created: string;
  /** Ids of keys that end with this release. */
  ends: string[];
  /** The lowest version to which an svc of this release may go back. */
  floor: string;
  /** The id of the key that signed it (`keyId` in ../runtime/anchor.ts). */
  key_id: string;
  /** At least one. */
  platforms: Partial<Record<PlatformTag, PlatformFiles>>;
}

declare const verified: unique symbol;

/** A manifest with a verified signature; only `verifyRelease` makes one. */
export interface SignedRelease {
  readonly [verified]: "signature";
  readonly manifest: ReleaseManifest;
  /** The key that verified it, of those in force. */
  readonly key: ReleaseKey;
}

/** The names of a platform's files in each release. */
export function releaseNames(tag: PlatformTag): Record<keyof PlatformFiles, string> {
  const executable = `svc-${tag}`;
  return { executable, gzip: `${executable}.gz`, zstd: `${executable}.zst` };
}

/**
 * Verifies a manifest's signature, then parses it. It has to name the key that signed it.
 * @throws RuntimeError where the signature does not fit, the manifest cannot be used, or another key is named
 *   ("runtime_key_unknown"); ValueError for an anchor that is not a key
 */
export async function verifyRelease(
  bytes: Uint8Array,
  signature: Uint8Array,
  anchors: ReleaseAnchors,
): Promise<SignedRelease> {
  if (bytes.length > RELEASE_MANIFEST_BYTES_MAX) throw wrong(`it has more than ${RELEASE_MANIFEST_BYTES_MAX} bytes`);
  const key = await requireSignature(bytes, signature, anchors, "manifest").catch((error) => {
    if (!(error instanceof RuntimeError)) throw error;
    const isUnknown = error.reason === "runtime_key_unknown";
    const remedy = isUnknown
      ? anchors.override
        ? `give the key of that release in ${anchors.override}`
        : BY_HAND
      : AGAIN;
    throw new RuntimeError(`the release is not verified: ${error.message}; ${remedy}`, error.reason);
  });
  const manifest = parseReleaseManifest(bytes);
  const { key_id } = manifest;
  if (key_id !== key.id) throw wrong(`key_id is ${key_id}, and the key that signed it is ${key.id}`);
  return { manifest, key } as SignedRelease;
}

/** The files of a platform. @throws RuntimeError where the release has none for it */
export function filesFor({ manifest }: SignedRelease, tag: PlatformTag): PlatformFiles {
  const files = manifest.platforms[tag];
  if (files) return files;
  const others = listed(Object.keys(manifest.platforms), "and");
  throw new RuntimeError(
    `release ${manifest.version} has no executable for ${tag}, only for ${others}: choose another version`,
  );
}

/**
 * Parses a manifest whose signature was verified.
 * @throws RuntimeError naming the first invalid field
 */
export function parseReleaseManifest(bytes: Uint8Array): ReleaseManifest {
  const value = parseObject(bytes);
  const { purpose, format_version } = value;
  if (purpose !== RELEASE_PURPOSE)
    throw wrong(`its purpose is ${describe(purpose)}, and that of a release is '${RELEASE_PURPOSE}'`);
  if (format_version !== RELEASE_FORMAT) {
    const found = `format_version is ${describe(format_version)}; this svc reads ${RELEASE_FORMAT}`;
    throw wrong(found, "install a newer svc by hand");
  }
  const parsed = MANIFEST.safeParse(value);
  if (!parsed.success) throw wrong(faultOf(value, parsed.error.issues[0]!));
  const manifest = parsed.data as ReleaseManifest;
  // A release that ended its own key would be refused as soon as it is installed.
  if (manifest.ends.includes(manifest.key_id)) throw wrong("it ends the key that signed it");
  if (Bun.semver.order(manifest.floor, manifest.version) > 0)
    throw wrong(`floor is ${manifest.floor}, which is higher than its version ${manifest.version}`);
  if (Object.keys(manifest.platforms).length === 0) throw wrong("platforms is empty");
  return manifest;
}

const KEY = z.string().check(z.regex(KEY_ID));
const NUMBER = z.string().check(z.regex(VERSION));

const MANIFEST = z.strictObject({
  format_version: z.literal(RELEASE_FORMAT),
  purpose: z.literal(RELEASE_PURPOSE),
  version: NUMBER,
  release: z.int().check(z.minimum(1)),
  created: z.iso.datetime(),
  ends: z.array(KEY).check(z.maxLength(ENDS_MAX)),
  floor: NUMBER,
  key_id: KEY,
  platforms: z.strictObject(Object.fromEntries(PLATFORM_TAGS.map((tag) => [tag, z.optional(filesOf(tag))]))),
});

function filesOf(tag: PlatformTag) {
  const { executable, gzip, zstd } = releaseNames(tag);
  return z.strictObject({ executable: fileOf(executable), gzip: fileOf(gzip), zstd: fileOf(zstd) });
}

function fileOf(name: string) {
  const size = z.int().check(z.minimum(1), z.maximum(BUNDLE_BYTES_MAX));
  return z.strictObject({ name: z.literal(name), sha256: z.string().check(z.regex(SHA256)), size_bytes: size });
}

/** What is wrong with a value, in words: the path of the member, and its value. */
function faultOf(value: unknown, issue: z.core.$ZodIssue): string {
  let [where, at] = ["", value];
  for (const key of issue.path) {
    where = typeof key === "number" ? `${where}[${key}]` : member(where, String(key)).replace(/^\./, "");
    at = (at as Record<PropertyKey, unknown> | undefined)?.[key];
  }
  if (issue.code === "unrecognized_keys") return `${member(where || "it", issue.keys[0]!)} is unknown`;
  return at === undefined ? `${where} is missing` : `${where} is ${describe(at)}, which it cannot be`;
}

function parseObject(bytes: Uint8Array): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseStrictJson(bytes);
  } catch (error) {
    throw error instanceof ValueError ? wrong(error.message) : error;
  }
  if (!isObject(value)) throw wrong("it is not an object");
  return value;
}

const AGAIN = "download the release again";
/** A build of a checkout has development keys, which no release is signed by. */
const BY_HAND = "install a newer svc by hand, or if you built this svc, which then has keys of its own, build it again";

function wrong(what: string, remedy = AGAIN): RuntimeError {
  return new RuntimeError(`${RELEASE_MANIFEST} of the release cannot be used: ${what}; ${remedy}`);
}
