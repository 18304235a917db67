/**
 * The manifest of a signed bundle lists every artifact with its size and hash; no other file is ever written or loaded.
 * Parse it only after its signature was verified: the parser is strict, but the order is the protection.
 */
import { describe, isObject } from "../../checks/kinds.ts";
import { parseStrictJson } from "../../checks/strict-json.ts";
import { attempt, RuntimeError } from "../../errors.ts";
import { BUNDLE_BYTES_MAX, RUNTIME_ARTIFACTS_MAX } from "../../limits.ts";
import { libraryExtension, PLATFORM_TAGS, type PlatformTag } from "../../paths.ts";

/** The manifest's format; other numbers are for other versions of svc. */
export const MANIFEST_FORMAT = 3;
/** Those that are read. Format 2 is that of releases without a sentence encoder; the fields are the same. */
const FORMATS: readonly unknown[] = [2, MANIFEST_FORMAT];

const LIBRARY_ROLES = ["kernel", "runtime"] as const;
const ROLES = [...LIBRARY_ROLES, "model", "pysite"] as const;
export type LibraryRole = (typeof LIBRARY_ROLES)[number];

/** `kernel` and `runtime` are the two libraries, `model` the sentence encoder's weights, `pysite` a file of the Python client. */
export type ArtifactRole = (typeof ROLES)[number];

/** The file name of the sentence encoder's weights, which are the same bytes on every platform. */
export const MODEL_NAME = "sentence-encoder.bin";

/** One file of the install. `name` is relative, with "/" between components. */
export interface Artifact {
  name: string;
  sha256: string;
  size_bytes: number;
  role: ArtifactRole;
}

/** The contents of telys_manifest.json. */
export interface RuntimeManifest {
  format_version: number;
  version: string;
  /** Grows with every release; an older one is installed only with `allowDowngrade`. */
  release: number;
  platform: PlatformTag;
  /** UTC, ISO 8601. */
  created: string;
  /** The same. A packages server must not offer it any more; what is installed stays. */
  expires: string;
  /** The id of the key that signed it (`keyId` in anchor.ts). */
  key_id: string;
  /** Ids of keys that end with this release: once it is installed, nothing that they signed is taken. */
  ends: string[];
  artifacts: Artifact[];
}

/** The form of a key's id: 128 bits of SHA-256 in lower-case hex. */
export const KEY_ID = /^[0-9a-f]{32}$/;
/** The form of a version. */
export const VERSION = /^\d{1,6}\.\d{1,6}\.\d{1,6}(?:[-+][0-9A-Za-z.+-]{1,64})?$/;
/** The form of a file's hash. */
export const SHA256 = /^[0-9a-f]{64}$/;

/** The fixed file name of each library on a platform. */
export function libraryName(role: LibraryRole, tag: PlatformTag): string {
  return `${role === "kernel" ? "libame_kernel" : "libty_runtime"}.${libraryExtension(tag)}`;
}

/**
 * The fields that must be there. Others, but for `ends` and `critical`, are ignored, so that a later release can add
 * what an earlier svc need not know; what it must know, it names in `critical`.
 */
const REQUIRED = [
  "format_version",
  "version",
  "release",
  "platform",
  "created",
  "expires",
  "key_id",
  "artifacts",
] as const;
const KNOWN: readonly string[] = [...REQUIRED, "ends", "critical"];

/**
 * Parses a manifest whose signature was verified.
 * @throws RuntimeError naming the first invalid field
 */
export function parseManifest(bytes: Uint8Array): RuntimeManifest {
  const fields = parseObject(bytes);
  const { format_version, purpose } = fields;
  if (purpose !== undefined) throw wrong(`its purpose is ${describe(purpose)}, not a native runtime`);
  if (!FORMATS.includes(format_version)) {
    throw wrong(`format_version is ${JSON.stringify(format_version)}; this svc reads ${FORMATS.join(" and ")}`);
  }
  refuseCritical(fields.critical === undefined ? [] : fields.critical);
  requireFields(fields, REQUIRED, "it");
  const version = text(fields.version, VERSION, "version");
  const release = count(fields.release, 1, Number.MAX_SAFE_INTEGER, "release");
  const created = time(fields.created, "created");
  const expires = time(fields.expires, "expires");
  const key_id = text(fields.key_id, KEY_ID, "key_id");
  const ends = texts(fields.ends === undefined ? [] : fields.ends, KEY_ID, "ends");
  // A release that ended its own key would be refused as soon as it is installed.
  if (ends.includes(key_id)) throw wrong("it ends the key that signed it");
  const platform = PLATFORM_TAGS.find((tag) => tag === fields.platform);
  if (!platform) throw wrong("platform is unknown");
  const artifacts = list(fields.artifacts, platform);
  return {
    format_version: Number(format_version),
    version,
    release,
    platform,
    created,
    expires,
    key_id,
    ends,
    artifacts,
  };
}

/**
 * The `key_id` of a manifest whose signature fits no known key: only for the sentence that says so. Undefined where it
 * has none that could be one.
 */
