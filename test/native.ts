/** The native libraries of this checkout, mapped once a process. A build with nothing changed costs milliseconds. */
import { join } from "node:path";
import { buildNative } from "../src/build/compile.ts";
import { platformTag } from "../src/paths.ts";
import { type Native, openNative } from "../src/runtime/libraries.ts";

const ROOT = join(import.meta.dir, "..");

let opened: Promise<Native> | undefined;

/** Builds what changed and opens it, without the trust path: tests of that have their own. */
export function openBuiltNative(): Promise<Native> {
  opened ??= buildNative({ root: ROOT, cache: join(ROOT, ".build"), tag: platformTag()! }).then((built) =>
    openNative({ kernelPath: built.kernel, runtimePath: built.runtime }),
  );
  return opened;
}
