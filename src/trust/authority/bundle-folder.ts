/** What of a folder of bundles can be offered, and which files in it are not bundles: read when a server starts. */
import { type FileHandle, lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { parseStrictJson } from "../../checks/strict-json.ts";
import { OSError } from "../../errors.ts";
import { BUNDLE_BYTES_MAX, RUNTIME_MANIFEST_BYTES_MAX } from "../../limits.ts";
import { PLATFORM_TAGS } from "../../paths.ts";
import { BundleReader } from "../runtime/bundle.ts";

export interface BundleFolder {
  /** As `1.2.3 for linux-arm64`. */
  readonly offered: readonly string[];
  /** Why a file is not offered, or no machine would install it; a sentence each. */
  readonly faults: readonly string[];
}

/** Versions that are looked at. */
const VERSIONS_MAX = 1000;

/**
 * Looks at every `<version>/<tag>.bundle` of a folder. Signatures are the machines' business: which RELEASE keys they
 * trust is not known here.
 * @throws OSError where it is not a folder that can be read
 */
export async function examineBundles(dir: string): Promise<BundleFolder> {
  const offered: string[] = [];
  const faults: string[] = [];
  for (const version of (await namesIn(dir)).slice(0, VERSIONS_MAX)) {
    if (!(await lstat(join(dir, version))).isDirectory()) {
      faults.push(`'${version}' is not in a folder of its version`);
      continue;
    }
    for (const name of await namesIn(join(dir, version))) {
      const fault = await faultOf(join(dir, version, name), version, name);
      if (fault === undefined) offered.push(`${version} for ${name.replace(/\.bundle$/, "")}`);
      else faults.push(`'${version}/${name}' ${fault}`);
    }
  }
  return { offered, faults };
}

async function namesIn(dir: string): Promise<string[]> {
  try {
    return (await readdir(dir)).filter((name) => !name.startsWith(".")).sort();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OSError(`the folder of bundles '${dir}' cannot be read (${code}): it holds <version>/<tag>.bundle`);
  }
}

async function faultOf(path: string, version: string, name: string): Promise<string | undefined> {
  const tag = PLATFORM_TAGS.find((tag) => name === `${tag}.bundle`);
  if (tag === undefined) return `is named for no platform: they are ${PLATFORM_TAGS.join(", ")}`;
  const found = await lstat(path);
  if (!found.isFile()) return "is not a regular file, and is not served";
  if (found.size > BUNDLE_BYTES_MAX) return `has more than ${BUNDLE_BYTES_MAX} bytes`;
  const manifest = await manifestOf(path);
  if (manifest === undefined) return "is not a bundle";
  const is = `${String(manifest.version)} for ${String(manifest.platform)}`;
  return is === `${version} for ${tag}` ? undefined : `is the bundle of ${is.slice(0, 100)}`;
}

/** The manifest, not verified; undefined where there is none. */
async function manifestOf(path: string): Promise<Record<string, unknown> | undefined> {
  let file: FileHandle | undefined;
  let reader: BundleReader | undefined;
  try {
    file = await open(path);
    // Manifest and signature come first: the rest, some megabytes, need not be read.
    const beginning = new Uint8Array(2 * RUNTIME_MANIFEST_BYTES_MAX);
    const { bytesRead } = await file.read(beginning, 0, beginning.length, 0);
    reader = new BundleReader(beginning.subarray(0, bytesRead));
    return parseStrictJson((await reader.head()).manifest) as Record<string, unknown>;
  } catch {
    return undefined;
  } finally {
    reader?.close();
    await file?.close();
  }
}