export function claimedKeyId(bytes: Uint8Array): string | undefined {
  return attempt(() => text(parseObject(bytes).key_id, KEY_ID, "key_id"));
}

/** The artifact of a library. Every parsed manifest has both. */
export function libraryArtifact(manifest: RuntimeManifest, role: LibraryRole): Artifact {
  return manifest.artifacts.find((artifact) => artifact.role === role)!;
}

/** Whether a role is that of a library, which answers with an ABI version. */
export function isLibrary(role: ArtifactRole): role is LibraryRole {
  return (LIBRARY_ROLES as readonly string[]).includes(role);
}

/** SHA-256 in lower-case hex. */
export function sha256(bytes: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}

function list(value: unknown, platform: PlatformTag): Artifact[] {
  if (!Array.isArray(value) || value.length > RUNTIME_ARTIFACTS_MAX)
    throw wrong("artifacts is not a list, or too long");
  const artifacts = value.map((entry, index) => artifact(entry, platform, `artifacts[${index}]`));
  // Compared without case: on macOS two names that differ in case are one file.
  if (new Set(artifacts.map(({ name }) => name.toLowerCase())).size !== artifacts.length)
    throw wrong("a name stands twice");
  for (const role of LIBRARY_ROLES) {
    if (artifacts.filter((entry) => entry.role === role).length !== 1)
      throw wrong(`it names no ${role} library, or two`);
  }
  if (artifacts.reduce((sum, { size_bytes }) => sum + size_bytes, 0) > BUNDLE_BYTES_MAX) {
    throw wrong(`its artifacts have more than ${BUNDLE_BYTES_MAX} bytes`);
  }
  return artifacts;
}

const ARTIFACT_FIELDS = ["name", "sha256", "size_bytes", "role"] as const;

function artifact(value: unknown, platform: PlatformTag, where: string): Artifact {
  const fields = record(value, where);
  requireFields(fields, ARTIFACT_FIELDS, where);
  if (Object.keys(fields).length !== ARTIFACT_FIELDS.length) throw wrong(`${where} has an unknown field`);
  const role = ROLES.find((known) => known === fields.role);
  if (!role) throw wrong(`${where}.role is unknown`);
  const name = text(fields.name, role === "pysite" ? PYSITE_NAME : /^[^/]+$/, `${where}.name`);
  const fixed = isLibrary(role) ? libraryName(role, platform) : role === "model" ? MODEL_NAME : name;
  if (name !== fixed) throw wrong(`${where}.name is not ${fixed}`);
  const sha256 = text(fields.sha256, SHA256, `${where}.sha256`);
  return { name, sha256, size_bytes: count(fields.size_bytes, 0, BUNDLE_BYTES_MAX, `${where}.size_bytes`), role };
}

/** Entries of `ends` and of `critical`. */
const LIST_MAX = 16;

/** `pysite/` and up to eight components without a leading dot: no parent folder, nothing hidden. */
const PYSITE_NAME = /^(?=.{1,99}$)pysite(?:\/[A-Za-z0-9_][A-Za-z0-9_.-]*){1,8}$/;

function parseObject(bytes: Uint8Array): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseStrictJson(bytes);
  } catch (error) {
    throw wrong((error as Error).message);
  }
  return record(value, "it");
}

/** Refuses a field that a reader must understand and that this one does not know. */
function refuseCritical(value: unknown): void {
  const unknown = texts(value, /^[a-z0-9_]{1,64}$/, "critical").find((name) => !KNOWN.includes(name));
  if (unknown !== undefined) throw wrong(`it has '${unknown}', which this svc does not know: get a newer svc`);
}

function record(value: unknown, where: string): Record<string, unknown> {
  if (!isObject(value)) throw wrong(`${where} is not an object`);
  return value;
}

function requireFields(fields: Record<string, unknown>, keys: readonly string[], where: string): void {
  const missing = keys.find((key) => !Object.hasOwn(fields, key));
  if (missing !== undefined) throw wrong(`${where} has no ${missing}`);
}

/** A moment that exists: `Date` takes the 30th of February for the 2nd of March. */
function time(value: unknown, where: string): string {
  const found = text(value, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z$/, where);
  const moment = new Date(found);
  const exact = found.includes(".") ? found : found.replace("Z", ".000Z");
  if (Number.isNaN(moment.getTime()) || moment.toISOString() !== exact) throw wrong(`${where} is malformed`);
  return found;
}

function texts(value: unknown, shape: RegExp, where: string): string[] {
  if (!Array.isArray(value) || value.length > LIST_MAX) throw wrong(`${where} is not a list, or too long`);
  return value.map((entry) => text(entry, shape, where));
}

function text(value: unknown, shape: RegExp, where: string): string {
  if (typeof value !== "string" || !shape.test(value)) throw wrong(`${where} is malformed`);
  return value;
}

function count(value: unknown, min: number, max: number, where: string): number {
  if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max)
    throw wrong(`${where} is malformed`);
  return value as number;
}

function wrong(what: string): RuntimeError {
  return new RuntimeError(`telys_manifest.json cannot be used: ${what}`);
}
