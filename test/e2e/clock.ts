/** Processes whose clock is wrong: a library that is loaded before the C library says so. For Linux. */
import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { zigPath } from "../../src/build/zig.ts";
import { ROOT } from "./home.ts";

/** Variables for a process whose time of day is so many seconds ahead, or behind where they are negative. */
export function clockAhead(seconds: number): Record<string, string> {
  return { LD_PRELOAD: library(), SVC_TEST_CLOCK_AHEAD: String(seconds) };
}

/** Compiled where it changed, and kept in `.build/test/clock`. */
function library(): string {
  const source = join(import.meta.dir, "clock.c");
  const folder = join(ROOT, ".build/test/clock");
  const path = join(folder, `${new Bun.CryptoHasher("sha256").update(readFileSync(source)).digest("hex")}.so`);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const made = `${path}.${process.pid}`;
  const zig = join(ROOT, ".build/zig");
  const env = { ...process.env, ZIG_GLOBAL_CACHE_DIR: join(zig, "global"), ZIG_LOCAL_CACHE_DIR: join(zig, "local") };
  const flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"];
  const { success, stderr } = Bun.spawnSync([zigPath(), "cc", ...flags, source, "-o", made], { env });
  if (!success) throw new Error(`clock.c does not compile: ${stderr}`);
  renameSync(made, path);
  return path;
}
