/** Opens the two verified libraries: the kernel first, then the runtime over the kernel's table. */
import { availableParallelism } from "node:os";
import { type Kernel, openKernel } from "../../ffi/ame_kernel.ts";
import { type Environment, openRuntime } from "../../ffi/ty_runtime.ts";
import { RuntimeError } from "../errors.ts";

/** The native half of this process. */
export interface Native {
  kernel: Kernel;
  env: Environment;
}

/** Where the verified bytes are mapped from: what `loadVerified` answers. */
export interface VerifiedPaths {
  kernelPath: string;
  runtimePath: string;
}

/** Maps both libraries; a library of another ABI version is a RuntimeError that says what to run. */
export function openNative(paths: VerifiedPaths): Native {
  try {
    const kernel = openKernel(paths.kernelPath);
    // Two long builds at once must leave a worker for saves, whatever the number of cores; idle ones cost a stack.
    const threads = Math.min(8, Math.max(4, availableParallelism()));
    return { kernel, env: openRuntime(paths.runtimePath, kernel.table, threads) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RuntimeError(
      `the native runtime does not fit this executable (${reason}): run 'svc runtime install' again`,
    );
  }
}
