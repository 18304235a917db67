/**
 * The manifest of a signed bundle lists every artifact with its size and hash; no other file is ever written or loaded.
 * Parse it only after its signature was verified: the parser is strict, but the order is the protection.
 */
import { RuntimeError } from "../errors.ts";
import { BUNDLE_BYTES_MAX, RUNTIME_ARTIFACTS_MAX } from "../limits.ts";
import { libraryExtension, PLATFORM_TAGS, type PlatformTag } from "../paths.ts";

/** The manifest's format; other numbers are for other versions of svc. */
export const MANIFEST_FORMAT = 1;

/** `kernel` and `runtime` are the two libraries, `pysite` is a file of the Python client. */
export type ArtifactRole = "kernel" | "runtime" | "pysite";

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
  artifacts: Artifact[];
}

/** The fixed file name of each library on a platform. */
export function libraryName(role: "kernel" | "runtime", tag: PlatformTag): string {
  return `${role === "kernel" ? "libame_kernel" : "libty_runtime"}.${libraryExtension(tag)}`;
}

/**
 * Parses a manifest whose signature was verified.
 * @throws RuntimeError naming the first invalid field
 */
export function parseManifest(bytes: Uint8Array): RuntimeManifest {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw wrong("it is not JSON");
  }
  const fields = exactly(value, ["format_version", "version", "release", "platform", "created", "artifacts"], "it");
  if (fields.format_version !== MANIFEST_FORMAT) {
    throw wrong(`format_version is ${JSON.stringify(fields.format_version)}; this svc reads ${MANIFEST_FORMAT}`);
  }
  const version = text(fields.version, /^\d{1,6}\.\d{1,6}\.\d{1,6}(?:[-+][0-9A-Za-z.+-]{1,64})?$/, "version");
  const release = count(fields.release, 1, Number.MAX_SAFE_INTEGER, "release");
  const created = text(fields.created, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z$/, "created");
  const platform = PLATFORM_TAGS.find((tag) => tag === fields.platform);
  if (!platform) throw wrong("platform is unknown");
  return {
    format_version: MANIFEST_FORMAT,
    version,
    release,
    platform,
    created,
    artifacts: list(fields.artifacts, platform),
  };
}

/** The artifact of a library. Every parsed manifest has both. */
export function libraryArtifact(manifest: RuntimeManifest, role: "kernel" | "runtime"): Artifact {
  return manifest.artifacts.find((artifact) => artifact.role === role)!;
}

/** SHA-256 in lower-case hex. */
export function sha256(bytes: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}

function list(value: unknown, platform: PlatformTag): Artifact[] {
  if (!Array.isArray(value) || value.length > RUNTIME_ARTIFACTS_MAX) throw wrong("artifacts is no list, or too long");
  const artifacts = value.map((entry, index) => artifact(entry, platform, `artifacts[${index}]`));
  // Compared without case: on macOS two names that differ in case are one file.
  if (new Set(artifacts.map(({ name }) => name.toLowerCase())).size !== artifacts.length)
    throw wrong("a name stands twice");
  for (const role of ["kernel", "runtime"] as const) {
    if (artifacts.filter((entry) => entry.role === role).length !== 1)
      throw wrong(`it names no ${role} library, or two`);
  }
  if (artifacts.reduce((sum, { size_bytes }) => sum + size_bytes, 0) > BUNDLE_BYTES_MAX) {
    throw wrong(`its artifacts have more than ${BUNDLE_BYTES_MAX} bytes`);
  }
  return artifacts;
}

function artifact(value: unknown, platform: PlatformTag, where: string): Artifact {
  const fields = exactly(value, ["name", "sha256", "size_bytes", "role"], where);
  const role = (["kernel", "runtime", "pysite"] as const).find((known) => known === fields.role);
  if (!role) throw wrong(`${where}.role is unknown`);
  const name = text(fields.name, role === "pysite" ? PYSITE_NAME : /^[^/]+$/, `${where}.name`);
  if (role !== "pysite" && name !== libraryName(role, platform))
    throw wrong(`${where}.name is not the ${role} library's`);
  const sha256 = text(fields.sha256, /^[0-9a-f]{64}$/, `${where}.sha256`);
  return { name, sha256, size_bytes: count(fields.size_bytes, 0, BUNDLE_BYTES_MAX, `${where}.size_bytes`), role };
}

/** `pysite/` and up to eight components without a leading dot: no parent folder, nothing hidden. */
const PYSITE_NAME = /^(?=.{1,99}$)pysite(?:\/[A-Za-z0-9_][A-Za-z0-9_.-]*){1,8}$/;

function exactly(value: unknown, keys: string[], where: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(`${where} is no object`);
  const found = Object.keys(value);
  const stray = found.find((key) => !keys.includes(key));
  if (stray !== undefined) throw wrong(`${where} has an unknown field`);
  const missing = keys.find((key) => !found.includes(key));
  if (missing !== undefined) throw wrong(`${where} has no ${missing}`);
  return value as Record<string, unknown>;
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
