/** Programs for Linux on arm64, emulated: by Debian's qemu-user-static, with the C library of libc6-arm64-cross. */
import { existsSync } from "node:fs";

/** Where Debian has the C library of arm64. */
const LIBRARIES = "/usr/aarch64-linux-gnu";
const qemu = Bun.which("qemu-aarch64-static");

/** Words before a program for Linux on arm64; undefined where this machine cannot emulate it. */
export const emulator: readonly string[] | undefined =
  qemu !== null && existsSync(LIBRARIES) ? [qemu, "-L", LIBRARIES] : undefined;

/** What a machine lacks that has no emulator. */
export const EMULATOR_NEEDS = "Debian's qemu-user-static and libc6-arm64-cross";
