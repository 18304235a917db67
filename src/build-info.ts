/**
 * Facts of this build: a constant in the compiled executable; a checkout reads the file of `npm run build`.
 * Importing this file opens nothing, as `initialize` and `tools/list` must not wait for it, and loads no module of node:
 * `svc --version` needs nothing else, and node:fs would be a quarter of what it costs.
 */
import { RuntimeError } from "./errors.ts";
import type { PlatformTag } from "./paths.ts";

/** Facts fixed when the executable was built. */
export interface BuildInfo {
  /** Version of the package, as in `1.2.3`. */
  version: string;
  /** The embedded bundle's release number, which grows with every release. */
  release: number;
  /** What it was built from: the first 12 digits of the commit, with `-dirty` where files differed; null without git. */
  commit: string | null;
  /** The id of the release key that signed the embedded bundle. */
  releaseKeyId: string;
  /** Trust anchors of the runtime manifest, SPKI in PEM: the key that signed the embedded bundle, and the next one. */
  releasePublicKeys: readonly [current: string, next: string];
  /** Trust anchor of licences, SPKI in PEM; null where each machine's local authority has its own. */
  licensePublicKey: string | null;
  /** The only authority this build trusts; null for the built-in local one. */
  authority: string | null;
  /** The required results of `ame_abi_version` and `ty_abi_version`. */
  abi: { kernel: number; runtime: number };
  /** The platform it was built for. */
  platform: PlatformTag;
}

/** Defined by build.ts with --define; undefined when running from source. */
declare const SVC_BUILD_INFO: BuildInfo;

/** The name under which build.ts embeds the bundle. */
export const EMBEDDED_BUNDLE = "runtime.bundle";
/** The name under which it embeds the licences of what the executable contains, compressed. */
export const NOTICES = "notices.txt.zst";

const NOT_BUILT = "this checkout has not been built: run 'npm run build'";

let cached: BuildInfo | undefined;

/**
 * The facts of this build.
 * @throws RuntimeError in a checkout that was never built
 */
export function buildInfo(): BuildInfo {
  cached ??= typeof SVC_BUILD_INFO === "undefined" ? readCheckout() : SVC_BUILD_INFO;
  return cached;
}

/** Which program this is: its version, and which build of that version. */
export interface ProgramVersion {
  readonly version: string;
  readonly build: string;
}

/** The version of this program and its build, as in `commit 0123456789ab, release key …`. */
export function programVersion(): ProgramVersion {
  const { version, commit, releaseKeyId } = buildInfo();
  const key = `release key ${releaseKeyId}`;
  return { version, build: commit === null ? key : `commit ${commit}, ${key}` };
}

/**
 * The bytes of this build's runtime bundle; undefined where it has none. Never opened by path: Bun would extract an
 * embedded library to a shared temporary folder and trust the file there.
 */
export async function embeddedBundle(): Promise<Uint8Array | undefined> {
  const { platformTag } = await import("./paths.ts");
  const tag = platformTag();
  return tag && embedded(EMBEDDED_BUNDLE, `dist/${tag}`);
}

/**
 * The licences of what the executable contains.
 * @throws RuntimeError in a checkout whose executable was never built
 */
export async function embeddedNotices(): Promise<string> {
  const bytes = await embedded(NOTICES, ".build");
  if (!bytes) throw new RuntimeError(NOT_BUILT);
  return new TextDecoder().decode(await Bun.zstdDecompress(bytes));
}

/** @param folder where a checkout has it */
async function embedded(name: string, folder: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (Bun.isStandaloneExecutable) {
    const file = Bun.embeddedFiles.find((blob) => basename((blob as Blob & { name?: string }).name) === name);
    return file && new Uint8Array(await file.arrayBuffer());
  }
  const file = Bun.file(`${CHECKOUT}/${folder}/${name}`);
  return (await file.exists()) ? file.bytes() : undefined;
}

function basename(name: string | undefined): string | undefined {
  return name?.slice(name.lastIndexOf("/") + 1);
}

const CHECKOUT = `${import.meta.dir}/..`;

function readCheckout(): BuildInfo {
  try {
    const { readFileSync } = process.getBuiltinModule("node:fs");
    return JSON.parse(readFileSync(`${CHECKOUT}/.build/build-info.json`, "utf8")) as BuildInfo;
  } catch {
    throw new RuntimeError(NOT_BUILT);
  }
}
