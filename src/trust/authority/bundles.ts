/** Bundles as answers. */
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { PlatformTag } from "../../paths.ts";
import type { BundleSource } from "./context.ts";

/** The bundle of a version and a platform, of the first source that has it; undefined where none has. Links are not served. */
export async function findBundle(
  sources: readonly BundleSource[],
  version: string,
  tag: PlatformTag,
): Promise<Blob | undefined> {
  for (const source of sources) {
    if (typeof source === "string") {
      const path = join(source, version, `${tag}.bundle`);
      const found = await lstat(path).catch(() => undefined);
      if (found?.isFile()) return Bun.file(path);
    } else {
      const bytes = await source(version, tag);
      if (bytes !== undefined) return new Blob([bytes as Uint8Array<ArrayBuffer>]);
    }
  }
  return undefined;
}
