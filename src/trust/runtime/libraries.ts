/** The two native libraries: login checked, install verified, both mapped once per process and home. */
import { availableParallelism } from "node:os";
import { basename } from "node:path";
import { type Kernel, openKernel } from "../../../ffi/ame_kernel.ts";
import { type Environment, openRuntime } from "../../../ffi/ty_runtime.ts";
import { readChoice } from "../../checks/strings.ts";
import { RuntimeError } from "../../errors.ts";
import { type Env, svcHome } from "../../paths.ts";
import { requireLogin } from "../account/license/credentials.ts";
import { type Feature, requireFeature } from "../account/license/features.ts";
import type { License } from "../account/license/license.ts";
import { changeGuard } from "../account/license/license-check.ts";
import { revocationGuard } from "../account/license/revocation.ts";
import { type LibraryPaths, loadVerified } from "./load.ts";
import { type LoadedModel, loadModel } from "./model.ts";

/** The opened libraries: the kernel, and the runtime over the kernel's table. */
export interface Native {
  kernel: Kernel;
  env: Environment;
  /** Throws a PermissionError where the authority has revoked this device since they were opened; absent: it has not. */
  refuseUse?: (() => void) | undefined;
  /** Throws a PermissionError while the licence allows no changes of what is stored; absent: it does. */
  refuseChanges?: (() => void) | undefined;
  /** The sentence encoder's weights, read and verified at the first call (`loadModel`); absent with SVC_MEANING=off. */
  model?: (() => Promise<LoadedModel | undefined>) | undefined;
}

/** Libraries that were opened under a licence. */
export interface VerifiedNative extends Native {
  license: License;
}

export interface NativeOptions {
  /** What this process is, as `svc serve`, for messages of processes that wait for it; default: the program's file. */
  readonly label?: string | undefined;
  /** The environment for SVC_HOME and the trust anchors; default: the process's own. */
  readonly env?: Env | undefined;
  /** What the licence has to have; default: whatever it has is enough. */
  readonly feature?: Feature | undefined;
  /** Called with the warnings of a valid login: a licence in its days of grace, a clock set back. */
  readonly warn?: ((line: string) => void) | undefined;
}

const opened = new Map<string, Promise<VerifiedNative>>();

/**
 * The verified libraries, mapped; the same ones for every call of this process with the same home.
 * @throws PermissionError if not logged in, the licence is invalid or lacks the feature; RuntimeError if the native runtime is missing or
 *   does not verify; the message has the command that fixes it
 */
export async function verifiedNative(options: NativeOptions = {}): Promise<VerifiedNative> {
  const home = svcHome(options.env);
  let native = opened.get(home);
  if (!native) {
    native = openVerified(home, options);
    opened.set(home, native);
    // A failure is not kept: a login may follow while this process runs.
    native.catch(() => opened.delete(home));
  }
  const found = await native;
  refuseWithout(options, found.license);
  return found;
}

async function openVerified(home: string, options: NativeOptions): Promise<VerifiedNative> {
  const { env = process.env, warn, label } = options;
  const license = await requireLogin(home, env);
  // Before the libraries are kept with it: after another login the next try is under its licence.
  refuseWithout(options, license);
  for (const warning of license.warnings) warn?.(warning);
  const mapped = await loadVerified({ home, env, license });
  try {
    const guards = { refuseUse: revocationGuard(home), refuseChanges: changeGuard(home, license) };
    const { signed } = mapped;
    let loaded: ReturnType<typeof loadModel> | undefined;
    const model = () => {
      loaded ??= loadModel(home, signed);
      return loaded;
    };
    const isOn = readChoice(env.SVC_MEANING || "on", "SVC_MEANING", ["on", "off"]) === "on";
    return { ...openNative(mapped, label), license, ...guards, model: isOn ? model : undefined };
  } finally {
    // The libraries stay loaded; their files are not needed any more.
    mapped.close();
  }
}

function refuseWithout({ feature, label = "this program" }: NativeOptions, license: License): void {
  if (feature !== undefined) requireFeature(license, feature, label);
}

/** Opens both libraries. @throws RuntimeError for another ABI version, with the command that fixes it */
export function openNative(paths: LibraryPaths, label = basename(Bun.main)): Native {
  try {
    const kernel = openKernel(paths.kernelPath);
    // Two long builds at once must leave a worker for saves, whatever the number of cores. They start when they are needed.
    const threads = Math.min(8, Math.max(4, availableParallelism()));
    return { kernel, env: openRuntime(paths.runtimePath, kernel.table, threads, label) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RuntimeError(
      `the native runtime does not fit this executable (${reason}): run 'svc runtime install' again`,
    );
  }
}
