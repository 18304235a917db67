/** Manifests of releases as they are signed. */
import { sign } from "node:crypto";
import { PLATFORM_TAGS } from "../../../src/paths.ts";
import {
  type PlatformFiles,
  RELEASE_FORMAT,
  RELEASE_PURPOSE,
  type ReleaseFile,
  type ReleaseManifest,
  releaseNames,
} from "../../../src/trust/release/manifest.ts";
import { keyId } from "../../../src/trust/runtime/anchor.ts";
import { type TestKey, testKey } from "../../keys.ts";

export const keys: TestKey = testKey("release");
export const otherKeys: TestKey = testKey("other-release");

/** A good manifest of all platforms, but for the members that `changes` replaces. */
export function manifestOf(changes: Record<string, unknown> = {}): ReleaseManifest {
  const file = (name: string): ReleaseFile => ({ name, sha256: "a1".repeat(32), size_bytes: 9 });
  const platforms = PLATFORM_TAGS.map((tag) => {
    const { executable, gzip, zstd } = releaseNames(tag);
    const files: PlatformFiles = { executable: file(executable), gzip: file(gzip), zstd: file(zstd) };
    return [tag, files];
  });
  return {
    format_version: RELEASE_FORMAT,
    purpose: RELEASE_PURPOSE,
    version: "1.2.3",
    release: 1_002_003,
    created: "2026-01-02T03:04:05Z",
    ends: [],
    floor: "1.0.0",
    key_id: keyId(keys.publicPem),
    platforms: Object.fromEntries(platforms),
    ...changes,
  };
}

/** The bytes of a manifest and their signature. */
export function signed(manifest: unknown, by: TestKey = keys): { bytes: Buffer; signature: Buffer } {
  const bytes = Buffer.from(typeof manifest === "string" ? manifest : JSON.stringify(manifest));
  return { bytes, signature: sign("sha256", bytes, by.privateKey) };
}
