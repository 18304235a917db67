/**
 * `svc --version`, which scripts and clients run often. It loads neither the tree of commands nor `output.ts`, whose
 * node:fs takes a quarter of what it costs.
 */
import { buildInfo, programVersion } from "../../build-info.ts";

/** The version for people. */
export function versionLine(): string {
  const { release, platform } = buildInfo();
  const { version, build } = programVersion();
  return `svc ${version} (runtime release ${release}, ${platform}, ${build})`;
}

/** Prints the version. A reader that has left is not a failure. @returns the exit code */
export async function showVersion(): Promise<number> {
  try {
    const stdout = Bun.stdout.writer();
    stdout.write(`${versionLine()}\n`);
    await stdout.end();
    return 0;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EPIPE") return 0;
    const [{ printError }, { OSError }] = await Promise.all([import("./output.ts"), import("../../errors.ts")]);
    printError(new OSError(`cannot write to stdout: ${code}`));
    return 1;
  }
}
