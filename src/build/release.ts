/** Makes a signed bundle of libraries: the RELEASE key signs the exact bytes of the manifest. */
import { type KeyObject, sign } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { PlatformTag } from "../paths.ts";
import { keyId } from "../trust/runtime/anchor.ts";
import { type BundleEntry, MANIFEST_NAME, packBundle, SIGNATURE_NAME } from "../trust/runtime/bundle.ts";
import {
  type ArtifactRole,
  KEY_ID,
  libraryName,
  MANIFEST_FORMAT,
  MODEL_NAME,
  type RuntimeManifest,
  sha256,
} from "../trust/runtime/bundle-manifest.ts";
import { PYCACHE } from "../trust/runtime/python-path.ts";
import { publicPem } from "./release-keys.ts";
import { BuildError } from "./step.ts";

/** How long a packages server may offer a release, unless the build says otherwise. */
const OFFERED_YEARS = 2;

export interface BundleOptions {
  tag: PlatformTag;
  version: string;
  release: number;
  /** UTC, ISO 8601; see `createdTime`. */
  created: string;
  /** The end of the time in which a packages server may offer it, as `created`; default: two years after that. */
  expires?: string;
  /** Ids of keys that end with this release; not that of `key`. */
  ends?: readonly string[];
  /** Paths of the two libraries. */
  kernel: string;
  runtime: string;
  /** Path of the sentence encoder's weights; a bundle without them is good, and finds nothing by meaning. */
  model?: string | undefined;
  /** Folder of the Python client; skipped where it does not exist. */
  pysite?: string;
  key: KeyObject;
}

/** A signed bundle. The same inputs give the same bytes: PKCS#1 v1.5 signatures are deterministic. */
export function makeBundle(options: BundleOptions): Uint8Array {
  const { tag, version, release, created, key } = options;
  const id = keyId(publicPem(key));
  const ends = [...(options.ends ?? [])];
  const wrong = ends.find((other) => !KEY_ID.test(other) || other === id);
  if (wrong !== undefined) throw new BuildError(`--end-key ${wrong} is not the id of another release key`);
  const files: (BundleEntry & { role: ArtifactRole })[] = [
    { name: libraryName("kernel", tag), bytes: readFileSync(options.kernel), role: "kernel" },
    { name: libraryName("runtime", tag), bytes: readFileSync(options.runtime), role: "runtime" },
    ...(options.model ? [{ name: MODEL_NAME, bytes: readFileSync(options.model), role: "model" as const }] : []),
    ...pysiteFiles(options.pysite),
  ];
  const artifacts = files.map(({ name, bytes, role }) => ({
    name,
    sha256: sha256(bytes),
    size_bytes: bytes.length,
    role,
  }));
  const manifest: RuntimeManifest = {
    format_version: MANIFEST_FORMAT,
    version,
    release,
    platform: tag,
    created,
    expires: options.expires ?? yearsAfter(created),
    key_id: id,
    ends,
    artifacts,
  };
  const bytes = new TextEncoder().encode(`${JSON.stringify(manifest, null, 2)}\n`);
  return packBundle([
    { name: MANIFEST_NAME, bytes },
    { name: SIGNATURE_NAME, bytes: new Uint8Array(sign("sha256", bytes, key)) },
    ...files,
  ]);
}

/** What the numbers of prereleases begin with, below the number of the version that they lead to. */
const PRERELEASES: Record<string, number> = { alpha: -300, beta: -200, rc: -100 };
/** A patch above it would have the number of a prerelease of the next minor version. */
const PATCH_MAX = 699;

/**
 * `major*1e6 + minor*1e3 + patch`, which grows with every version. The 300 numbers before that of X.Y.0 are those of its
 * prereleases; before that of another version there is no room.
 * @throws BuildError where a version has no number of its own
 */
export function defaultRelease(version: string): number {
  const found = /^(\d+)\.(\d+)\.(\d+)(?:-(alpha|beta|rc)\.(\d{1,2}))?$/.exec(version) ?? [];
  const [major, minor, patch, count] = [found[1], found[2], found[3], found[5]].map(Number);
  const number = major! * 1_000_000 + minor! * 1_000 + patch!;
  const kind = found[4];
  if (minor! <= 999 && patch! <= PATCH_MAX) {
    if (kind === undefined) return number;
    if (patch === 0) return number + PRERELEASES[kind]! + count!;
  }
  throw new BuildError(
    `--version ${version} has no release number of its own: name one with --release, and a higher one for each later ` +
      `release, or use a version up to X.999.${PATCH_MAX}, or a prerelease of X.Y.0 such as 1.2.0-rc.1`,
  );
}

/** The bundle's creation time: SOURCE_DATE_EPOCH, else the time of the commit, else a constant; never the clock. */
export function createdTime(root: string, env: Record<string, string | undefined> = process.env): string {
  const seconds = Number(env.SOURCE_DATE_EPOCH || commitSeconds(root) || 0);
  if (!Number.isSafeInteger(seconds) || seconds < 0)
    throw new BuildError("SOURCE_DATE_EPOCH is not a number of seconds");
  return new Date(seconds * 1000).toISOString();
}

/** A date or a time of the command line, as `created` is written. @throws BuildError for another text */
export function expiryTime(text: string): string {
  const time = new Date(text);
  if (/^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?$/.test(text) && !Number.isNaN(time.getTime())) return time.toISOString();
  throw new BuildError("--expires must be a date in UTC, as 2030-12-31 or 2030-12-31T00:00:00Z");
}

/**
 * What the checkout is built from: the first 12 digits of its commit, with `-dirty` where a file differs or is new;
 * null where the folder is not a checkout of its own: a source archive may lie inside another project's.
 */
export function commitOf(root: string): string | null {
  const commit = headOf(root);
  if (commit === undefined) return null;
  // A status that fails is not a clean one.
  const isDirty = git(root, "status", "--porcelain", "--branch").split("\n").filter(Boolean).length !== 1;
  return `${commit.slice(0, 12)}${isDirty ? "-dirty" : ""}`;
}

function commitSeconds(root: string): string {
  return headOf(root) === undefined ? "" : git(root, "log", "-1", "--format=%ct").trim();
}

/** The commit of a folder that is the top of a checkout. */
function headOf(root: string): string | undefined {
  const [prefix, commit] = git(root, "rev-parse", "--show-prefix", "HEAD").split("\n");
  return prefix === "" && commit ? commit : undefined;
}

/** What git prints; nothing where it fails or is missing. It refreshes no index: another git may be at work. */
function git(root: string, ...words: string[]): string {
  try {
    const { success, stdout } = Bun.spawnSync(["git", "--no-optional-locks", ...words], {
      cwd: root,
      stderr: "ignore",
    });
    return success ? stdout.toString() : "";
  } catch {
    return "";
  }
}

function yearsAfter(created: string): string {
  const time = new Date(created);
  time.setUTCFullYear(time.getUTCFullYear() + OFFERED_YEARS);
  return time.toISOString();
}

/**
 * The Python client; in the place of each folder of bytecode an empty file, so that Python has none (python-path.ts).
 */
function pysiteFiles(folder: string | undefined): (BundleEntry & { role: ArtifactRole })[] {
  if (!folder || !existsSync(folder)) return [];
  const sources = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(py|pyi|typed)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  const blocked = [...new Set(sources.map((path) => dirname(path)))].map((path) => join(path, PYCACHE));
  return [...sources, ...blocked].sort().map((path) => ({
    name: `pysite/${relative(folder, path)}`,
    bytes: blocked.includes(path) ? new Uint8Array() : readFileSync(path),
    role: "pysite" as const,
  }));
}
