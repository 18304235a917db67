/** Files of a release: an executable and its compressed forms, and the list of hashes. */
import { chmodSync, copyFileSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PlatformTag } from "../../paths.ts";
import { type PlatformFiles, type ReleaseFile, releaseNames } from "../../trust/release/manifest.ts";
import { sha256 } from "../../trust/runtime/bundle-manifest.ts";
import { gzipped } from "./archives.ts";

/** zstd takes two minutes of one core. With level 9 the file is 8 % larger. */
const ZSTD = { level: 19 } as const;
/** Levels that take two seconds; the files are a third larger. */
const QUICK = { gzip: 1, zstd: { level: 1 } } as const;

/** Bytes in a megabyte of the limits. */
const MB = 1e6;
/** The size that a file may have, in megabytes: one that users download, and an executable. */
const SIZES_MAX = [
  [/\.(gz|mcpb|tgz)$/, 64],
  [/^svc-[^.]+$/, 126],
] as const;

/**
 * Puts a platform's executable into the folder of a release, and its compressed forms beside it. They hold no time and no
 * name, so that the same executable gives the same bytes.
 * @param isQuick compresses less, in seconds
 */
export async function packExecutable(
  folder: string,
  tag: PlatformTag,
  executable: string,
  isQuick = false,
): Promise<PlatformFiles> {
  const names = releaseNames(tag);
  copyFileSync(executable, join(folder, names.executable));
  chmodSync(join(folder, names.executable), 0o755);
  const bytes = readFileSync(executable);
  const zstd = Bun.zstdCompress(bytes, isQuick ? QUICK.zstd : ZSTD); // on a thread of its own
  const gzip = gzipped(bytes, isQuick ? QUICK.gzip : undefined);
  return {
    executable: fileOf(names.executable, bytes),
    gzip: put(folder, names.gzip, gzip),
    zstd: put(folder, names.zstd, await zstd),
  };
}

/** Writes a file of a release. */
export function put(folder: string, name: string, content: string | Uint8Array): ReleaseFile {
  const bytes = Buffer.from(content as Uint8Array);
  writeFileSync(join(folder, name), bytes);
  return fileOf(name, bytes);
}

function fileOf(name: string, bytes: Uint8Array): ReleaseFile {
  return { name, sha256: sha256(bytes), size_bytes: bytes.length };
}

/** The hash of every file in the folder, as `sha256sum -c` and `shasum -a 256 -c` read them. */
export function sumsOf(folder: string): string {
  const lines = readdirSync(folder)
    .sort()
    .map((name) => `${sha256(readFileSync(join(folder, name)))}  ${name}\n`);
  return lines.join("");
}

/** A size for people. */
export function sized(size: number): string {
  return size < MB ? `${Math.ceil(size / 1000)} kB` : `${(size / MB).toFixed(1)} MB`;
}

/** A sentence for each file in the folder of a release that is larger than it may be. */
export function tooLarge(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const size = statSync(join(folder, name)).size;
    const max = SIZES_MAX.find(([kind]) => kind.test(name))?.[1];
    return max === undefined || size <= max * MB ? [] : `${name} has ${sized(size)}, over the limit of ${max} MB`;
  });
}
