/** Makes the files of a release from executables that were built. */
import { createPublicKey, type KeyObject, sign } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { EMBEDDED_BUNDLE, NOTICES } from "../../build-info.ts";
import type { PlatformTag } from "../../paths.ts";
import {
  type PlatformFiles,
  RELEASE_FORMAT,
  RELEASE_MANIFEST,
  RELEASE_PURPOSE,
  RELEASE_SIGNATURE,
  type ReleaseFile,
  type ReleaseManifest,
  verifyRelease,
} from "../../trust/release/manifest.ts";
import { keyId } from "../../trust/runtime/anchor.ts";
import { BundleReader } from "../../trust/runtime/bundle.ts";
import { parseManifest, type RuntimeManifest } from "../../trust/runtime/bundle-manifest.ts";
import { publicPem } from "../release-keys.ts";
import { stepper } from "../step.ts";
import { packExecutable, put, sized, sumsOf } from "./files.ts";
import { FORMULA, formulaOf } from "./homebrew.ts";
import { INSTALLER, installerOf } from "./installer.ts";
import { mcpbName, mcpbOf } from "./mcpb.ts";
import { npmMainPackage, npmPlatformPackage } from "./npm.ts";
import { npmClientPackage, npmSdkPackage } from "./npm-library.ts";
import { projectOf } from "./project.ts";
import { pythonPackages } from "./python.ts";
import { sbomOf } from "./sbom.ts";
import { SERVER_JSON, serverJson } from "./server-json.ts";

/** The other files of a release. */
export const SUMS = "SHA256SUMS";
export const PUBLIC_KEY = "release.pub.pem";
export const SBOM = "sbom.cdx.json";
export const NOTICES_TEXT = "notices.txt";

export interface MakeOptions {
  /** The checkout, in which everything was built. */
  root: string;
  /** Where the files go; what is there is replaced once the release is complete. */
  folder: string;
  /** Paths of the executables. */
  executables: Partial<Record<PlatformTag, string>>;
  /** Folders of the npm packages in them, relative to the checkout. */
  packages: readonly string[];
  version: string;
  release: number;
  /** UTC, ISO 8601. */
  created: string;
  floor: string;
  /** Ids of release keys that end. */
  ends: readonly string[];
  key: KeyObject;
  /** Compresses less, and makes no packages: seconds instead of minutes, for a release that is not published. */
  isQuick?: boolean;
  log?: (line: string) => void;
}

/** Makes a release. The same executables and options give the same bytes. @returns its manifest */
export async function makeRelease(options: MakeOptions): Promise<ReleaseManifest> {
  const { root, folder, version, created, packages } = options;
  const step = stepper(options.log ?? (() => {}));
  const work = `${folder}.${process.pid}.tmp`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  try {
    const platforms: Partial<Record<PlatformTag, PlatformFiles>> = {};
    const runtimes: RuntimeManifest[] = [];
    for (const [tag, path] of Object.entries(options.executables) as [PlatformTag, string][]) {
      platforms[tag] = await packExecutable(work, tag, path, options.isQuick);
      runtimes.push(await runtimeOf(join(root, "dist", tag, EMBEDDED_BUNDLE)));
      step(`packed ${tag}`, Object.values(platforms[tag]).map(withSize).join(", "));
    }
    const facts = { root, version, created, files: platforms, runtimes, packages };
    step("bill of materials", withSize(put(work, SBOM, sbomOf(facts))));
    put(work, NOTICES_TEXT, Bun.zstdDecompressSync(readFileSync(join(root, ".build", NOTICES))));
    if (!options.isQuick) await putPackages(work, options, platforms);
    put(work, INSTALLER, installerOf(version));
    const manifest = await putManifest(work, options, platforms);
    put(work, SUMS, sumsOf(work));
    step("manifest and hashes", `signed by ${manifest.key_id}`);
    rmSync(folder, { recursive: true, force: true });
    renameSync(work, folder);
    return manifest;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The files with which clients and package managers install svc. */
async function putPackages(work: string, options: MakeOptions, platforms: ReleaseManifest["platforms"]): Promise<void> {
  const { root, version } = options;
  const project = projectOf(root, version);
  const tags = Object.keys(platforms) as PlatformTag[];
  const bundles = tags.map((tag) =>
    put(work, mcpbName(tag), mcpbOf(project, tag, readFileSync(join(work, platforms[tag]!.gzip.name)))),
  );
  put(work, SERVER_JSON, serverJson(version, bundles));
  const executable = (tag: PlatformTag) => readFileSync(join(work, platforms[tag]!.executable.name));
  for (const tag of tags) put(work, ...npmPlatformPackage(project, tag, executable(tag)));
  put(work, ...npmMainPackage(project, tags));
  put(work, ...(await npmClientPackage(root, project)));
  put(work, ...(await npmSdkPackage(root, project, readFileSync(join(work, NOTICES_TEXT)))));
  put(work, FORMULA, formulaOf(project, platforms));
  for (const packed of pythonPackages(root, project)) put(work, ...packed);
}

/** Signs the manifest and reads it again as `svc` will: what svc would refuse is not released. */
async function putManifest(
  work: string,
  options: MakeOptions,
  platforms: ReleaseManifest["platforms"],
): Promise<ReleaseManifest> {
  const { version, release, created, ends, floor, key } = options;
  const pem = publicPem(createPublicKey(key));
  const id = keyId(pem);
  const members = { format_version: RELEASE_FORMAT, purpose: RELEASE_PURPOSE, version, release, created, ends, floor };
  const bytes = Buffer.from(`${JSON.stringify({ ...members, key_id: id, platforms }, null, 2)}\n`);
  const signature = sign("sha256", bytes, key);
  const { manifest } = await verifyRelease(bytes, signature, { keys: [{ pem, id }], override: null });
  put(work, RELEASE_MANIFEST, bytes);
  put(work, RELEASE_SIGNATURE, signature);
  put(work, PUBLIC_KEY, pem);
  return manifest;
}

/** The manifest in a bundle of this build, which has signed it. */
async function runtimeOf(bundle: string): Promise<RuntimeManifest> {
  const reader = new BundleReader(readFileSync(bundle));
  try {
    return parseManifest((await reader.head()).manifest);
  } finally {
    reader.close();
  }
}

function withSize({ name, size_bytes }: ReleaseFile): string {
  return `${name} ${sized(size_bytes)}`;
}
