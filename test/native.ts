/** The native libraries of this checkout, mapped once a process. A build with nothing changed costs milliseconds. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildNative } from "../src/build/compile.ts";
import { platformTag } from "../src/paths.ts";
import { type Native, openNative } from "../src/trust/runtime/libraries.ts";

const ROOT = join(import.meta.dir, "..");
/** The sentence encoder's weights, which the build leaves out where their package is not installed. */
const MODEL = join(ROOT, ".build/meaning.bin");

let built: ReturnType<typeof buildNative> | undefined;
let opened: Promise<Native> | undefined;
let model: { bytes: Uint8Array<ArrayBuffer> } | undefined;

/** Builds what changed. */
export function builtLibraries(): ReturnType<typeof buildNative> {
  built ??= buildNative({ root: ROOT, cache: join(ROOT, ".build"), tag: platformTag()! });
  return built;
}

/** Builds what changed and opens it, without the trust path: tests of that have their own. */
export function openBuiltNative(): Promise<Native> {
  opened ??= builtLibraries().then(({ kernel, runtime }) => ({
    ...openNative({ kernelPath: kernel, runtimePath: runtime }),
    model: async () => {
      if (model === undefined && existsSync(MODEL)) model = { bytes: new Uint8Array(readFileSync(MODEL)) };
      return model;
    },
  }));
  return opened;
}
