/** The two native libraries of this process: the login checked, the install verified, both mapped once for each home. */
import { availableParallelism } from "node:os";
import { type Kernel, openKernel } from "../../ffi/ame_kernel.ts";
import { type Environment, openRuntime } from "../../ffi/ty_runtime.ts";
import { requireLogin } from "../account/credentials.ts";
import { RuntimeError } from "../errors.ts";
import { type Env, svcHome } from "../paths.ts";
import { type LibraryPaths, loadVerified } from "./load.ts";

/** The opened libraries: the kernel, and the runtime over the kernel's table. */
export interface Native {
  kernel: Kernel;
  env: Environment;
}

export interface NativeOptions {
  /** Where SVC_HOME and the trust anchors are looked up; default: the process's own. */
  readonly env?: Env | undefined;
  /** Gets the warnings of a login that is good: a licence in its days of grace, a clock gone back. */
  readonly warn?: ((line: string) => void) | undefined;
}

const opened = new Map<string, Promise<Native>>();

/**
 * The verified libraries, mapped; the same ones for every call of this process with the same home.
 * @throws PermissionError if not logged in or the licence is not good; RuntimeError if the native runtime is missing or is not
 * what was signed; the message says which command mends it
 */
export function verifiedNative(options: NativeOptions = {}): Promise<Native> {
  const home = svcHome(options.env);
  let native = opened.get(home);
  if (!native) {
    native = openVerified(home, options);
    opened.set(home, native);
    // A failure is not kept: a login may follow while this process runs.
    native.catch(() => opened.delete(home));
  }
  return native;
}

async function openVerified(home: string, { env = process.env, warn }: NativeOptions): Promise<Native> {
  const license = await requireLogin(home, env);
  for (const warning of license.warnings) warn?.(warning);
  const mapped = await loadVerified({ home, env, license });
  try {
    return openNative(mapped);
  } finally {
    // What is loaded stays loaded; the files that it came from are not needed any more.
    mapped.close();
  }
}

/** Opens both libraries; one of another ABI version is a RuntimeError that says what to run. */
export function openNative(paths: LibraryPaths): Native {
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
