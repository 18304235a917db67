/**
 * Which build is this? The compiled executable carries the answer as a constant; a checkout reads what `npm run build` left.
 * Importing this file opens nothing: `initialize` and `tools/list` must not wait for it.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { RuntimeError } from "./errors.ts";
import { type PlatformTag, platformTag } from "./paths.ts";

/** What was fixed when the executable was built. */
export interface BuildInfo {
  /** Version of the package, as in `1.2.3`. */
  version: string;
  /** The growing number that the embedded bundle's manifest carries. */
  release: number;
  /** Trust anchor of the runtime manifest, SPKI in PEM. */
  releasePublicKey: string;
  /** Trust anchor of licences, SPKI in PEM; null where each machine's local authority has its own. */
  licensePublicKey: string | null;
  /** The only authority this build trusts; null for the built-in local one. */
  authority: string | null;
  /** What `ame_abi_version` and `ty_abi_version` must answer. */
  abi: { kernel: number; runtime: number };
  /** The platform it was built for. */
  platform: PlatformTag;
}

/** Put in by build.ts with --define; not there when running from source. */
declare const SVC_BUILD_INFO: BuildInfo;

/** The name under which build.ts embeds the bundle. */
export const EMBEDDED_BUNDLE = "runtime.bundle";

let cached: BuildInfo | undefined;

/**
 * The facts of this build.
 * @throws RuntimeError in a checkout that was never built
 */
export function buildInfo(): BuildInfo {
  cached ??= typeof SVC_BUILD_INFO === "undefined" ? readCheckout() : SVC_BUILD_INFO;
  return cached;
}

/**
 * The bytes of the runtime bundle that came with this build; undefined where none did. They are only ever bytes: opening an
 * embedded library by path would make Bun extract it to a shared temporary folder and trust what lies there.
 */
export async function embeddedBundle(): Promise<Uint8Array | undefined> {
  if (Bun.isStandaloneExecutable) {
    const file = Bun.embeddedFiles.find(
      (blob) => basename((blob as Blob & { name?: string }).name) === EMBEDDED_BUNDLE,
    );
    return file && new Uint8Array(await file.arrayBuffer());
  }
  const tag = platformTag();
  const file = tag && Bun.file(join(checkout(), "dist", tag, EMBEDDED_BUNDLE));
  return file && (await file.exists()) ? new Uint8Array(await file.arrayBuffer()) : undefined;
}

function basename(name: string | undefined): string | undefined {
  return name?.slice(name.lastIndexOf("/") + 1);
}

function checkout(): string {
  return join(import.meta.dir, "..");
}

function readCheckout(): BuildInfo {
  try {
    return JSON.parse(readFileSync(join(checkout(), ".build", "build-info.json"), "utf8")) as BuildInfo;
  } catch {
    throw new RuntimeError("this checkout has not been built: run 'npm run build'");
  }
}
